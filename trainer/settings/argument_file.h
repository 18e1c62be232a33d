#pragma once
// A file of options, which run_glue.py also accepts as its only argument: a JSON object or a TOML
// file whose keys are option names without dashes.

#include <string>
#include <vector>

namespace dtl::trainer {

struct FileArgument {
  std::string name;        // as on the command line, without dashes
  std::string value;       // as typed there; null and "" in the file are left out
  std::string where;       // "args.toml:3" or "args.json"
  bool is_object = false;  // {..}, kept as JSON text
};

// Whether the name is that of a file of options: *.json or *.toml, and not an option.
bool is_argument_file(const std::string& word);

// In file order. Joins a list into one text with commas. Throws Error(kBadInput) for a missing
// file, Error(kUsage) for a malformed one.
std::vector<FileArgument> read_argument_file(const std::string& path);

}  // namespace dtl::trainer
