#pragma once
// One rank's process: fork, then session, signals, descriptors, folder, CPUs and program, in that
// order. Used by the guard only: single thread, no allocation. What fails in the child arrives on
// the error pipe as a SpawnError; the pipe's end without one means that the program runs.

#include <sys/types.h>

#include <cstdint>

#include "agent/guard/guard_protocol.h"

namespace dtl {

struct SpawnError {
  SpawnStage stage = SpawnStage::kGuard;
  std::uint32_t error_number = 0;
};

struct Spawned {
  pid_t pid = -1;       // -1: failed, error says how
  int error_pipe = -1;  // the caller closes it
  SpawnError error;
};

// fds: kSpawnFds descriptors, all above kSecretFd; they stay open here. Blocks for the fork alone,
// not until the program runs.
Spawned spawn_rank(const int* fds);

}  // namespace dtl
