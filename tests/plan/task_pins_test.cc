#include "plan/pinning/task_pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/job_plan.h"
#include "tests/plan/invented_nodes.h"

namespace dtl::task_pins_test {
namespace {

using testing::ElementsAre;

NodeTopology bound_to(const std::vector<int>& cpus) {
  NodeTopology topology = invented_topology(1, 4);
  topology.allowed = CpuSet(cpus);
  return topology;
}

std::vector<std::string> pins_of(const std::vector<NodeTopology>& topologies) {
  std::vector<PinnedTask> tasks;
  for (const NodeTopology& topology : topologies) tasks.push_back({{}, &topology, "n1"});
  std::vector<std::string> pins;
  for (const NodePins& task : pin_tasks(tasks)) {
    EXPECT_EQ(task.domains.size(), 1u);
    pins.push_back(task.domains[0].cpus.to_list() + ", " + std::to_string(task.domains[0].threads));
  }
  return pins;
}

TEST(TaskPins, KeepToTheCpusOfEach) {
  EXPECT_THAT(pins_of({bound_to({0}), bound_to({1, 2, 3})}), ElementsAre("0, 1", "1-3, 3"));
  EXPECT_THAT(pins_of({bound_to({0, 1}), bound_to({1, 2})}), ElementsAre("0-1, 2", "1-2, 2"));
}

TEST(TaskPins, DivideWhatAllAreBoundTo) {
  EXPECT_THAT(pins_of({bound_to({0, 1, 2, 3}), bound_to({0, 1, 2, 3})}),
              ElementsAre("0-1, 2", "2-3, 2"));
  EXPECT_THAT(pins_of({bound_to({2, 3}), bound_to({2, 3})}), ElementsAre("2, 1", "3, 1"));
}

TEST(TaskPins, ShareTheMachinesQuota) {
  NodeTopology first = bound_to({0, 1}), second = bound_to({2, 3});
  first.quota_cpus = second.quota_cpus = 2;
  std::vector<PinnedTask> tasks = {{{}, &first, "n1"}, {{}, &second, "n1"}};
  for (const NodePins& task : pin_tasks(tasks)) EXPECT_EQ(task.domains[0].threads, 1);
}

bool has_variable(const RankPlan& rank, const std::string& line) {
  return std::find(rank.environment.begin(), rank.environment.end(), line) !=
         rank.environment.end();
}

NodeFacts task_on(const std::string& host, const std::vector<int>& cpus) {
  NodeFacts facts;
  facts.hostname = host;
  facts.topology = bound_to(cpus);
  return facts;
}

// Three tasks, the first and the last on one host, as with srun's cyclic distribution.
TEST(TaskPins, AreOfAPlanThatCountsLocalRanksByMachine) {
  Request request;
  request.hosts_are_tasks = true;
  request.programs[0].command = {"true"};
  for (const char* name : {"n1", "n2", "n1-task2"}) {
    Host& host = request.hosts.emplace_back();
    host.name = name;
    host.slots = 1;
  }
  const std::vector<NodeFacts> facts = {task_on("n1", {0}), task_on("n2", {0}), task_on("n1", {1})};
  const auto places = place_ranks(request, {4, 4, 4}, {0, 1, 0});
  const Network network{{{"10.0.0.1", "eth0"}, {"10.0.0.2", "eth0"}, {"10.0.0.1", "eth0"}}, 29999};
  const JobPlan plan = make_job_plan(request, facts, places, network, "0123456789abcdef");
  ASSERT_EQ(plan.nodes.size(), 3u);  // each has its own agent
  for (int k = 0; k < 3; ++k) {
    ASSERT_EQ(plan.nodes[static_cast<std::size_t>(k)].ranks.size(), 1u);
    EXPECT_EQ(plan.nodes[static_cast<std::size_t>(k)].host, k);
  }
  const RankPlan &first = plan.nodes[0].ranks[0], &second = plan.nodes[1].ranks[0];
  const RankPlan& last = plan.nodes[2].ranks[0];
  for (const char* line : {"RANK=2", "WORLD_SIZE=3", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2",
                           "GROUP_RANK=0", "GROUP_WORLD_SIZE=2", "DTLAUNCH_HOST=n1"}) {
    EXPECT_TRUE(has_variable(last, line)) << line;
  }
  for (const char* line : {"RANK=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1", "GROUP_RANK=1"}) {
    EXPECT_TRUE(has_variable(second, line)) << line;
  }
  EXPECT_EQ(first.cpus.to_list(), "0");
  EXPECT_EQ(last.cpus.to_list(), "1");
  EXPECT_THAT(plan.warnings, ElementsAre());
}

TEST(TaskPins, OfOneMachineAloneMayMeetAtLoopback) {
  Request request;
  request.hosts_are_tasks = true;
  request.programs[0].command = {"true"};
  for (const char* name : {"n1", "n1-task1"}) {
    Host& host = request.hosts.emplace_back();
    host.name = name;
    host.slots = 1;
  }
  const auto places = place_ranks(request, {4, 4}, {0, 0});
  const Network network{{{"127.0.0.1", "lo"}, {"127.0.0.1", "lo"}}, 29999};
  const JobPlan plan = make_job_plan(request, {task_on("n1", {0, 1}), task_on("n1", {0, 1})},
                                     places, network, "0123456789abcdef");
  EXPECT_EQ(plan.master_address, "127.0.0.1");
  EXPECT_EQ(plan.nodes[1].ranks[0].cpus.to_list(), "1");
}

}  // namespace
}  // namespace dtl::task_pins_test
