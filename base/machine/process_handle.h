#pragma once
// ProcessHandle: a process of this machine to signal and to wait for, and never another one that
// has got its number since. By a pidfd; where the kernel (before Linux 5.3) or a container's filter
// of system calls has none, by its number and time of start.

#include <sys/types.h>

#include <chrono>

#include "base/fd.h"
#include "base/machine/process_id.h"

namespace dtl {

class ProcessHandle {
 public:
  ProcessHandle() = default;                    // of no process
  explicit ProcessHandle(pid_t pid);            // of who has that number now, if anybody
  explicit ProcessHandle(const ProcessId& id);  // of none when that one has ended

  bool valid() const { return pidfd_.valid() || id_.start_time != 0; }
  pid_t pid() const { return id_.pid; }
  // False: it has ended, or this user may not signal it.
  bool signal(int number) const;
  // Whether it ends within that time; 0: whether it has. A zombie has ended.
  bool ends_within(std::chrono::milliseconds patience) const;

 private:
  ProcessId id_;
  Fd pidfd_;
};

// Readable once the child has ended; nobody but the caller reaps it, and nothing else may be done
// with the descriptor. A pidfd, or the end of a pipe that a thread closes. Throws Error(kOs).
Fd watch_child(pid_t child);

}  // namespace dtl
