#pragma once
// leave_init_behind(): runs dtlaunch as a container's first process, so that no other code has to
// consider this case.

namespace dtl {

// The kernel treats a container's first process as init: signals without a handler do not affect
// it, and it must reap every orphan. If this process is the first one, it forks, stays as such an
// init and exits with its child's status; the child returns from here as an ordinary process.
// Otherwise does nothing. Call it before anything else, while there are no threads. Throws Error if
// it cannot fork.
void leave_init_behind();

}  // namespace dtl
