#pragma once
// Runs work in the background, in its own session and without a terminal, so that neither a logout
// nor the end of the ssh connection nor a killed shell ends it. The keeper of a detached job and
// the holder of `dtlaunch up` run this way. The foreground process waits until the work has
// started, or waits for something itself, so errors of the start still reach the terminal.

#include <functional>
#include <string_view>

namespace dtl {

// How the work reports its start to the foreground.
struct StartNews {
  // All may be called after the foreground has ended; they then do nothing.
  std::function<void()> waits;  // it cannot start yet, and may have to wait for long
  std::function<void()> started;
  std::function<void(std::string_view)> said;  // a message, without the program's name
};

// The work. Returns the exit status, which the foreground returns if the work ends before it has
// started. Errors that it throws are sent to the foreground as messages.
using BackgroundWork = std::function<int(const StartNews&)>;

// Called in the foreground once the work says so. Then the foreground need not stay.
struct StartCalls {
  std::function<void()> waits, started;  // each may be empty
};

// Forks, so the caller must have no other thread yet. Returns in the foreground process only. Shows
// the work's messages until it has started or waits; ^C ends the work. Then it makes that call and
// returns 0. Throws Error(kInternal) if the work ends without a message.
int run_in_background(const BackgroundWork& work, const StartCalls& calls);

}  // namespace dtl
