#pragma once
// How to show the ranks' output and who gets the input, from the command line. Plain values.

#include <optional>
#include <set>
#include <string>

#include "launcher/screen/line_label.h"

namespace dtl {

// Of labels, failure cards and doctor's findings. kAuto: on a terminal, unless NO_COLOR is set.
enum class ColorMode { kAuto, kAlways, kNever };
enum class OutputMode {
  kAuto,   // ranks wait a moment for a slow reader, then skip output
  kBlock,  // ranks wait without limit
  kSkip,   // ranks never wait
};

enum class InputMode { kOne, kAll, kNone };  // ranks that get dtlaunch's standard input

struct InputChoice {
  InputMode mode = InputMode::kOne;
  int rank = 0;  // kOne: the rank that gets it
};

struct ConsoleOptions {
  LineLabel label;  // empty: none
  ColorMode color = ColorMode::kAuto;
  std::optional<bool> fold;  // absent: only on a terminal
  OutputMode mode = OutputMode::kAuto;
  std::set<int> only;          // ranks; empty: all
  bool hide_all = false;       // show no rank's output
  LineLabel outfile, errfile;  // file name patterns; empty: the screen
  bool append = false;         // keep what an earlier epoch of the job has written there
  std::string log_directory;   // on the nodes, absolute; empty: none
};

// How the ranks' streams reach the user, one part of a job's description.
struct Streams {
  ConsoleOptions console;
  InputChoice stdin_for;
};

}  // namespace dtl
