#include "launcher/network/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "base/limits.h"

namespace dtl::network_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct OwnNic {
  std::string name, address;
  unsigned bits = 24;
  std::uint32_t speed = 0;
  bool inside = false;
};

ProbedNode node(const std::string& name, const std::vector<OwnNic>& nics) {
  ProbedNode made;
  made.name = name;
  made.listening.probe_port = 4000;
  made.listening.master_port = 20001;
  for (const OwnNic& own : nics) {
    Nic nic;
    nic.name = own.name;
    nic.up = true;
    nic.inside = own.inside;
    nic.speed_mbps = own.speed;
    nic.addresses = {own.address};
    nic.prefix_bits = {own.bits};
    made.nics.push_back(nic);
    made.listening.addresses.push_back(own.address);
  }
  return made;
}

// True when `from` reaches the address of `to`.
using Reaches =
    std::function<bool(const ProbedNode& from, const ProbedNode& to, const std::string& address)>;

bool always(const ProbedNode&, const ProbedNode&, const std::string&) {
  return true;
}

// The node's own address in the same /24, else its first address.
std::string source_for(const ProbedNode& from, const std::string& address) {
  for (const std::string& own : from.listening.addresses) {
    if (subnet_of(own, 24) == subnet_of(address, 24)) return own;
  }
  return from.listening.addresses[0];
}

void probe(std::vector<ProbedNode>& nodes, const Reaches& reaches,
           const InterfaceFilter& filter = {}, int round = 2) {
  const auto probes = plan_probes(nodes, filter, round);
  for (std::size_t from = 0; from < nodes.size(); ++from) {
    nodes[from].attempts.clear();
    for (const Endpoint& endpoint : probes[from].endpoints) {
      Attempt attempt;
      attempt.endpoint = endpoint;
      attempt.reached = reaches(nodes[from], nodes[endpoint.node], endpoint.address);
      if (attempt.reached) {
        attempt.local_address = source_for(nodes[from], endpoint.address);
        for (const Nic& nic : nodes[from].nics) {
          if (nic.addresses[0] == attempt.local_address) attempt.local_interface = nic.name;
        }
      } else {
        attempt.problem = "Connection refused";
      }
      nodes[from].attempts.push_back(attempt);
    }
  }
}

// Three nodes on eth0 and ib0. All have a container bridge with the same address.
std::vector<ProbedNode> three_nodes() {
  std::vector<ProbedNode> nodes;
  for (const std::string last : {"1", "2", "3"}) {
    nodes.push_back(node("n" + last, {{"docker0", "172.17.0.1", 16, 0, true},
                                      {"eth0", "10.0.0." + last, 24, 1000},
                                      {"ib0", "192.168.9." + last, 24, 100000}}));
  }
  return nodes;
}

bool not_docker(const ProbedNode&, const ProbedNode&, const std::string& address) {
  return address != "172.17.0.1";
}

std::vector<std::string> addresses(const std::optional<NetworkChoice>& choice) {
  std::vector<std::string> found;
  if (!choice) return found;
  for (const NodeNetwork& each : choice->network.nodes) {
    found.push_back(each.address + " " + each.interface);
  }
  return found;
}

TEST(Network, IsLoopbackForOneNode) {
  const auto choice = choose_network({node("n1", {{"eth0", "10.0.0.1"}})}, {});
  EXPECT_THAT(addresses(choice), ElementsAre("127.0.0.1 lo"));
  EXPECT_EQ(choice->network.master_port, 20001);
}

TEST(Network, OfOneNodeIsWhatTheUserAllows) {
  const std::vector<ProbedNode> alone = {
      node("n1", {{"docker0", "172.17.0.1"}, {"eth0", "10.0.0.1"}})};
  EXPECT_THAT(addresses(choose_network(alone, InterfaceFilter("^docker0"))),
              ElementsAre("127.0.0.1 lo"));
  EXPECT_THAT(addresses(choose_network(alone, InterfaceFilter("lo"))), ElementsAre("127.0.0.1 lo"));
  EXPECT_THAT(addresses(choose_network(alone, InterfaceFilter("10.0.0.0/8"))),
              ElementsAre("10.0.0.1 eth0"));
  EXPECT_THROW(choose_network(alone, InterfaceFilter("eth7")), Error);
}

TEST(Network, TakesTheFastestOfTheProvedOnesWhenTheNamesSayNothing) {
  auto nodes = three_nodes();
  probe(nodes, not_docker);
  EXPECT_THAT(addresses(choose_network(nodes, {})),
              ElementsAre("192.168.9.1 ib0", "192.168.9.2 ib0", "192.168.9.3 ib0"));
}

TEST(Network, PrefersWhereTheHostsNamesLead) {
  auto nodes = three_nodes();
  nodes[1].reached_at = "10.0.0.2";
  nodes[2].reached_at = "10.0.0.3";
  probe(nodes, not_docker);
  const auto choice = choose_network(nodes, {});
  EXPECT_THAT(addresses(choice), ElementsAre("10.0.0.1 eth0", "10.0.0.2 eth0", "10.0.0.3 eth0"));
  EXPECT_THAT(choice->reasons,
              ElementsAre("network: 10.0.0.0/24 (eth0 on 3 nodes): all 6 pairs reach each other, "
                          "as the hosts' names lead there",
                          "network: 192.168.9.0/24 (ib0 on 3 nodes) would do as well",
                          "network: rejected 172.17.0.0/16 (docker0 on 3 nodes): no node reaches "
                          "another: Connection refused"));
}

TEST(Network, LeavesTheDeadOneOfTwo) {
  auto nodes = three_nodes();
  const auto ib_is_dead_on_n3 = [](const ProbedNode& from, const ProbedNode& to,
                                   const std::string& address) {
    const bool through_ib = address.starts_with("192.168.9.");
    return not_docker(from, to, address) && !(through_ib && (from.name == "n3" || to.name == "n3"));
  };
  probe(nodes, ib_is_dead_on_n3);
  const auto choice = choose_network(nodes, {});
  EXPECT_THAT(addresses(choice), ElementsAre("10.0.0.1 eth0", "10.0.0.2 eth0", "10.0.0.3 eth0"));
  EXPECT_THAT(choice->reasons[1], HasSubstr("rejected 192.168.9.0/24 (ib0 on 3 nodes): n3 reaches "
                                            "none of the others: Connection refused"));
}

TEST(Network, InterfaceNamesMayDiffer) {
  std::vector<ProbedNode> nodes = {node("n1", {{"eth0", "10.0.0.1"}}),
                                   node("n2", {{"ens3", "10.0.0.2"}}),
                                   node("n3", {{"eth0", "10.0.0.3"}})};
  probe(nodes, always);
  const auto choice = choose_network(nodes, {});
  EXPECT_THAT(addresses(choice), ElementsAre("10.0.0.1 eth0", "10.0.0.2 ens3", "10.0.0.3 eth0"));
  EXPECT_THAT(choice->reasons[0], HasSubstr("(eth0 on 2 nodes, ens3 on n2)"));
}

TEST(Network, NodesMayLieInDifferentSubnetsThatRoute) {
  std::vector<ProbedNode> nodes = {node("n1", {{"eth0", "10.1.0.1"}}),
                                   node("n2", {{"eth0", "10.2.0.1"}})};
  probe(nodes, always);
  const auto choice = choose_network(nodes, {});
  EXPECT_THAT(addresses(choice), ElementsAre("10.1.0.1 eth0", "10.2.0.1 eth0"));
  EXPECT_THAT(choice->reasons[0], HasSubstr("10.1.0.1 of n1 and routes to it"));
}

TEST(Network, TakesIPv6WhereThereIsNothingElse) {
  std::vector<ProbedNode> nodes = {node("n1", {{"eth0", "fd00::1", 64}}),
                                   node("n2", {{"eth0", "fd00::2", 64}})};
  probe(nodes, always);
  EXPECT_THAT(addresses(choose_network(nodes, {})), ElementsAre("fd00::1 eth0", "fd00::2 eth0"));
}

TEST(Network, IPv4ComesBeforeIPv6) {
  std::vector<ProbedNode> nodes = {node("n1", {{"eth0", "fd00::1", 64}, {"eth0", "10.0.0.1"}}),
                                   node("n2", {{"eth0", "fd00::2", 64}, {"eth0", "10.0.0.2"}})};
  probe(nodes, always);
  EXPECT_THAT(addresses(choose_network(nodes, {})), ElementsAre("10.0.0.1 eth0", "10.0.0.2 eth0"));
}

TEST(Network, OneDirectionIsNotEnough) {
  std::vector<ProbedNode> nodes = {node("n1", {{"eth0", "10.0.0.1"}}),
                                   node("n2", {{"eth0", "10.0.0.2"}})};
  probe(nodes, [](const ProbedNode& from, const ProbedNode&, const std::string&) {
    return from.name == "n2";
  });
  EXPECT_FALSE(choose_network(nodes, {}));
  EXPECT_THAT(no_network(nodes, {}).what(),
              HasSubstr("\n    n1 cannot reach n2 at 10.0.0.2 (eth0): Connection refused"));
}

TEST(Network, TriesBridgesOnlyWhenNothingElseIsProved) {
  const auto nodes = three_nodes();
  const auto first = plan_probes(nodes, {}, 1);
  EXPECT_EQ(first[0].endpoints.size(), 4u);  // eth0 and ib0 of two nodes
  EXPECT_GT(first[0].settle_ms, 0u);
  const auto second = plan_probes(nodes, {}, 2);
  EXPECT_EQ(second[0].endpoints.size(), 6u);
  EXPECT_EQ(second[0].settle_ms, 0u);
  EXPECT_EQ(plan_probes(nodes, InterfaceFilter("docker0"), 1)[0].endpoints.size(), 2u);
}

TEST(Network, AnotherRoundComesOnlyWhereItCouldProveMore) {
  auto nodes = three_nodes();
  probe(
      nodes, [](auto&...) { return false; }, {}, 1);
  EXPECT_TRUE(may_prove_more(nodes, {}));  // docker0 was not tried
  probe(
      nodes, [](auto&...) { return false; }, {}, 2);
  EXPECT_FALSE(may_prove_more(nodes, {}));
  // Each other node has answered at some address, so it stopped waiting for ib0.
  const auto no_ib = [](auto&, auto&, const std::string& address) {
    return !address.starts_with("192.");
  };
  probe(nodes, no_ib, {}, 2);
  EXPECT_TRUE(may_prove_more(nodes, {}));
}

TEST(Network, LargeJobsTryPowersOfTwoAndRankZero) {
  EXPECT_EQ(probe_targets(5, 16).size(), 15u);
  EXPECT_THAT(probe_targets(5, 33), ElementsAre(0, 1, 3, 4, 6, 7, 9, 13, 21, 22, 30));
  EXPECT_THAT(probe_targets(5, 49), ElementsAre(0, 4, 6));
  EXPECT_THAT(probe_targets(0, 17), ElementsAre(1, 2, 4, 8, 9, 13, 15, 16));
  EXPECT_THAT(probe_targets(0, kMaxRanks), ElementsAre(1, kMaxRanks - 1));
  std::vector<ProbedNode> nodes;
  for (int i = 1; i <= 40; ++i) {
    nodes.push_back(node("n" + std::to_string(i), {{"eth0", "10.0.0." + std::to_string(i)}}));
  }
  probe(nodes, always);
  EXPECT_THAT(choose_network(nodes, {})->reasons[0],
              HasSubstr("all 429 tried pairs of 1560 reach each other"));
}

TEST(Network, KeepsToTheInterfaceAskedFor) {
  for (const char* wanted : {"eth0", "10.0.0.0/24", "^ib0,docker0", "ens9,eth0"}) {
    auto nodes = three_nodes();
    const InterfaceFilter filter(wanted);
    probe(nodes, not_docker, filter);
    EXPECT_THAT(addresses(choose_network(nodes, filter)),
                ElementsAre("10.0.0.1 eth0", "10.0.0.2 eth0", "10.0.0.3 eth0"))
        << wanted;
  }
}

// A host's iface= applies only to it, and overrides --iface.
TEST(Network, KeepsToTheInterfaceOfAHost) {
  auto nodes = three_nodes();
  nodes[1].own = InterfaceFilter("eth0");
  probe(nodes, not_docker);
  EXPECT_THAT(addresses(choose_network(nodes, {})),
              ElementsAre("10.0.0.1 eth0", "10.0.0.2 eth0", "10.0.0.3 eth0"));
  for (ProbedNode& each : nodes) each.own = InterfaceFilter("ib0");
  const InterfaceFilter all("eth0");
  probe(nodes, not_docker, all);
  EXPECT_THAT(addresses(choose_network(nodes, all)),
              ElementsAre("192.168.9.1 ib0", "192.168.9.2 ib0", "192.168.9.3 ib0"));
}

std::string refusal(const std::vector<ProbedNode>& nodes, const std::string& interface) {
  try {
    plan_probes(nodes, InterfaceFilter(interface), 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kConfig);
    return error.what();
  }
  return "planned";
}

TEST(Network, NamesTheNodesWithoutTheInterfaceAskedFor) {
  auto nodes = three_nodes();
  nodes[2].nics.pop_back();
  nodes[2].listening.addresses.pop_back();
  const std::string text = refusal(nodes, "ib0");
  EXPECT_THAT(text, HasSubstr("--iface ib0: matches no interface"));
  EXPECT_THAT(text, HasSubstr("\n  n3 has docker0 172.17.0.1, eth0 10.0.0.3"));
  EXPECT_THAT(text, Not(HasSubstr("n1 has")));
  nodes[1].own = InterfaceFilter("eth9");
  EXPECT_THAT(refusal(nodes, "eth0"), HasSubstr("n2: iface=eth9: matches no interface"));
}

TEST(Network, NamesEveryFailedPairFolded) {
  auto nodes = three_nodes();
  for (auto& each : nodes) each.nics.pop_back(), each.listening.addresses.pop_back();
  probe(nodes, [](const ProbedNode& from, const ProbedNode& to, const std::string& address) {
    return not_docker(from, to, address) && to.name != "n3";
  });
  EXPECT_FALSE(choose_network(nodes, {}));
  const Error error = no_network(nodes, {});
  EXPECT_EQ(error.status(), Exit::kConfig);
  EXPECT_THAT(error.what(), HasSubstr("no network on which all 3 nodes reach each other"));
  EXPECT_THAT(error.what(), HasSubstr("\n  10.0.0.0/24 (eth0 on 3 nodes):"
                                      "\n    n1, n2 cannot reach n3 at 10.0.0.3 (eth0): "
                                      "Connection refused"));
}

TEST(InterfaceFilter, ComparesPrefixes) {
  EXPECT_TRUE(in_cidr("10.0.0.7", "10.0.0.0/29"));
  EXPECT_FALSE(in_cidr("10.0.0.8", "10.0.0.0/29"));
  EXPECT_TRUE(in_cidr("fd00::5", "fd00::/64"));
  EXPECT_FALSE(in_cidr("10.0.0.7", "fd00::/64"));
  EXPECT_FALSE(in_cidr("10.0.0.7", "10.0.0.0/33"));
  EXPECT_TRUE(in_cidr("1.2.3.4", "0.0.0.0/0"));
  EXPECT_EQ(subnet_of("10.77.3.4", 16), "10.77.0.0/16");
  EXPECT_EQ(subnet_of("fd00:1::5", 64), "fd00:1::/64");
}

TEST(InterfaceFilter, RefusesWhatItCannotMean) {
  for (const char* bad : {"eth0,^eth1", "eth0,,eth1", "^", "10.0.0.0/40", "x/8"}) {
    EXPECT_THROW(InterfaceFilter{bad}, Error) << bad;
  }
}

}  // namespace
}  // namespace dtl::network_test
