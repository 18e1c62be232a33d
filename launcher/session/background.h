#pragma once
// Work that goes on in the background, in a session of its own and without a terminal. So neither a
// logout nor the end of the ssh connection nor a killed shell reaches it. The keeper of a detached
// job and the holder of `dtlaunch up` are such work. The foreground waits until it has started
// well: errors of the start still have a terminal to go to.

#include <functional>
#include <string_view>

namespace dtl {

// How the work tells the foreground of its start.
struct StartNews {
  // Both may be called after the foreground is gone; then nothing happens.
  std::function<void()> started;
  std::function<void(std::string_view)> said;  // a message, without the program's name
};

// The work; its result is its exit status, which the foreground returns when the work ends before
// it has started. Errors that it throws are told as messages.
using BackgroundWork = std::function<int(const StartNews&)>;

// Forks, so there must be no other thread yet. Returns in the foreground process only. What the
// work says until it has started is shown; ^C ends it. Then on_started runs in the foreground, and
// the result is 0. Throws Error(kInternal) where the work ends without a word.
int run_in_background(const BackgroundWork& work, const std::function<void()>& on_started);

}  // namespace dtl
