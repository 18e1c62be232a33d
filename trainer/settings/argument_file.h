#pragma once
// A file of options, which run_glue.py also accepts as its only argument: a JSON object or a TOML
// file whose keys are option names without dashes.

#include <string>
#include <vector>

#include "trainer/settings/option_places.h"

namespace dtl::trainer {

struct FileArgument {
  std::string name;   // as on the command line, without the two dashes
  std::string value;  // as it would be typed there; what is null or "" in the file is left out
  OptionPlace at;
  bool is_object = false;  // {..}, as its JSON text
};

// Whether the name is that of a file of options: *.json or *.toml, and not an option.
bool is_argument_file(const std::string& word);

// In the file's order. A list becomes one text with commas between its items. Throws
// Error(kBadInput) for a missing file, Error(kUsage) for one that is malformed or empty.
std::vector<FileArgument> read_argument_file(const std::string& path);

}  // namespace dtl::trainer
