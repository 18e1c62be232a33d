#pragma once
// Aliases: several names of one machine, recognised by their agents' facts. Such names are one
// node: its slots add up, and its local ranks are numbered across all names. If they counted as two
// machines, ranks would be pinned twice to the same cores. Pure.

#include <string>
#include <vector>

#include "plan/pinning/topology.h"
#include "plan/request/host.h"

namespace dtl {

// For each host, the index of the first host that is the same machine: its own index if it is the
// first, or if its agent does not know.
std::vector<int> nodes_of_hosts(const std::vector<NodeFacts>& facts);

// The same for tasks started by a scheduler. Tasks on one host are recognised even if each has its
// own PID namespace.
std::vector<int> nodes_of_tasks(const std::vector<NodeFacts>& facts);

// Lines that tell the user about them; `first` as from nodes_of_hosts.
std::vector<std::string> describe_aliases(const std::vector<Host>& hosts,
                                          const std::vector<int>& first);

}  // namespace dtl
