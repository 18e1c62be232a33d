#pragma once
// A file of options, as run_glue.py takes it as its only argument: a JSON object or a TOML file
// whose keys are the options' names without dashes.

#include <string>
#include <vector>

namespace dtl::trainer {

struct FileArgument {
  std::string name;        // as on the command line, without the two dashes
  std::string value;       // as it would be typed there; what is null or "" in the file is left out
  std::string where;       // "args.toml:3" or "args.json"
  bool is_object = false;  // {..}, as its JSON text
};

// By its name a file of options: *.json, *.toml, and no option itself.
bool is_argument_file(const std::string& word);

// In the file's order. A list becomes one text with commas between its items. Throws
// Error(kBadInput) for a missing file, Error(kUsage) for one that is malformed.
std::vector<FileArgument> read_argument_file(const std::string& path);

}  // namespace dtl::trainer
