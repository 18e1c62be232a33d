#pragma once
// The job-keeper: a process above dtagent that survives a kill of all of dtlaunch's programs by
// name. It only waits. When the agent has ended it ends whatever is left below, which has lost its
// guard, too. An agent that stays stopped for kGuardLease is killed: its guard has ended the ranks
// by then.

namespace dtl {

// Forks. Returns in the child, which goes on as the agent; this process becomes the keeper, exits
// with the agent's status and hands it SIGTERM, SIGINT and SIGHUP. To be called while there is one
// thread, since a child has only that one. arguments: main's; the keeper writes its name over them.
// Throws Error(kOs).
void go_on_below_keeper(int argument_count, char** arguments);

}  // namespace dtl
