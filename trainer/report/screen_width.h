#pragma once
// The terminal that standard output is shown on: this process's own, or that of a dtlaunch which
// shows what the ranks write.

#include <cstddef>
#include <optional>

namespace dtl::trainer {

struct ScreenWidth {
  std::size_t columns = 80;  // for a line
  bool own = true;           // false: dtlaunch stands between
};

// nullopt: standard output is a file or a pipe that nobody shows on a terminal. Asked each time,
// since a window may be resized.
std::optional<ScreenWidth> screen_width();

}  // namespace dtl::trainer
