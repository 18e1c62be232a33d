#pragma once
// The width of the terminal that shows standard output: this process's terminal, or that of a
// dtlaunch that shows the ranks' output.

#include <cstddef>
#include <optional>

namespace dtl::trainer {

struct ScreenWidth {
  std::size_t columns = 80;  // usable for a line
  bool own = true;           // false: dtlaunch writes to it
};

// nullopt: standard output is a file or a pipe that no terminal shows. Call it each time, since the
// user may resize the window.
std::optional<ScreenWidth> screen_width();

}  // namespace dtl::trainer
