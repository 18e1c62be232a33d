#pragma once

namespace dtl {

// A container's first process is what its kernel takes for init: signals without a handler do
// nothing to it, and every orphan is its child to reap. Where this process is that one, it forks,
// stays behind as such an init and ends with its child's exit status; the child returns from here
// and is a process like any other. Before anything else: there are no threads yet.
void leave_init_behind();

}  // namespace dtl
