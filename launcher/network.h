#pragma once
// The connect matrix's answer: which address of rank 0's node every other node has reached, and
// with which address and interface of its own. Pure.

#include <string>
#include <vector>

#include "plan/host.h"
#include "plan/job_plan.h"
#include "plan/topology.h"
#include "wire/messages.h"

namespace dtl {

// What the node of rank 0 said about itself.
struct FirstNode {
  Host host;
  std::vector<Nic> nics;
  Listening listening;
};

struct OtherNode {
  std::string host_name;
  std::vector<Attempt> attempts;
};

// The first address that every other node reached: the hostfile's own numeric address first, then
// in order of the interfaces, IPv4 before IPv6. `interface` (--iface, may be empty) is the name of
// an interface or a CIDR that both ends must be on. One node alone: 127.0.0.1 on lo.
// Throws Error(kConfig) that says per node what failed.
Network choose_network(const FirstNode& first, const std::vector<OtherNode>& others,
                       const std::string& interface);

// "10.0.0.7" in "10.0.0.0/24"; false when either is malformed or they are of different families.
bool in_cidr(const std::string& address, const std::string& cidr);

}  // namespace dtl
