#pragma once
// One rank's process: fork, then session, signals, descriptors, folder, CPUs and program, in that
// order. Only the guard uses it: single thread, no allocation. An error in the child arrives on the
// error pipe as a SpawnError; if the pipe ends without one, the program runs.

#include <sys/types.h>

#include <cstdint>

#include "agent/guard/guard_protocol.h"

namespace dtl {

struct SpawnError {
  SpawnStage stage = SpawnStage::kGuard;
  std::uint32_t error_number = 0;
};

struct Spawned {
  pid_t pid = -1;       // -1: failed, see error
  int error_pipe = -1;  // the caller closes it
  SpawnError error;
};

// fds: kSpawnFds descriptors, all above kPmiFd, or -1 for absent ones; the caller keeps
// them. Waits for the fork only,
// not until the program runs.
Spawned spawn_rank(const int* fds);

}  // namespace dtl
