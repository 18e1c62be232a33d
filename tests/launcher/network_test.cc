#include "launcher/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl {
namespace {

using testing::HasSubstr;

Nic nic(const std::string& name, std::vector<std::string> addresses) {
  Nic made;
  made.name = name;
  made.up = true;
  made.addresses = std::move(addresses);
  return made;
}

// Rank 0's node has a bridge of containers that nobody else reaches, and two real networks.
FirstNode first_node(const std::string& name = "n1") {
  FirstNode first;
  first.host.name = name;
  first.nics = {nic("docker0", {"172.17.0.1"}), nic("eth0", {"fd00::1", "10.0.0.1"}),
                nic("ib0", {"192.168.9.1"})};
  first.listening.master_port = 20001;
  first.listening.addresses = {"172.17.0.1", "fd00::1", "10.0.0.1", "192.168.9.1"};
  return first;
}

Attempt attempt(const std::string& to, const std::string& from, const std::string& interface) {
  Attempt made;
  made.endpoint.address = to;
  made.reached = !from.empty();
  made.local_address = from;
  made.local_interface = interface;
  if (from.empty()) made.problem = "Connection refused";
  return made;
}

OtherNode other_node(const std::string& name, const std::string& last) {
  return {name,
          {attempt("172.17.0.1", "", ""), attempt("fd00::1", "fd00::" + last, "eth0"),
           attempt("10.0.0.1", "10.0.0." + last, "eth0"),
           attempt("192.168.9.1", "192.168.9." + last, "ib0")}};
}

TEST(Network, IsLoopbackForOneNode) {
  const Network network = choose_network(first_node(), {}, "");
  EXPECT_EQ(network.nodes.at(0).address, "127.0.0.1");
  EXPECT_EQ(network.nodes.at(0).interface, "lo");
  EXPECT_EQ(network.master_port, 20001);
}

TEST(Network, TakesTheFirstIPv4AddressThatEveryNodeReached) {
  const Network network =
      choose_network(first_node(), {other_node("n2", "2"), other_node("n3", "3")}, "");
  EXPECT_EQ(network.nodes.at(0).address, "10.0.0.1");
  EXPECT_EQ(network.nodes.at(0).interface, "eth0");
  EXPECT_EQ(network.nodes.at(2).address, "10.0.0.3");
  EXPECT_EQ(network.nodes.at(2).interface, "eth0");
}

TEST(Network, PrefersTheAddressThatTheHostfileNames) {
  const Network network = choose_network(first_node("192.168.9.1"), {other_node("n2", "2")}, "");
  EXPECT_EQ(network.nodes.at(0).address, "192.168.9.1");
  EXPECT_EQ(network.nodes.at(1).interface, "ib0");
}

TEST(Network, KeepsToTheInterfaceAskedFor) {
  const std::vector<OtherNode> others = {other_node("n2", "2")};
  EXPECT_EQ(choose_network(first_node(), others, "ib0").nodes.at(0).address, "192.168.9.1");
  EXPECT_EQ(choose_network(first_node(), others, "192.168.0.0/16").nodes.at(0).interface, "ib0");
}

std::string refusal(const FirstNode& first, const std::vector<OtherNode>& others,
                    const std::string& interface) {
  try {
    choose_network(first, others, interface);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kConfig);
    return error.what();
  }
  return "found";
}

TEST(Network, SaysPerNodeWhyNothingIsCommon) {
  OtherNode deaf{"n3", {attempt("10.0.0.1", "", "")}};
  const std::string text = refusal(first_node(), {other_node("n2", "2"), deaf}, "");
  EXPECT_THAT(text, HasSubstr("n3 -> 10.0.0.1: Connection refused"));
  EXPECT_THAT(text, HasSubstr("n2 -> 172.17.0.1: Connection refused"));
}

TEST(Network, ListsTheInterfacesWhenTheOneAskedForIsMissing) {
  const std::string text = refusal(first_node(), {other_node("n2", "2")}, "eth7");
  EXPECT_THAT(text, HasSubstr("no usable address on eth7"));
  EXPECT_THAT(text, HasSubstr("ib0 192.168.9.1"));
}

TEST(Network, ComparesPrefixes) {
  EXPECT_TRUE(in_cidr("10.0.0.7", "10.0.0.0/29"));
  EXPECT_FALSE(in_cidr("10.0.0.8", "10.0.0.0/29"));
  EXPECT_TRUE(in_cidr("fd00::5", "fd00::/64"));
  EXPECT_FALSE(in_cidr("10.0.0.7", "fd00::/64"));
  EXPECT_FALSE(in_cidr("10.0.0.7", "10.0.0.0/33"));
  EXPECT_TRUE(in_cidr("1.2.3.4", "0.0.0.0/0"));
}

}  // namespace
}  // namespace dtl
