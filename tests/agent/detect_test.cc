#include "agent/detect.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "agent/nics.h"

namespace dtl {
namespace {

TEST(Detect, FindsTheCoresAndCpusOfThisMachine) {
  const NodeFacts facts = detect_node();
  int cpus = 0;
  CpuSet all;
  for (const Core& core : facts.topology.cores) {
    EXPECT_FALSE(core.cpus.empty());
    for (const int cpu : core.cpus) {
      EXPECT_FALSE(all.contains(cpu)) << "CPU " << cpu << " in two cores";
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
}  // namespace dtl
