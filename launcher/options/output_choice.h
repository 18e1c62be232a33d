#pragma once
// OutputChoice: the options about output and input as they were typed, and what they mean. Pure.

#include <string>

#include "launcher/screen/console_options.h"

namespace dtl {

struct OutputChoice {
  bool prepend_rank = false;           // -l
  std::string pattern;                 // -prepend-pattern
  bool tag = false, time = false;      // --tag-output, --timestamp-output
  std::string color;                   // --color
  bool fold = false, no_fold = false;  // --fold, --no-fold
  std::string mode;                    // --output
  std::string only;                    // --only
  std::string outfile, errfile;        // -outfile-pattern, -errfile-pattern
  std::string log_directory;           // --log-dir
  std::string input;                   // --stdin
};

// A relative --log-dir is seen from `directory`. Throws Error(kUsage).
ConsoleOptions console_options(OutputChoice choice, const std::string& directory);

// Who gets standard input.
InputChoice input_choice(const OutputChoice& choice);

}  // namespace dtl
