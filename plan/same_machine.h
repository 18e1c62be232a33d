#pragma once
// Aliases: several names of one machine, recognised by what their agents say. Such names are one
// node: its slots add up, and its local ranks are numbered through all of them. Taken for two
// machines, it would pin ranks twice to the same cores. Pure.

#include <string>
#include <vector>

#include "plan/pinning/topology.h"
#include "plan/request/host.h"

namespace dtl {

// Of each host, the number of the first host that is the same machine: its own if it is the first,
// or if its agent cannot tell.
std::vector<int> nodes_of_hosts(const std::vector<NodeFacts>& facts);

// The same for tasks that a scheduler has started. Tasks on one host also count as together if each
// has a PID namespace of its own.
std::vector<int> nodes_of_tasks(const std::vector<NodeFacts>& facts);

// What the user should know of them, in lines; `first` as from nodes_of_hosts.
std::vector<std::string> describe_aliases(const std::vector<Host>& hosts,
                                          const std::vector<int>& first);

}  // namespace dtl
