// Networks are found by what nodes have proved, not by names of interfaces: the same network is
// eth0 on one host and ens3 on the next.
#include "launcher/network/network_candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace dtl {
namespace {

struct OwnAddress {
  std::string address;
  const Nic* nic = nullptr;  // nullptr: no interface has it
  unsigned bits = 0;
  std::string interface() const { return nic == nullptr ? "" : nic->name; }
};

std::vector<OwnAddress> addresses_of(const ProbedNode& node, const InterfaceFilter& filter) {
  std::vector<OwnAddress> found;
  for (const std::string& address : node.listening.addresses) {
    OwnAddress own{address, nullptr, 0};
    for (const Nic& nic : node.nics) {
      const auto at = std::find(nic.addresses.begin(), nic.addresses.end(), address);
      if (at == nic.addresses.end()) continue;
      own.nic = &nic;
      const auto index = static_cast<std::size_t>(at - nic.addresses.begin());
      if (index < nic.prefix_bits.size()) own.bits = nic.prefix_bits[index];
    }
    if (filter_of(node, filter).allows(own.interface(), address)) found.push_back(own);
  }
  return found;
}

// nullptr: not tried, because a round left it out or the job is large.
const Attempt* attempt_at(const ProbedNode& from, std::size_t to, const std::string& address) {
  for (const Attempt& attempt : from.attempts) {
    if (attempt.endpoint.node == to && attempt.endpoint.address == address) return &attempt;
  }
  return nullptr;
}

bool same_family(const std::string& a, const std::string& b) {
  return (a.find(':') == std::string::npos) == (b.find(':') == std::string::npos);
}

// The node's address on the network of `anchor`, an address of node 0. Four rules, the surest
// first: the address with which it reached the anchor, if that is in the anchor's subnet; any other
// address in that subnet; the address with which it reached it (a routed network); an address on an
// interface of the same name.
OwnAddress matching_address(const ProbedNode& node, const OwnAddress& anchor,
                            const InterfaceFilter& filter) {
  const auto own = addresses_of(node, filter);
  const Attempt* attempt = attempt_at(node, 0, anchor.address);
  const std::string source = attempt != nullptr && attempt->reached ? attempt->local_address : "";
  const std::string subnet = subnet_of(anchor.address, anchor.bits);
  const auto first = [&](const auto& suits) {
    const auto at = std::find_if(own.begin(), own.end(), suits);
    return at == own.end() ? OwnAddress{} : *at;
  };
  const auto is_source = [&](const OwnAddress& each) { return each.address == source; };
  const auto is_near = [&](const OwnAddress& each) {
    return anchor.bits > 0 && in_cidr(each.address, subnet);
  };
  const auto has_its_name = [&](const OwnAddress& each) {
    return anchor.nic != nullptr && each.interface() == anchor.nic->name &&
           same_family(each.address, anchor.address);
  };
  const auto is_both = [&](const OwnAddress& each) { return is_source(each) && is_near(each); };
  OwnAddress found = first(is_both);
  if (found.address.empty()) found = first(is_near);
  if (found.address.empty()) found = first(is_source);
  if (found.address.empty()) found = first(has_its_name);
  return found;
}

// Empty if the node reached the address as wanted.
std::string problem_of(const ProbedNode& from, std::size_t to, const std::string& address,
                       const InterfaceFilter& filter) {
  const Attempt* attempt = attempt_at(from, to, address);
  if (attempt == nullptr) return "not tried";
  if (!attempt->reached) return attempt->problem.empty() ? "not reached" : attempt->problem;
  const InterfaceFilter& allowed = filter_of(from, filter);
  if (allowed.allows(attempt->local_interface, attempt->local_address)) return {};
  // Reached is not enough: the kernel may have routed the packets over an interface that the user
  // excluded, and the job's data would take the same way.
  return fmt::format("its packets leave on {}, which {} {} does not allow",
                     attempt->local_interface,
                     from.own.empty() ? "--iface" : "iface=", allowed.text());
}

void judge(Candidate& candidate, const std::vector<ProbedNode>& nodes,
           const InterfaceFilter& filter) {
  for (std::size_t from = 0; from < nodes.size(); ++from) {
    for (const std::size_t to : probe_targets(from, nodes.size())) {
      ++candidate.pairs;
      const std::string& address = candidate.nodes[to].address;
      // The candidate is incomplete; fold_failures() names that node in a line of its own.
      if (address.empty()) continue;
      std::string problem = problem_of(nodes[from], to, address, filter);
      if (!problem.empty()) candidate.failures.push_back({from, to, std::move(problem)});
    }
  }
}

Candidate candidate_at(const std::vector<ProbedNode>& nodes, const OwnAddress& anchor,
                       const InterfaceFilter& filter) {
  Candidate candidate;
  candidate.subnet = subnet_of(anchor.address, anchor.bits);
  candidate.v6 = anchor.address.find(':') != std::string::npos;
  // The minimum over all nodes: the slowest link bounds a ring.
  candidate.speed_mbps = UINT32_MAX;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const OwnAddress own = k == 0 ? anchor : matching_address(nodes[k], anchor, filter);
    candidate.nodes.push_back({own.address, own.interface()});
    if (!in_cidr(own.address, candidate.subnet)) candidate.one_subnet = false;
    if (!own.address.empty() && own.address == nodes[k].reached_at) ++candidate.named;
    if (own.nic != nullptr && own.nic->inside) candidate.inside = true;
    candidate.speed_mbps =
        std::min(candidate.speed_mbps, own.nic == nullptr ? 0 : own.nic->speed_mbps);
  }
  judge(candidate, nodes, filter);
  return candidate;
}

// The order documented in network.h.
bool is_better(const Candidate& a, const Candidate& b) {
  if (a.named != b.named) return a.named > b.named;
  if (a.inside != b.inside) return b.inside;
  if (a.speed_mbps != b.speed_mbps) return a.speed_mbps > b.speed_mbps;
  return !a.v6 && b.v6;
}

using Names = std::vector<std::string>;

}  // namespace

bool Candidate::complete() const {
  return std::none_of(nodes.begin(), nodes.end(),
                      [](const NodeNetwork& node) { return node.address.empty(); });
}

std::vector<Candidate> candidates(const std::vector<ProbedNode>& nodes,
                                  const InterfaceFilter& filter) {
  std::vector<Candidate> all;
  for (const OwnAddress& anchor : addresses_of(nodes.front(), filter)) {
    all.push_back(candidate_at(nodes, anchor, filter));
  }
  // Stable: equal candidates stay in the order in which node 0 listed its addresses.
  std::stable_sort(all.begin(), all.end(), is_better);
  return all;
}

std::string describe(const Candidate& candidate, const std::vector<ProbedNode>& nodes) {
  std::map<std::string, Names> by_interface;
  Names order;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const std::string& name = candidate.nodes[k].interface;
    if (candidate.nodes[k].address.empty()) continue;
    if (by_interface[name].empty()) order.push_back(name);
    by_interface[name].push_back(nodes[k].name);
  }
  Names pieces;
  for (const std::string& name : order) {
    const Names& users = by_interface[name];
    pieces.push_back(
        fmt::format("{} on {}", name.empty() ? "an unknown interface" : name,
                    users.size() == 1 ? users[0] : fmt::format("{} nodes", users.size())));
  }
  // Nodes in different subnets have no common network to name; say the anchor's address instead.
  const bool is_network = candidate.one_subnet || !candidate.complete();
  const std::string where =
      is_network && !candidate.subnet.empty()
          ? candidate.subnet
          : fmt::format("{} of {} and routes to it", candidate.nodes[0].address, nodes[0].name);
  return fmt::format("{} ({})", where, join(pieces, ", "));
}

std::vector<std::string> fold_failures(const Candidate& candidate,
                                       const std::vector<ProbedNode>& nodes) {
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (!candidate.nodes[k].address.empty()) continue;
    lines.push_back(fmt::format("{} has no address there; it has {}", nodes[k].name,
                                interfaces_text(nodes[k].nics)));
  }
  // A node that reaches nobody is one line, not one for each of the others.
  std::vector<std::map<std::string, std::size_t>> problems_from(nodes.size());
  for (const FailedPair& pair : candidate.failures) ++problems_from[pair.from][pair.problem];
  // One problem everywhere, a firewall for example, is one line.
  if (candidate.failures.size() == candidate.pairs && problems_from[0].size() == 1 &&
      std::all_of(problems_from.begin(), problems_from.end(),
                  [&](const auto& each) { return each == problems_from[0]; })) {
    lines.push_back("no node reaches another: " + problems_from[0].begin()->first);
    return lines;
  }
  // With a single target "reaches none of the others" would say less than the pair itself.
  std::set<std::size_t> lonely;
  for (std::size_t from = 0; from < nodes.size(); ++from) {
    const std::size_t targets = probe_targets(from, nodes.size()).size();
    if (targets < 2 || problems_from[from].size() != 1) continue;
    const auto& [problem, count] = *problems_from[from].begin();
    if (count != targets) continue;
    lonely.insert(from);
    lines.push_back(fmt::format("{} reaches none of the others: {}", nodes[from].name, problem));
  }
  std::map<std::pair<std::size_t, std::string>, Names> groups;
  for (const FailedPair& pair : candidate.failures) {
    if (!lonely.contains(pair.from)) {
      groups[{pair.to, pair.problem}].push_back(nodes[pair.from].name);
    }
  }
  for (const auto& [group, sources] : groups) {
    const auto& [to, problem] = group;
    const NodeNetwork& there = candidate.nodes[to];
    lines.push_back(fmt::format(
        "{} {} reach {} at {}{}: {}", join(sources, ", "), "cannot", nodes[to].name, there.address,
        there.interface.empty() ? "" : " (" + there.interface + ")", problem));
  }
  return lines;
}

std::string interfaces_text(const std::vector<Nic>& nics) {
  Names pieces;
  for (const Nic& nic : nics) {
    if (nic.loopback) continue;
    const std::string what = !nic.up                 ? "(down)"
                             : nic.addresses.empty() ? "(no address)"
                                                     : join(nic.addresses, " ");
    pieces.push_back(fmt::format("{} {}", nic.name, what));
  }
  return pieces.empty() ? "no interface but lo" : join(pieces, ", ");
}

}  // namespace dtl
