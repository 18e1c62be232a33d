#pragma once
// Background processes of `dtlaunch up` that nobody can reach any more, because the folder with
// their socket was removed. Finds them among this user's processes; `dtlaunch down` ends them.

#include <sys/types.h>

#include <vector>

namespace dtl {

struct LostHolder {
  pid_t pid = 0;
  bool ended = false;  // else it waits for jobs that use its connections
};

// Sends them SIGTERM and waits a moment for each.
std::vector<LostHolder> end_lost_holders();

}  // namespace dtl
