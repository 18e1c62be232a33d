#pragma once
// Background processes of `dtlaunch up` that nobody can reach any more, because the folder of their
// socket has gone: found among the processes of this user. `dtlaunch down` ends them.

#include <sys/types.h>

#include <vector>

namespace dtl {

struct LostHolder {
  pid_t pid = 0;
  bool ended = false;  // else it waits for the jobs over its connections
};

// Tells them to end (SIGTERM), and waits a moment for each.
std::vector<LostHolder> end_lost_holders();

}  // namespace dtl
