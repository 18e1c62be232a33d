#pragma once
// OutputChoice: the options about output and input as typed, and their combined meaning. Some
// contradict each other, and Open MPI packs several into one word, so they are checked when all are
// known. The screen (launcher/screen) sees only the result. Pure.

#include <string>

#include "launcher/screen/console_options.h"
#include "plan/request/request.h"

namespace dtl {

struct OutputChoice {
  // Empty or false if its option is absent.
  bool prepend_rank = false;           // -l
  std::string pattern;                 // -prepend-pattern
  bool tag = false, time = false;      // --tag-output, --timestamp-output
  std::string color;                   // --color, DTL_COLOR
  bool fold = false, no_fold = false;  // --fold, --no-fold
  std::string mode;                    // --output
  std::string only;                    // --only
  std::string outfile, errfile;        // -outfile-pattern, -errfile-pattern
  std::string log_directory;           // --log-dir
  std::string input;                   // --stdin
};

// typed: the option or variable with its value, for the error. Empty text means auto. Throws
// Error(kUsage).
ColorMode parse_color(const std::string& text, const std::string& typed);
// Of a subcommand: its --color comes before the variable DTL_COLOR. Throws Error(kUsage).
ColorMode wanted_color(const std::string& option, const Variables& environment);

// The settings for the screen. A relative --log-dir starts at `directory`, so it is the same folder
// on every node. Whether the job has the ranks of --only is checked after planning. Throws
// Error(kUsage).
ConsoleOptions console_options(OutputChoice choice, const std::string& directory);

// Which ranks get standard input; without --stdin rank 0. Throws Error(kUsage).
InputChoice input_choice(const OutputChoice& choice);

}  // namespace dtl
