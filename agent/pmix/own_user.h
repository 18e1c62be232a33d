#pragma once
// Keeps other users of the node away from libpmix's socket, which listens on loopback. libpmix
// serves them before it knows who they are: a connection that sends nothing stops it for all ranks.
// Called from libpmix's threads.

namespace dtl::pmix {

// False for a TCP connection from this node by another user, or one that its user has closed. True
// if the kernel does not tell.
bool is_of_own_user(int connection);

}  // namespace dtl::pmix
