#pragma once
// The job-keeper: dtagent's parent process, which survives when all of dtlaunch's programs are
// killed by name. It only waits. When the agent has ended, it ends the remaining processes, which
// have no guard any more. It kills an agent that stays stopped for kGuardLease; the guard has ended
// the ranks by then.

namespace dtl {

// Forks. Returns in the child, which continues as the agent. This process becomes the keeper: it
// forwards SIGTERM, SIGINT and SIGHUP to the agent and exits with the agent's status. Call it while
// the process has one thread, as fork(2) copies only the calling one. arguments: main's; the keeper
// writes its name over them. Throws Error(kOs).
void go_on_below_keeper(int argument_count, char** arguments);

}  // namespace dtl
