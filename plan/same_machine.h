#pragma once
// Aliases: several names of one machine, told apart from several machines by what their agents say.
// Such names are one node: its slots add up, and its local ranks are numbered through all of them.
// Pure.

#include <string>
#include <vector>

#include "plan/pinning/topology.h"
#include "plan/request/host.h"

namespace dtl {

// Of each host, the number of the first host that is the same machine: its own where there is none
// before it, and where the agent cannot tell.
std::vector<int> nodes_of_hosts(const std::vector<NodeFacts>& facts);

// The same of tasks that an engine has started: those of one host are together, too, where each has
// a name space of its own.
std::vector<int> nodes_of_tasks(const std::vector<NodeFacts>& facts);

// What the user should know of them, in lines; `first` as from nodes_of_hosts.
std::vector<std::string> describe_aliases(const std::vector<Host>& hosts,
                                          const std::vector<int>& first);

}  // namespace dtl
