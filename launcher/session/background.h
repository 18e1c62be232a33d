#pragma once
// Work that goes on in the background, in a session of its own and without a terminal, so that
// neither a logout nor the end of the ssh connection nor a killed shell reaches it: the keeper of a
// detached job, the holder of `dtlaunch up`.

#include <functional>
#include <string_view>

namespace dtl {

// How the work tells the foreground of its start.
struct StartNews {
  std::function<void()> started;
  std::function<void(std::string_view)> said;  // a message, without the program's name
};

// Its exit status, which the foreground returns when it ends before it has started.
using BackgroundWork = std::function<int(const StartNews&)>;

// Returns in the foreground process only. What the work says until it has started is shown; ^C ends
// it. Then on_started runs in the foreground, and the result is 0.
int run_in_background(const BackgroundWork& work, const std::function<void()>& on_started);

}  // namespace dtl
