#pragma once
// Options that stand in a file: one of options (argument_file.h), or the [trainer] table of a job
// file, which dtlaunch turns into words. Errors about them name file, line, column and key, and
// suggest what the file may hold. Pure.

#include <string>
#include <vector>

#include "base/error.h"

namespace dtl::trainer {

struct OptionPlace {
  std::string key;    // as the file has it: "learning-rate"
  std::string place;  // "job.toml:5:17"
  std::string shown;  // "learning-rate = -1", or "\"learning-rate\": -1" of a JSON file

  std::string where() const { return place + ": " + shown; }
  // True or false, and not a text such as "yes" nor a number.
  bool is_truth() const;
};

// --learning_rate for the keys learning_rate and learning-rate.
std::string option_of_key(std::string key);

// A hint that is an option, as the file has it: max_steps = 100 for --max_steps 100. Of several
// options the first one: a line of a file has one. Any other hint stays as it is.
std::string hint_in_file(const std::string& hint, const OptionPlace& like);

// An error that names options as on the command line, for options that stand in a file. on_line:
// the canonical names of those that the command line has, which wins.
Error where_it_stands(const Error& error, const std::vector<OptionPlace>& places,
                      const std::vector<std::string>& on_line);

}  // namespace dtl::trainer
