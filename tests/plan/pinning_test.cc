#include "plan/pinning/pinning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/invented_nodes.h"

namespace dtl::pinning_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lists(const NodeTopology& topology, int ranks) {
  std::vector<std::string> texts;
  for (const Domain& domain : divide_cores(topology, ranks)) {
    texts.push_back(domain.cpus.to_list() + " t" + std::to_string(domain.threads));
  }
  return texts;
}

TEST(Pinning, DividesCoresEvenlyLargerDomainsFirst) {
  EXPECT_THAT(lists(invented_topology(1, 4), 2), ElementsAre("0-1 t2", "2-3 t2"));
  EXPECT_THAT(lists(invented_topology(1, 5), 2), ElementsAre("0-2 t3", "3-4 t2"));
  EXPECT_THAT(lists(invented_topology(1, 2), 1), ElementsAre("0-1 t2"));
}

TEST(Pinning, GivesARankOneHardwareThreadOfEachOfItsCores) {
  EXPECT_THAT(lists(invented_topology(1, 4, 2), 2), ElementsAre("0-1 t2", "2-3 t2"));
}

TEST(Pinning, NeverLeavesTheAllowedCpus) {
  NodeTopology topology = invented_topology(1, 4, 2);
  topology.allowed = CpuSet({1, 2, 6});
  EXPECT_THAT(lists(topology, 2), ElementsAre("1 t1", "2 t1"));
  EXPECT_EQ(budget_cores(topology), 2);
}

TEST(Pinning, KeepsDomainsInsideNumaNodes) {
  EXPECT_THAT(lists(invented_topology(2, 4), 4),
              ElementsAre("0-1 t2", "2-3 t2", "4-5 t2", "6-7 t2"));
  EXPECT_THAT(lists(invented_topology(2, 5), 4),
              ElementsAre("0-2 t3", "5-7 t3", "3-4 t2", "8-9 t2"));
}

TEST(Pinning, MovesTheLargerDomainToTheLargerNumaNode) {
  NodeTopology topology = invented_topology(2, 4);
  topology.allowed = topology.allowed - CpuSet({0});
  EXPECT_THAT(lists(topology, 2), ElementsAre("4-7 t4", "1-3 t3"));
}

TEST(Pinning, StraddlesNumaNodesOnlyWithWhatDoesNotFit) {
  EXPECT_THAT(lists(invented_topology(2, 4), 3), ElementsAre("0-2 t3", "4-6 t3", "3,7 t2"));
  EXPECT_THAT(lists(invented_topology(4, 2), 2), ElementsAre("0-3 t4", "4-7 t4"));
  EXPECT_THAT(lists(invented_topology(2, 3), 1), ElementsAre("0-5 t6"));
}

TEST(Pinning, SharesCoresRoundRobinWhenThereAreTooFew) {
  EXPECT_THAT(lists(invented_topology(1, 2), 5),
              ElementsAre("0 t1", "1 t1", "0 t1", "1 t1", "0 t1"));
}

TEST(Pinning, LimitsThreadsNotCpusByTheQuota) {
  NodeTopology topology = invented_topology(1, 8);
  topology.quota_cpus = 2.5;
  EXPECT_EQ(budget_cores(topology), 3);
  EXPECT_THAT(lists(topology, 2), ElementsAre("0-3 t2", "4-7 t1"));
  topology.quota_cpus = 0.5;
  EXPECT_EQ(budget_cores(topology), 1);
  EXPECT_THAT(lists(topology, 2), ElementsAre("0-3 t1", "4-7 t1"));
}

TEST(Pinning, ManagesOnANodeThatCannotNameItsCores) {
  NodeTopology topology;
  EXPECT_EQ(budget_cores(topology), 1);
  EXPECT_THAT(lists(topology, 1), ElementsAre(" t1"));
  topology.allowed = CpuSet({0, 1, 2, 3});
  EXPECT_EQ(budget_cores(topology), 4);
  EXPECT_THAT(lists(topology, 2), ElementsAre("0-3 t2", "0-3 t2"));
}

// For many shapes: disjoint, inside the budget, all used, sizes that differ by at most one.
TEST(Pinning, DividesEveryShapeFairly) {
  for (int numa = 1; numa <= 4; ++numa) {
    for (int cores = 1; cores <= 6; ++cores) {
      for (int ranks = 1; ranks <= numa * cores; ++ranks) {
        const NodeTopology topology = invented_topology(numa, cores);
        CpuSet all;
        int sum = 0, smallest = 1000, previous = 1000;
        for (const Domain& domain : divide_cores(topology, ranks)) {
          EXPECT_LE(domain.cpus.count(), previous);
          previous = domain.cpus.count();
          smallest = std::min(smallest, previous);
          sum += previous;
          all = all | domain.cpus;
          EXPECT_EQ(domain.threads, domain.cpus.count());
        }
        EXPECT_EQ(all, topology.allowed);
        EXPECT_EQ(sum, numa * cores);
        EXPECT_LE(divide_cores(topology, ranks)[0].cpus.count() - smallest, 1);
      }
    }
  }
}

}  // namespace
}  // namespace dtl::pinning_test
