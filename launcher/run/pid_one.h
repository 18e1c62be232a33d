#pragma once
// leave_init_behind(): dtlaunch as a container's first process, which nothing else in dtlaunch
// needs to think of.

namespace dtl {

// A container's first process is what its kernel takes for init: signals without a handler do
// nothing to it, and every orphan is its child to reap. Where this process is that one, it forks,
// stays behind as such an init and ends with its child's exit status. The child returns from here
// and is a process like any other. Elsewhere nothing happens. To be called before anything else:
// there are no threads yet. Throws Error where it cannot fork.
void leave_init_behind();

}  // namespace dtl
