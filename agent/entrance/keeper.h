#pragma once
// The keeper: a process above dtagent that survives whoever kills all of dtlaunch's processes of a
// node by their names. It does nothing but wait; when the agent has ended, whatever is left below
// it has lost its guard, too, and is ended. An agent that was stopped for kGuardLease is ended,
// too.

namespace dtl {

// Forks. Returns in the child, which goes on as the agent; this process becomes the keeper, exits
// with the agent's status and hands it SIGTERM, SIGINT and SIGHUP. To be called while there is one
// thread. arguments: main's, to be overwritten. Throws Error(kOs).
void go_on_below_keeper(int argument_count, char** arguments);

}  // namespace dtl
