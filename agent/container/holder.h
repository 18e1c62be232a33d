#pragma once
// The holder is dtagent as the only program of a node's container: it gives the container's
// namespaces and environment to the agent outside, and keeps the container for as long as the agent
// lives. It needs no library, so that it runs in any image.

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace dtl {

constexpr int kHolderLinkFd = 3;  // its end of a SOCK_SEQPACKET pair

// Sends what the other end needs, then waits for that end to close. Signals do not end it: ranks
// may still write their checkpoints. Throws Error(kUsage) if descriptor 3 is not the link.
Exit hold_container();

struct HeldContainer {
  Fd user_namespace, mount_namespace;
  std::vector<std::string> environment;  // "NAME=value", as podman has set it for the image
};
// The agent's side: the holder's message, which must have arrived. nullopt: the link has ended.
std::optional<HeldContainer> receive_held(int link);

}  // namespace dtl
