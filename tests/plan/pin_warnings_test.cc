#include "plan/pin_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "plan/placement.h"
#include "tests/plan/invented_nodes.h"

namespace dtl::pin_warnings_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// eth0 belongs to the last NUMA node.
NodeFacts server(int numa, int cores, int threads_per_core = 1) {
  NodeFacts facts = invented_node(numa, cores, threads_per_core);
  Nic nic;
  nic.name = "eth0";
  nic.numa = numa - 1;
  facts.nics = {nic};
  for (int i = 0; i < numa; ++i) facts.topology.numa_nodes.push_back({i, std::uint64_t{64} << 30});
  facts.topology.memory_bytes = static_cast<std::uint64_t>(numa) * (std::uint64_t{64} << 30);
  return facts;
}

JobPlan plan_on(const NodeFacts& facts, int nodes, int ranks_per_node, const Variables& set) {
  Request request;
  Network network;
  for (int i = 0; i < nodes; ++i) {
    Host host;
    host.name = "node" + std::to_string(i + 1);
    request.hosts.push_back(host);
    network.nodes.push_back({"10.0.0." + std::to_string(i + 1), "eth0"});
  }
  network.master_port = 28000;
  request.placement.ranks_per_node = ranks_per_node;
  request.placement.ranks = nodes * ranks_per_node;
  request.programs[0].command = {"python3", "train.py"};
  request.programs[0].working_directory = "/home/u";
  request.environment.set = set;
  const std::vector<NodeFacts> all(static_cast<std::size_t>(nodes), facts);
  const std::vector<int> cores(all.size(), 256);
  return make_job_plan(request, all, place_ranks(request, cores), network, "0123456789abcdef");
}

std::vector<std::string> warnings(const NodeFacts& facts, int ranks, const Variables& set) {
  return plan_on(facts, 1, ranks, set).warnings;
}

TEST(PinWarnings, AreSilentWhenAllIsWell) {
  EXPECT_THAT(warnings(server(2, 16, 2), 2, {}), IsEmpty());
  EXPECT_THAT(warnings(server(2, 16, 2), 4, {}), IsEmpty());
  EXPECT_THAT(warnings(server(2, 4), 2, {{"I_MPI_PIN_DOMAIN", "socket"}}), IsEmpty());
  EXPECT_THAT(warnings(server(2, 4), 2, {{"I_MPI_PIN", "off"}}), IsEmpty());
}

TEST(PinWarnings, CountThreadsAndWorkersOnCores) {
  // A typical job: two ranks with 24 threads and 2 workers each on 32 cores.
  EXPECT_THAT(warnings(server(1, 32, 2), 2, {{"OMP_NUM_THREADS", "24"}, {"CCL_WORKER_COUNT", "2"}}),
              ElementsAre("node1: 52 threads on 32 cores, 1.6 on each"));
  EXPECT_THAT(warnings(server(1, 32), 1, {{"I_MPI_PIN_DOMAIN", "[2]"}, {"OMP_NUM_THREADS", "28"}}),
              Contains("node1: 28 threads on 1 core, 28.0 on each"));
}

TEST(PinWarnings, NameCoresThatAreLeftIdle) {
  EXPECT_THAT(warnings(server(1, 32, 2), 1, {{"I_MPI_PIN_DOMAIN", "[0xfffffff0]"}}),
              ElementsAre("node1: 4 of 32 cores are left idle: CPUs 0-3,32-35"));
  // No warning if oneCCL was told to use these cores.
  EXPECT_THAT(warnings(server(1, 32, 2), 1,
                       {{"I_MPI_PIN_DOMAIN", "[0xfffffff0]"},
                        {"CCL_WORKER_COUNT", "4"},
                        {"CCL_WORKER_AFFINITY", "0-3"}}),
              ElementsAre("node1: 32 threads on 28 cores, 1.1 on each"));
}

TEST(PinWarnings, NameRanksFarFromTheirInterface) {
  EXPECT_THAT(
      warnings(server(2, 4), 1, {{"I_MPI_PIN_DOMAIN", "socket"}}),
      Contains("node1: rank 0 on the far socket of eth0; on the near one CPUs 4-7 are idle"));
  EXPECT_THAT(warnings(server(2, 4), 1, {{"I_MPI_PIN_DOMAIN", "[f0,0f]"}}),
              ElementsAre("node1: 4 of 8 cores are left idle: CPUs 0-3"));
}

TEST(PinWarnings, NameLibrariesThatWereToldOtherCpus) {
  EXPECT_THAT(
      warnings(server(1, 4), 2, {{"GOMP_CPU_AFFINITY", "0-2"}}),
      ElementsAre("node1: rank 0: GOMP_CPU_AFFINITY names CPUs 2, outside of the rank's 0-1",
                  "node1: rank 1: GOMP_CPU_AFFINITY names CPUs 0-1, outside of the rank's 2-3"));
  EXPECT_THAT(warnings(server(1, 4), 1, {{"KMP_AFFINITY", "explicit,proclist=[0-7:2]"}}),
              ElementsAre(HasSubstr("KMP_AFFINITY names CPUs 4,6")));
  EXPECT_THAT(warnings(server(1, 4), 1, {{"KMP_AFFINITY", "granularity=fine,compact,1,0"}}),
              IsEmpty());
  EXPECT_THAT(warnings(server(1, 4), 1, {{"CCL_WORKER_AFFINITY", "3"}}),
              Contains("node1: rank 0: oneCCL's workers run on its CPUs 3"));
}

TEST(PinWarnings, FoldWhatAllNodesHave) {
  EXPECT_THAT(plan_on(server(1, 4), 5, 1, {{"I_MPI_PIN_DOMAIN", "[3]"}}).warnings,
              ElementsAre("node1, node2, node3, node4 and 1 more: 2 of 4 cores are left idle: CPUs "
                          "2-3"));
}

TEST(CommCores, AreExportedToOneCclAndLibdtring) {
  Request request;
  const JobPlan plan = plan_on(server(2, 16, 2), 1, 2, {});
  for (const RankPlan& rank : plan.nodes[0].ranks) {
    EXPECT_THAT(rank.environment, Contains("CCL_WORKER_COUNT=2"));
    EXPECT_THAT(rank.environment, Contains("CCL_WORKER_AFFINITY=0,32,16,48"));
  }
  EXPECT_THAT(plan.nodes[0].ranks[0].environment, Contains("DTRING_COMM_CPUS=0,32"));
  EXPECT_THAT(plan.nodes[0].ranks[1].environment, Contains("DTRING_COMM_CPUS=16,48"));
  EXPECT_THAT(plan.nodes[0].ranks[1].environment, Contains("OMP_NUM_THREADS=15"));
  EXPECT_EQ(plan.nodes[0].ranks[1].memory, MemoryPolicy::kPreferred);
  EXPECT_THAT(plan.nodes[0].ranks[1].memory_nodes, ElementsAre(1));
}

// 64 CPUs, 32 cores, 4 of them for communication.
TEST(CommCores, OfTheSeedsMachine) {
  Request request;
  request.programs[0].command = {"python3"};
  request.pinning.comm_cores = 4;
  request.placement.ranks = 1;
  const JobPlan plan = make_job_plan(request, {server(1, 32, 2)}, place_ranks(request, {32}),
                                     {{{"127.0.0.1", "lo"}}, 28000}, "0123456789abcdef");
  const RankPlan& rank = plan.nodes[0].ranks[0];
  EXPECT_EQ(rank.cpus.to_list(), "4-31");
  EXPECT_EQ(rank.threads, 28);
  EXPECT_THAT(rank.environment, Contains("OMP_NUM_THREADS=28"));
  EXPECT_THAT(rank.environment, Contains("CCL_WORKER_COUNT=8"));
  EXPECT_THAT(rank.environment, Contains("CCL_WORKER_AFFINITY=0,1,2,3,32,33,34,35"));
}

// Two ranks with two workers each need four cores.
TEST(CommCores, AreAsManyAsOneCclsWorkers) {
  const JobPlan plan = plan_on(server(1, 32, 2), 1, 2, {{"CCL_WORKER_COUNT", "2"}});
  EXPECT_THAT(plan.nodes[0].ranks[0].environment,
              AllOf(Contains("OMP_NUM_THREADS=14"), Contains("CCL_WORKER_COUNT=2"),
                    Contains("CCL_WORKER_AFFINITY=0,1,16,17")));
  EXPECT_EQ(plan.nodes[0].ranks[1].cpus.to_list(), "18-31");
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(JobTable, ShowsPinsInEightyColumns) {
  const std::string table = to_table(plan_on(server(2, 28, 2), 4, 2, {}), 80);
  for (const std::string& line : split(table, '\n')) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(table, HasSubstr(R"(
node1  10.0.0.1 on eth0 (NUMA 1)
  2 ranks, 56 cores, 112 CPUs, 2 sockets, 2 NUMA nodes, 128 GiB
    rank  local  threads  NUMA   NIC   CPUs
       0      0       27  0      far   1-27; communication: 0,56
       1      1       27  1      near  29-55; communication: 28,84

node2  10.0.0.2 on eth0 (NUMA 1)  as node1: ranks 2-3
node3  10.0.0.3 on eth0 (NUMA 1)  as node1: ranks 4-5
node4  10.0.0.4 on eth0 (NUMA 1)  as node1: ranks 6-7
)"));
}

}  // namespace
}  // namespace dtl::pin_warnings_test
