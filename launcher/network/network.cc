// Plans probes and chooses. network_candidate.cc has candidates and their failures.
#include "launcher/network/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "base/text.h"
#include "launcher/network/network_candidate.h"

namespace dtl {
namespace {

constexpr std::size_t kMaxAddressesSmall = 16;  // tried per node
constexpr std::size_t kMaxAddressesLarge = 8;   // tried per node in a job of many nodes
constexpr std::size_t kMaxNetworksInMessage = 6;

const Nic* nic_with(const ProbedNode& node, const std::string& address) {
  for (const Nic& nic : node.nics) {
    const auto& own = nic.addresses;
    if (std::find(own.begin(), own.end(), address) != own.end()) return &nic;
  }
  return nullptr;
}

// The node's addresses to try in this round, likely ones first.
std::vector<std::string> worth_trying(const ProbedNode& node, const InterfaceFilter& all,
                                      int round) {
  const InterfaceFilter& filter = filter_of(node, all);
  std::vector<std::string> first, last;
  for (const std::string& address : node.listening.addresses) {
    const Nic* nic = nic_with(node, address);
    const std::string name = nic == nullptr ? "" : nic->name;
    if (!filter.allows(name, address)) continue;
    const bool likely = nic == nullptr || !nic->inside || filter.includes(name, address);
    // The address behind the host's name comes first, so a Reach that must be cut keeps it.
    if (address == node.reached_at) {
      first.insert(first.begin(), address);
    } else if (likely) {
      first.push_back(address);
    } else if (round > 1) {
      last.push_back(address);
    }
  }
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

// Asks for round 2, which tries most: a node without an address then never gets one.
void check_filter(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter) {
  std::string reason;
  for (const ProbedNode& node : nodes) {
    if (!worth_trying(node, filter, 2).empty()) continue;
    // iface= is in the hostfile, so its error concerns one host and is thrown at once. --iface
    // concerns all hosts, so its error collects them.
    if (!node.own.empty()) {
      throw Error(Exit::kConfig, fmt::format("{}: iface={}", node.name, node.own.text()),
                  fmt::format("matches no interface: it has {}", interfaces_text(node.nics)),
                  "another iface= in the hostfile, or none");
    }
    reason += fmt::format("\n  {} has {}", node.name, interfaces_text(node.nics));
  }
  if (reason.empty()) return;
  if (filter.empty()) {
    throw Error(Exit::kConfig, "these nodes have no address that others can reach", reason,
                "ip address, there");
  }
  throw Error(Exit::kConfig, fmt::format("--iface {}: matches no interface", filter.text()), reason,
              "the same command without --iface");
}

// Where the ranks of a single node meet: on lo, unless the user excludes lo.
NodeNetwork network_alone(const ProbedNode& node, const InterfaceFilter& all) {
  if (filter_of(node, all).allows("lo", "127.0.0.1")) return {"127.0.0.1", "lo"};
  check_filter({node}, all);
  const std::string address = worth_trying(node, all, 2).front();
  const Nic* nic = nic_with(node, address);
  return {address, nic == nullptr ? "" : nic->name};
}

// For -v. A bridge that round 1 left out would otherwise show as a failure of every pair.
std::string rejection(const Candidate& candidate, const std::vector<ProbedNode>& nodes) {
  if (candidate.inside && !candidate.failures.empty() &&
      candidate.failures[0].problem == "not tried") {
    return "a bridge inside the node, not tried";
  }
  const auto lines = fold_failures(candidate, nodes);
  if (lines.size() <= 1) return lines.empty() ? "" : lines[0];
  return fmt::format("{}, and {} more", lines[0], lines.size() - 1);
}

std::string tried(const Candidate& candidate, std::size_t nodes) {
  const std::size_t all = nodes * (nodes - 1);
  if (candidate.pairs == all) return fmt::format("all {} pairs reach each other", all);
  return fmt::format("all {} tried pairs of {} reach each other ({}, and rank 0's host)",
                     candidate.pairs, all,
                     nodes <= kPowersNodes ? "1, 2, 4, ... apart" : "neighbours");
}

std::vector<std::string> reasons_for(const Candidate& chosen, const std::vector<Candidate>& all,
                                     const std::vector<ProbedNode>& nodes) {
  std::vector<std::string> reasons = {
      fmt::format("network: {}: {}{}", describe(chosen, nodes), tried(chosen, nodes.size()),
                  chosen.named > 0 ? ", as the hosts' names lead there" : "")};
  // Several addresses of node 0 can lead to the same description; each is shown once.
  std::set<std::string> told = {describe(chosen, nodes)};
  for (const Candidate& other : all) {
    const std::string what = describe(other, nodes);
    if (!told.insert(what).second) continue;
    reasons.push_back(other.proved()
                          ? fmt::format("network: {} would do as well", what)
                          : fmt::format("network: rejected {}: {}", what, rejection(other, nodes)));
  }
  return reasons;
}

}  // namespace

std::vector<std::size_t> probe_targets(std::size_t from, std::size_t nodes) {
  std::set<std::size_t> targets;
  if (nodes <= kAllPairsNodes) {
    for (std::size_t to = 0; to < nodes; ++to) targets.insert(to);
  } else {
    targets.insert(0);
    const std::size_t longest = nodes <= kPowersNodes ? nodes / 2 : 1;
    for (std::size_t distance = 1; distance <= longest; distance *= 2) {
      targets.insert((from + distance) % nodes);
      targets.insert((from + nodes - distance) % nodes);
    }
  }
  targets.erase(from);
  return {targets.begin(), targets.end()};
}

std::vector<Reach> plan_probes(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter,
                               int round) {
  check_filter(nodes, filter);
  std::vector<Reach> probes(nodes.size());
  for (std::size_t from = 0; from < nodes.size(); ++from) {
    const auto targets = probe_targets(from, nodes.size());
    const std::size_t most =
        nodes.size() <= kAllPairsNodes ? kMaxAddressesSmall : kMaxAddressesLarge;
    for (const std::size_t to : targets) {
      auto addresses = worth_trying(nodes[to], filter, round);
      if (addresses.size() > most) addresses.resize(most);
      for (const std::string& address : addresses) {
        probes[from].endpoints.push_back(
            {address, nodes[to].listening.probe_port, static_cast<std::uint32_t>(to)});
      }
    }
    if (round == 1) {
      probes[from].settle_ms = static_cast<std::uint32_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(kProbeSettle).count());
    }
  }
  return probes;
}

bool may_prove_more(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter) {
  const std::vector<Reach> second = plan_probes(nodes, filter, 2);
  for (std::size_t from = 0; from < nodes.size(); ++from) {
    // Fewer attempts than round 2 has endpoints: it would try new addresses.
    const auto& attempts = nodes[from].attempts;
    if (attempts.size() < second[from].endpoints.size()) return true;
    std::set<std::uint32_t> all, reached;
    for (const Attempt& attempt : attempts) {
      all.insert(attempt.endpoint.node);
      if (attempt.reached) reached.insert(attempt.endpoint.node);
    }
    // Only a node that has reached all others stopped waiting early.
    const bool settled = all == reached && reached.size() < attempts.size();
    if (settled) return true;
  }
  return false;
}

std::optional<NetworkChoice> choose_network(const std::vector<ProbedNode>& nodes,
                                            const InterfaceFilter& filter) {
  NetworkChoice choice;
  choice.network.master_port = static_cast<int>(nodes.front().listening.master_port);
  // Nothing was probed. Ranks of one node still need a place to meet.
  if (nodes.size() == 1) {
    choice.network.nodes.push_back(network_alone(nodes.front(), filter));
    return choice;
  }
  const std::vector<Candidate> all = candidates(nodes, filter);
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Candidate& each) { return each.proved(); });
  if (found == all.end()) return std::nullopt;
  choice.network.nodes = found->nodes;
  choice.reasons = reasons_for(*found, all, nodes);
  return choice;
}

Error no_network(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter) {
  const std::string limit = filter.empty() ? "" : fmt::format(" (--iface {})", filter.text());
  const std::string attempted =
      fmt::format("no network on which all {} nodes reach each other{}", nodes.size(), limit);
  std::string reason;
  std::size_t shown = 0;
  std::set<std::string> told;
  for (const Candidate& candidate : candidates(nodes, filter)) {
    const std::string what = describe(candidate, nodes);
    if (!told.insert(what).second) continue;
    if (++shown > kMaxNetworksInMessage) continue;
    reason += fmt::format("\n  {}:", what);
    for (const std::string& line : fold_failures(candidate, nodes)) reason += "\n    " + line;
  }
  if (shown > kMaxNetworksInMessage) {
    reason += fmt::format("\n  and {} more networks", shown - kMaxNetworksInMessage);
  }
  return Error(Exit::kConfig, attempted, reason,
               filter.empty() ? "--iface NET, or open the network between these hosts"
                              : "the same command without --iface");
}

}  // namespace dtl
