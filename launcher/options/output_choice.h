#pragma once
// OutputChoice: the options about output and input as they were typed, and what they mean together.
// Some of them contradict each other, and Open MPI packs several into one word; so they are judged
// only when all are known. The screen (launcher/screen) sees the result alone. Pure.

#include <string>

#include "launcher/screen/console_options.h"

namespace dtl {

struct OutputChoice {
  // Each is empty or false where its option was not given.
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

// What the screen is to do. A relative --log-dir is seen from `directory`, so that it is the same
// folder on every node. Whether the job has the ranks of --only is checked once it has a plan.
// Throws Error(kUsage).
ConsoleOptions console_options(OutputChoice choice, const std::string& directory);

// Who gets standard input; without --stdin rank 0. Throws Error(kUsage).
InputChoice input_choice(const OutputChoice& choice);

}  // namespace dtl
