#include "plan/wanted_cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/plan/invented_nodes.h"

namespace dtl::wanted_cores_test {
namespace {

NodeFacts node(int cores, int threads_per_core = 1) {
  NodeFacts facts;
  facts.topology = invented_topology(1, cores, threads_per_core);
  CoreClaim claim{"1a2b000000000000", 1000, "alice", 1, facts.topology.allowed};
  facts.claims = {claim};
  return facts;
}

Request request_for(int hosts, int ranks) {
  Request request;
  for (int host = 1; host <= hosts; ++host) {
    request.hosts.emplace_back().name = "node" + std::to_string(host);
  }
  request.programs[0].command = {"true"};
  request.placement.ranks = ranks;
  return request;
}

std::vector<int> cores_of(const std::vector<TicketWish>& wanted) {
  std::vector<int> cores;
  for (const TicketWish& each : wanted) cores.push_back(each.cores);
  return cores;
}

TEST(WantedCores, AreOneForEachRankWithoutPins) {
  EXPECT_THAT(cores_of(wanted_cores(request_for(1, 3), {node(8)})), testing::ElementsAre(3));
}

TEST(WantedCores, AreAsManyOnHostsThatMayTakeTheRanksInstead) {
  Request request = request_for(3, 4);
  request.placement.ranks_per_node = 2;
  EXPECT_THAT(cores_of(wanted_cores(request, {node(8), node(8), node(8)})),
              testing::ElementsAre(2, 2, 2));
  EXPECT_THAT(cores_of(wanted_cores(request, {node(8), node(8), node(2)})),
              testing::ElementsAre(2, 2, 2));
}

TEST(WantedCores, SayWhetherEveryHostIsNeeded) {
  EXPECT_TRUE(needs_every_host(request_for(1, 3), {node(8)}));
  EXPECT_FALSE(needs_every_host(request_for(2, 8), {node(8), node(8)}));
  EXPECT_TRUE(needs_every_host(request_for(2, 9), {node(8), node(8)}));
  // The last host gets the fewest ranks, but the first one is missed least.
  EXPECT_FALSE(needs_every_host(request_for(3, 5), {node(2), node(2), node(10)}));
  Request request = request_for(3, 4);
  request.placement.ranks_per_node = 2;
  EXPECT_FALSE(needs_every_host(request, {node(8), node(8), node(8)}));
  request.placement.ranks = 6;
  EXPECT_TRUE(needs_every_host(request, {node(8), node(8), node(8)}));
}

TEST(WantedCores, FollowTheUsersPins) {
  Request request = request_for(1, 2);
  request.pinning.bind_to = "core:2";
  const auto wanted = wanted_cores(request, {node(8, 2)});
  EXPECT_THAT(cores_of(wanted), testing::ElementsAre(4));
  EXPECT_TRUE(wanted[0].cpus.empty()) << "any four will do";
}

TEST(WantedCores, NameTheCpusThatTheUserNames) {
  Request request = request_for(1, 2);
  request.pinning.bind_to = "user:3,5";
  const auto wanted = wanted_cores(request, {node(8)});
  EXPECT_EQ(wanted[0].cpus, CpuSet({3, 5}));
  EXPECT_EQ(wanted[0].cores, 2);
}

TEST(WantedCores, RefuseWhatWouldNotStartOnFreeHostsEither) {
  EXPECT_THROW(wanted_cores(request_for(1, 9), {node(8)}), Error);
}

}  // namespace
}  // namespace dtl::wanted_cores_test
