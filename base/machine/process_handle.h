#pragma once
// ProcessHandle: signals a process of this machine and waits for it to end. It never affects a
// later process with the same pid. It uses a pidfd, or pid and start time if the kernel (before
// Linux 5.3) or a container's seccomp filter has no pidfds.

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/machine/process_id.h"

namespace dtl {

class ProcessHandle {
 public:
  ProcessHandle() = default;                    // invalid
  explicit ProcessHandle(pid_t pid);            // invalid if there is no such process now
  explicit ProcessHandle(const ProcessId& id);  // invalid if it has ended

  bool valid() const { return pidfd_.valid() || id_.start_time != 0; }
  pid_t pid() const { return id_.pid; }
  // False if it has ended, or this user may not signal it.
  bool signal(int number) const;
  // Waits for it to end, at most this long; 0 only checks. A zombie has ended.
  bool ends_within(std::chrono::milliseconds patience) const;

 private:
  ProcessId id_;
  Fd pidfd_;
};

// A descriptor that becomes readable when the process ends; it may belong to any user. Invalid if
// there is no such process, or if there are no pidfds.
Fd watch_process(pid_t process);

// Error(kOs) for a failed fork(2) or posix_spawn(3), reading errno now. EAGAIN is about the limit
// of processes there, and the hint shows it.
Error fork_error(const std::string& attempted);

// Returns a descriptor that becomes readable when the child ends; only wait for that, never read.
// Only the caller may reap the child. It is a pidfd, or a pipe that a waiting thread closes. Throws
// Error(kOs).
Fd watch_child(pid_t child);

}  // namespace dtl
