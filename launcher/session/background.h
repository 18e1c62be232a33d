#pragma once
// Runs work in the background, in its own session and without a terminal, so that neither a logout
// nor the end of the ssh connection nor a killed shell ends it. The keeper of a detached job and
// the holder of `dtlaunch up` run this way. The foreground process waits until the work has
// started, so errors of the start still reach the terminal.

#include <functional>
#include <string_view>

namespace dtl {

// How the work reports its start to the foreground.
struct StartNews {
  // Both may be called after the foreground has ended; they then do nothing.
  std::function<void()> started;
  std::function<void(std::string_view)> said;  // a message, without the program's name
};

// The work. Returns the exit status, which the foreground returns if the work ends before it has
// started. Errors that it throws are sent to the foreground as messages.
using BackgroundWork = std::function<int(const StartNews&)>;

// Forks, so the caller must have no other thread yet. Returns in the foreground process only. Shows
// the work's messages until it has started; ^C ends the work. After the start it calls on_started
// in the foreground and returns 0. Throws Error(kInternal) if the work ends without a message.
int run_in_background(const BackgroundWork& work, const std::function<void()>& on_started);

}  // namespace dtl
