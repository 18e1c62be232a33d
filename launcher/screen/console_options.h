#pragma once
// How the ranks' output is shown and who gets the input, as the command line says. Plain values.

#include <optional>
#include <set>
#include <string>

#include "launcher/screen/line_label.h"

namespace dtl {

// Of labels. kAuto: on a terminal, unless NO_COLOR is set.
enum class ColorMode { kAuto, kAlways, kNever };
enum class OutputMode {
  kAuto,   // ranks wait a moment for a slow reader, then their output is skipped
  kBlock,  // they wait as long as it takes
  kSkip,   // they never wait
};

enum class InputMode { kOne, kAll, kNone };  // who gets dtlaunch's standard input

struct InputChoice {
  InputMode mode = InputMode::kOne;
  int rank = 0;  // kOne: whose it is
};

struct ConsoleOptions {
  LineLabel label;  // empty: none
  ColorMode color = ColorMode::kAuto;
  std::optional<bool> fold;  // absent: on a terminal
  OutputMode mode = OutputMode::kAuto;
  std::set<int> only;          // ranks; empty: all
  bool hide_all = false;       // no rank's output is shown
  LineLabel outfile, errfile;  // patterns of files; empty: the screen
  bool append = false;         // ... to what an epoch of the same job has written there
  std::string log_directory;   // on the nodes, absolute; empty: none
};

// How the ranks' streams reach the user, one part of a job's description.
struct Streams {
  ConsoleOptions console;
  InputChoice stdin_for;
};

}  // namespace dtl
