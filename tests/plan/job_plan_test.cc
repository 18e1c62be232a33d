#include "plan/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "tests/plan/invented_nodes.h"

namespace dtl::job_plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Host host(const std::string& name, std::optional<int> slots, const std::string& where) {
  Host named;
  named.name = name;
  named.slots = slots;
  named.where = where;
  return named;
}

Request two_hosts() {
  Request request;
  request.hosts = {host("node01", 2, "hosts:1:1"), host("node02", 2, "hosts:2:1")};
  request.programs[0].command = {"dttrain", "--train_file", "a b.tsv"};
  request.programs[0].working_directory = "/home/u";
  return request;
}

const Network kTwoNodes = {{{"10.0.0.1", "eth0"}, {"10.0.0.2", "eth1"}}, 28123};

JobPlan plan_of(const Request& request, const std::vector<NodeFacts>& facts,
                const Network& network) {
  std::vector<int> cores(facts.size(), 64);
  return make_job_plan(request, facts, place_ranks(request, cores), network, "0123456789abcdef");
}

JobPlan two_node_plan(const Request& request) {
  return plan_of(request, {invented_node(1, 4), invented_node(1, 4)}, kTwoNodes);
}

bool has_variable(const RankPlan& rank, const std::string& line) {
  return std::find(rank.environment.begin(), rank.environment.end(), line) !=
         rank.environment.end();
}

TEST(JobPlan, SaysEverythingAboutEachRank) {
  const JobPlan plan = two_node_plan(two_hosts());
  EXPECT_EQ(plan.world_size, 4);
  EXPECT_EQ(plan.master_address, "10.0.0.1");
  EXPECT_EQ(plan.master_port, 28123);
  ASSERT_EQ(plan.nodes.size(), 2u);
  EXPECT_EQ(plan.nodes[1].host_name, "node02");
  EXPECT_EQ(plan.nodes[1].address, "10.0.0.2");
  const RankPlan& last = plan.nodes[1].ranks.at(1);
  EXPECT_EQ(last.rank, 3);
  EXPECT_EQ(last.local_rank, 1);
  EXPECT_EQ(last.cpus.to_list(), "2-3");
  EXPECT_EQ(last.threads, 2);
  EXPECT_EQ(last.arguments, two_hosts().programs[0].command);
  EXPECT_TRUE(has_variable(last, "RANK=3"));
  EXPECT_TRUE(has_variable(last, "GROUP_RANK=1"));
  EXPECT_TRUE(has_variable(last, "GLOO_SOCKET_IFNAME=eth1"));
  EXPECT_TRUE(has_variable(last, "OMP_NUM_THREADS=2"));
  EXPECT_THAT(plan.warnings, ElementsAre());
}

TEST(JobPlan, TellsAccelerateToUseTheCpuWhereNoNodeHasAnythingElse) {
  const Request request = two_hosts();
  std::vector<NodeFacts> facts = {invented_node(1, 4), invented_node(1, 4)};
  EXPECT_TRUE(has_variable(plan_of(request, facts, kTwoNodes).nodes[0].ranks[0],
                           "ACCELERATE_USE_CPU=true"));
  facts[1].accelerators = {"/dev/nvidia0"};
  EXPECT_FALSE(has_variable(plan_of(request, facts, kTwoNodes).nodes[0].ranks[0],
                            "ACCELERATE_USE_CPU=true"));
}

TEST(JobPlan, RefusesMoreRanksThanAnAgentHasDescriptorsFor) {
  const Request request = two_hosts();
  std::vector<NodeFacts> facts = {invented_node(1, 4), invented_node(1, 4)};
  facts[1].descriptors = 48;
  EXPECT_EQ(plan_of(request, facts, kTwoNodes).world_size, 4);
  facts[1].descriptors = 47;
  try {
    plan_of(request, facts, kTwoNodes);
    FAIL() << "it was not refused";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "node02: cannot start 2 ranks: its agent needs 48 descriptors, and may have 47. "
                 "Try: ssh node02 ulimit -Hn");
  }
}

TEST(JobPlan, TakesThreadsFromTheUserAndWarnsWhenTheyCrowd) {
  Request request = two_hosts();
  request.environment.set = {{"OMP_NUM_THREADS", "4"}};
  const JobPlan plan = two_node_plan(request);
  EXPECT_EQ(plan.nodes[0].ranks[0].threads, 4);
  EXPECT_TRUE(has_variable(plan.nodes[0].ranks[0], "MKL_NUM_THREADS=4"));
  EXPECT_THAT(plan.warnings, ElementsAre("node01, node02: 8 threads on 4 cores, 2.0 on each"));
}

TEST(JobPlan, TakesThreadsAsExportedAndSaysSo) {
  Request request = two_hosts();
  request.environment.inherited = {{"OMP_NUM_THREADS", "4"}, {"MASTER_PORT", "29500"}};
  const JobPlan plan = two_node_plan(request);
  EXPECT_EQ(plan.nodes[0].ranks[0].threads, 4);
  EXPECT_TRUE(has_variable(plan.nodes[0].ranks[0], "OMP_NUM_THREADS=4"));
  EXPECT_TRUE(has_variable(plan.nodes[0].ranks[0], "OPENBLAS_NUM_THREADS=4"));
  EXPECT_THAT(plan.warnings,
              ElementsAre("MASTER_PORT is exported and not used: it is of another job. "
                          "Try: -genv MASTER_PORT VALUE",
                          "node01, node02: 8 threads on 4 cores, 2.0 on each"));
  EXPECT_THAT(to_table(plan, 120),
              testing::HasSubstr("variables   MKL_NUM_THREADS, OPENBLAS_NUM_THREADS computed; "
                                 "OMP_NUM_THREADS exported\n"));
  request.pinning.threads = 1;
  EXPECT_EQ(two_node_plan(request).nodes[0].ranks[0].threads, 1);
}

TEST(JobPlan, GivesEachProgramItsOwnRanks) {
  Request request = two_hosts();
  request.programs.resize(2);
  request.programs[0].ranks = 3;
  request.programs[1] = {1, {"server"}, {{"OMP_NUM_THREADS", "1"}, {"ROLE", "s"}}, "/srv"};
  request.placement.ranks = 4;
  const JobPlan plan = two_node_plan(request);
  const RankPlan &third = plan.nodes[1].ranks[0], &fourth = plan.nodes[1].ranks[1];
  EXPECT_EQ(third.arguments, request.programs[0].command);
  EXPECT_EQ(third.threads, 2);
  EXPECT_FALSE(has_variable(third, "ROLE=s"));
  EXPECT_EQ(fourth.program, 1);
  EXPECT_EQ(fourth.working_directory, "/srv");
  EXPECT_THAT(fourth.arguments, ElementsAre("server"));
  EXPECT_TRUE(has_variable(fourth, "ROLE=s"));
  EXPECT_EQ(fourth.threads, 1);
}

// Horovod's cross ranks count the nodes that have this local rank.
TEST(JobPlan, CountsRanksAcrossNodes) {
  Request request = two_hosts();
  request.placement.ranks = 3;
  request.programs = {request.programs[0], request.programs[0]};
  request.programs[0].ranks = 1;
  request.programs[1].ranks = 2;
  request.environment.compat = {Dialect::kHorovod, Dialect::kOpenMpi};
  const JobPlan plan = two_node_plan(request);
  const RankPlan &first = plan.nodes[0].ranks[0], &second = plan.nodes[0].ranks[1];
  const RankPlan& third = plan.nodes[1].ranks[0];
  EXPECT_TRUE(has_variable(first, "HOROVOD_CROSS_RANK=0"));
  EXPECT_TRUE(has_variable(first, "HOROVOD_CROSS_SIZE=2"));
  EXPECT_TRUE(has_variable(second, "HOROVOD_CROSS_SIZE=1"));
  EXPECT_TRUE(has_variable(third, "HOROVOD_CROSS_RANK=1"));
  EXPECT_TRUE(has_variable(first, "OMPI_APP_CTX_NUM_PROCS=1"));
  EXPECT_TRUE(has_variable(third, "OMPI_APP_CTX_NUM_PROCS=2"));
}

TEST(JobPlan, DoesNotPinWhenToldSo) {
  Request request = two_hosts();
  request.pinning.enabled = false;
  const RankPlan rank = two_node_plan(request).nodes[0].ranks[0];
  EXPECT_TRUE(rank.cpus.empty());
  EXPECT_EQ(rank.threads, 2);
}

TEST(JobPlan, WarnsThatPpnOverrulesTheHostfile) {
  Request request = two_hosts();
  request.placement.ranks_per_node = 1;
  EXPECT_THAT(two_node_plan(request).warnings,
              ElementsAre("hosts:1:1: -ppn 1 overrules slots=2 of node01 and of 1 host more"));
}

TEST(JobPlan, WarnsOfHostsThatGetNoRank) {
  Request request = two_hosts();
  request.placement.ranks = 2;
  const JobPlan plan =
      plan_of(request, {invented_node(1, 4), invented_node(1, 4)}, {{{"127.0.0.1", "lo"}}, 28123});
  EXPECT_THAT(plan.warnings, ElementsAre("1 of 2 hosts gets no rank: node02"));
}

TEST(JobPlan, NamesTheFirstOfManyHostsInAWarning) {
  Request request = two_hosts();
  for (int i = 3; i <= 9; ++i) request.hosts.push_back(host("n" + std::to_string(i), 2, ""));
  request.placement.ranks = 4;
  const std::vector<NodeFacts> facts(request.hosts.size(), invented_node(1, 4));
  EXPECT_THAT(plan_of(request, facts, kTwoNodes).warnings,
              ElementsAre("7 of 9 hosts get no rank: n3, n4, n5, n6 and 3 more"));
}

TEST(JobPlan, NeverMeetsAtLoopbackAcrossNodes) {
  try {
    plan_of(two_hosts(), {invented_node(1, 4), invented_node(1, 4)},
            {{{"127.0.1.1", "lo"}, {"10.0.0.2", "eth1"}}, 28123});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kConfig);
    EXPECT_THAT(error.what(), HasSubstr("127.0.1.1 is this machine alone"));
  }
}

TEST(JobPlan, CallsThisMachineLocalhost) {
  Request request;
  request.programs[0].command = {"true"};
  request.placement.ranks = 2;
  const JobPlan plan = plan_of(request, {invented_node(1, 2)}, {{{"127.0.0.1", "lo"}}, 28123});
  EXPECT_EQ(plan.nodes.at(0).host_name, "localhost");
  EXPECT_TRUE(has_variable(plan.nodes[0].ranks[1], "MASTER_ADDR=127.0.0.1"));
}

TEST(JobPlan, RefusesWhatNoProgramCanBeGiven) {
  Request request = two_hosts();
  request.environment.set = {{"BIG", std::string(200000, 'x')}};
  EXPECT_THROW(two_node_plan(request), Error);
  request.environment.set.clear();
  request.programs[0].command.push_back(std::string(200000, 'x'));
  EXPECT_THROW(two_node_plan(request), Error);
}

TEST(JobTable, ShowsThePlan) {
  EXPECT_EQ(to_table(two_node_plan(two_hosts()), 80),
            R"(job         0123456789abcdef: 4 ranks on 2 nodes
master      10.0.0.1:28123
command     dttrain --train_file 'a b.tsv'
directory   /home/u
variables   MKL_NUM_THREADS, OMP_NUM_THREADS, OPENBLAS_NUM_THREADS computed

node01  10.0.0.1 on eth0
  2 ranks, 4 cores
    rank  local  threads  NUMA   NIC   CPUs
       0      0        2  0      -     0-1
       1      1        2  0      -     2-3

node02  10.0.0.2 on eth1  as node01: ranks 2-3
)");
}

TEST(JobTable, StaysWithinTheColumns) {
  Request request = two_hosts();
  request.placement.ranks_per_node = 1;
  for (int i = 0; i < 40; ++i)
    request.programs[0].command.push_back("--option_" + std::to_string(i));
  NodeFacts facts = invented_node(1, 96);
  CpuSet thirds;
  for (int cpu = 0; cpu < 96; cpu += 3) thirds.add(cpu);
  facts.topology.allowed = facts.topology.allowed - thirds;
  const JobPlan plan = plan_of(request, {facts, facts}, kTwoNodes);
  for (const int columns : {80, 200}) {
    for (const std::string& line : split(to_table(plan, columns), '\n')) {
      EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << line;
    }
  }
  EXPECT_LT(to_table(plan, 200).size(), to_table(plan, 80).size());
}

TEST(JobTable, ShowsNoSecrets) {
  Request request = two_hosts();
  request.environment.set = {{"HF_TOKEN", "hf_abcdef"}};
  request.programs[0].command = {"python3", "x.py", "--hub_token=hf_abcdef", "hf_abcdef"};
  const std::string table = to_table(two_node_plan(request), 80);
  EXPECT_THAT(table, Not(HasSubstr("hf_abcdef")));
  EXPECT_THAT(table, HasSubstr("'--hub_token=***'"));
}

TEST(JobTable, SaysWhenARankIsNotPinned) {
  Request request = two_hosts();
  request.pinning.enabled = false;
  EXPECT_THAT(to_table(two_node_plan(request), 80), HasSubstr("not pinned"));
}

}  // namespace
}  // namespace dtl::job_plan_test
