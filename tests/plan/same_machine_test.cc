#include "plan/same_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl::same_machine_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodeFacts machine(const std::string& boot_id, const std::string& machine_id) {
  NodeFacts facts;
  facts.boot_id = boot_id;
  facts.machine_id = machine_id;
  return facts;
}

std::vector<Host> named(const std::vector<std::string>& names) {
  std::vector<Host> hosts;
  for (const std::string& name : names) hosts.emplace_back().name = name;
  return hosts;
}

TEST(Aliases, AreNamesOfOneMachineInOneBoot) {
  EXPECT_THAT(nodes_of_hosts({machine("b1", "m"), machine("b2", "m"), machine("b1", "m"),
                              machine("b1", "other"), machine("b2", "m")}),
              ElementsAre(0, 1, 0, 3, 1));
}

TEST(Aliases, NeverComeFromAgentsThatCannotTell) {
  EXPECT_THAT(nodes_of_hosts({machine("", ""), machine("", ""), machine("b", ""), machine("b", ""),
                              machine("", "m"), machine("", "m")}),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Tasks, OfOneHostAreTogetherInNameSpacesOfTheirOwn) {
  const auto task = [](const std::string& machine_id, const std::string& host) {
    NodeFacts facts = machine("b", machine_id);
    facts.hostname = host;
    return facts;
  };
  EXPECT_THAT(
      nodes_of_tasks({task("m1", "n1"), task("m2", "n2"), task("m3", "n1"), task("m2", "n2")}),
      ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(nodes_of_tasks({task("m1", "localhost"), task("m2", "localhost"), task("m1", "n1")}),
              ElementsAre(0, 1, 0));
}

TEST(Aliases, AreToldInOneLineForEachMachine) {
  EXPECT_THAT(describe_aliases(named({"a", "b", "a-ib", "10.0.0.1"}), {0, 1, 0, 0}),
              ElementsAre("a, a-ib and 10.0.0.1 are the same machine: they count as one node, a"));
  EXPECT_THAT(describe_aliases(named({"n1a1", "n1a2", "n2a1", "n2a2"}), {0, 0, 2, 2}),
              ElementsAre("n1a1 and n1a2 are the same machine: they count as one node, n1a1",
                          "n2a1 and n2a2 are the same machine: they count as one node, n2a1"));
  EXPECT_THAT(describe_aliases(named({"a", "b", "c", "d", "e", "f"}), {0, 0, 0, 0, 0, 0}),
              ElementsAre("a, b, c, d and 2 more are the same machine: they count as one node, a"));
  EXPECT_THAT(describe_aliases(named({"a", "b"}), {0, 1}), IsEmpty());
  EXPECT_THAT(describe_aliases({}, {0}), IsEmpty());
}

TEST(Aliases, LoseTheKeysThatTheFirstNameDoesNotHave) {
  std::vector<Host> hosts = named({"a", "b"});
  hosts[0].binding = hosts[1].binding = "core";
  hosts[1].pin_domain = "numa";
  EXPECT_THAT(describe_aliases(hosts, {0, 0}),
              ElementsAre("a and b are the same machine: they count as one node, a; "
                          "pin_domain=numa is ignored"));
}

TEST(Aliases, AreFoldedWhenThereAreMany) {
  std::vector<std::string> names;
  std::vector<int> first;
  for (int i = 0; i < 12; ++i) {
    names.push_back("n" + std::to_string(i));
    first.push_back(i % 6);
  }
  const std::vector<std::string> lines = describe_aliases(named(names), first);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines.back(), "2 more machines are named more than once");
}

}  // namespace
}  // namespace dtl::same_machine_test
