#pragma once
// LogFollower: sends the kept log of a detached job, and what the launcher goes on adding to it,
// across its rotations. Blocking; one thread.

#include <string>

#include "base/fd.h"
#include "base/process_id.h"

namespace dtl {

class LogFollower {
 public:
  // folder: of the job's kept files. Throws Error(kBadInput) when there is no log.
  explicit LogFollower(std::string folder);

  void skip();            // what is there already
  void send(int output);  // what is there and was not sent yet
  // Waits for more. False when the job is over and everything has been sent, or when `input` has
  // ended: whoever asked has gone.
  bool wait(int input);

 private:
  void open_older();
  bool open_log();
  bool rotated() const;

  std::string folder_;
  Fd log_, changes_;
  ProcessId launcher_;
  bool last_round_ = false;
};

}  // namespace dtl
