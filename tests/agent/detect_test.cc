#include "agent/node/detect.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "agent/node/nics.h"
#include "base/error.h"
#include "tests/support/folders.h"

namespace dtl::detect_test {
namespace {

TEST(Detect, FindsTheCoresAndCpusOfThisMachine) {
  const NodeFacts facts = detect_node();
  int cpus = 0;
  CpuSet all;
  for (const Core& core : facts.topology.cores) {
    EXPECT_FALSE(core.cpus.empty());
    for (const int cpu : core.cpus) {
      EXPECT_NE(all & CpuSet({cpu}), CpuSet({cpu})) << "CPU " << cpu << " in two cores";
      all.add(cpu);
      ++cpus;
    }
  }
  EXPECT_GT(cpus, 0);
  EXPECT_LE(cpus, ::sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_EQ(facts.topology.allowed & all, facts.topology.allowed);
  EXPECT_GT(facts.topology.memory_bytes, 0u);
  EXPECT_FALSE(facts.hostname.empty());
  EXPECT_FALSE(facts.boot_id.empty());
  EXPECT_NE(facts.machine_id.find(" net:["), std::string::npos) << facts.machine_id;
  EXPECT_EQ(facts.machine_id, detect_node().machine_id);
}

TEST(Detect, AllowsNoCpuOutsideTheAffinity) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const int cpu = detect_node().topology.allowed.first();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(cpu), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(detect_node().topology.allowed.to_list(), std::to_string(cpu));
  ::sched_setaffinity(0, sizeof before, &before);
}

// "package.numa c1/c2/c3 CPUs" for each core.
std::vector<std::string> cores_of(const NodeTopology& topology) {
  std::vector<std::string> texts;
  for (const Core& core : topology.cores) {
    texts.push_back(fmt::format("{}.{} {}/{}/{} {}", core.package, core.numa, core.cache1,
                                core.cache2, core.cache3, CpuSet(core.cpus).to_list()));
  }
  return texts;
}

TEST(Detect, ReadsTwoSocketsWithSiblingsSideBySide) {
  const NodeTopology topology = topology_from("package:2 numa:1 l3:1 l2:2 core:1 pu:2");
  EXPECT_THAT(cores_of(topology), ::testing::ElementsAre("0.0 0/0/0 0-1", "0.0 1/1/0 2-3",
                                                         "1.1 2/2/1 4-5", "1.1 3/3/1 6-7"));
  EXPECT_EQ(topology.allowed.to_list(), "0-7");
  ASSERT_EQ(topology.numa_nodes.size(), 2u);
  EXPECT_EQ(topology.numa_nodes[1].os_index, 1);
  EXPECT_GT(topology.numa_nodes[1].memory_bytes, 0u);
}

TEST(Detect, ReadsSiblingsHalfTheNodeApart) {
  const NodeTopology topology = topology_from("package:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)");
  EXPECT_THAT(cores_of(topology), ::testing::ElementsAre("0.0 0/0/0 0,4", "0.0 1/1/0 1,5",
                                                         "0.0 2/2/0 2,6", "0.0 3/3/0 3,7"));
}

TEST(Detect, ReadsSubNumaClustersThatShareACache) {
  const NodeTopology topology = topology_from("package:2 l3:1 group:2 [numa] core:2 pu:1");
  EXPECT_THAT(cores_of(topology),
              ::testing::ElementsAre("0.0 0/0/0 0", "0.0 1/1/0 1", "0.1 2/2/0 2", "0.1 3/3/0 3",
                                     "1.2 4/4/1 4", "1.2 5/5/1 5", "1.3 6/6/1 6", "1.3 7/7/1 7"));
}

TEST(Detect, ReadsMoreCpusThanAFixedSetHolds) {
  const NodeTopology topology = topology_from("package:4 core:64 pu:2");
  EXPECT_EQ(topology.cores.size(), 256u);
  EXPECT_EQ(topology.allowed.count(), 512);
  EXPECT_EQ(topology.cores[255].package, 3);
}

TEST(Detect, TellsSlowerCoresFromAnXmlDescription) {
  const NodeTopology topology = topology_from(test::source_path("tests/data/hybrid.xml"));
  ASSERT_EQ(topology.cores.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(topology.cores[i].kind, i < 2 ? 0 : 1) << i;
  EXPECT_EQ(CpuSet(topology.cores[1].cpus).to_list(), "2-3");
}

TEST(Detect, RefusesADescriptionThatIsNone) {
  EXPECT_THROW(topology_from("what:is this"), Error);
}

TEST(Nics, NameTheOwnerOfAnAddress) {
  Nic lo{"lo", true, true, {"127.0.0.1"}};
  Nic eth{"eth0", true, false, {"10.0.0.1"}};
  Nic down{"eth1", false, false, {"10.0.1.1"}};
  std::vector<Nic> nics = {lo, eth};
  nics.push_back(down);
  EXPECT_EQ(interface_of(nics, "10.0.0.1"), "eth0");
  EXPECT_EQ(interface_of(nics, "10.9.9.9"), "");
  EXPECT_EQ(public_addresses(nics), std::vector<std::string>{"10.0.0.1"});
}

TEST(Nics, ShowTheLoopbackInterface) {
  const auto nics = list_nics();
  const auto lo =
      std::find_if(nics.begin(), nics.end(), [](const Nic& nic) { return nic.loopback; });
  ASSERT_NE(lo, nics.end());
}

}  // namespace
}  // namespace dtl::detect_test
