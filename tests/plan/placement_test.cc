#include "plan/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl::placement_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Request request_for(const std::vector<std::optional<int>>& slots) {
  Request request;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Host host;
    host.name = "n" + std::to_string(i);
    host.slots = slots[i];
    request.hosts.push_back(host);
  }
  return request;
}

// The host of each rank, in rank order.
std::vector<int> hosts_of(const Request& request, const std::vector<int>& cores) {
  std::vector<int> hosts;
  for (const RankPlace& place : place_ranks(request, cores)) {
    EXPECT_EQ(place.rank, static_cast<int>(hosts.size()));
    hosts.push_back(place.host);
  }
  return hosts;
}

std::string error_of(const Request& request, const std::vector<int>& cores) {
  try {
    place_ranks(request, cores);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Placement, FillsEachHostBeforeTheNext) {
  Request request = request_for({2, 3});
  EXPECT_THAT(hosts_of(request, {8, 8}), ElementsAre(0, 0, 1, 1, 1));
  request.placement.ranks = 3;
  EXPECT_THAT(hosts_of(request, {8, 8}), ElementsAre(0, 0, 1));
}

TEST(Placement, OfARangeItMakesAsManyRanksAsThereAreSlotsFor) {
  Request request = request_for({2, 1});
  request.placement.rank_range = {2, 5};
  EXPECT_THAT(hosts_of(request, {8, 8}), ElementsAre(0, 0, 1));
  request.placement.rank_range = {1, 2};
  EXPECT_THAT(hosts_of(request, {8, 8}), ElementsAre(0, 0));
  request.placement.rank_range = {4, 5};
  EXPECT_EQ(error_of(request, {8, 8}),
            "-np 4: needs 1 more slot: 2 hosts offer 3. Try: -np 3, or "
            "--oversubscribe");
  request.placement.oversubscribe = true;
  EXPECT_EQ(hosts_of(request, {8, 8}).size(), 5U);
}

TEST(Placement, NumbersRanksWithinTheirHost) {
  const std::vector<RankPlace> places = place_ranks(request_for({2, 1}), {8, 8});
  EXPECT_EQ(places[1].local_rank, 1);
  EXPECT_EQ(places[1].local_size, 2);
  EXPECT_EQ(places[2].local_rank, 0);
  EXPECT_EQ(places[2].local_size, 1);
}

// Hosts 0 and 2 are the same machine.
TEST(Placement, NumbersRanksThroughAllNamesOfTheirNode) {
  const std::vector<RankPlace> places = place_ranks(request_for({2, 1, 1}), {8, 8, 8}, {0, 1, 0});
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places[2].host, 1);
  EXPECT_EQ(places[3].host, 0);
  EXPECT_EQ(places[3].local_rank, 2);
  EXPECT_EQ(places[0].local_size, 3);
}

TEST(Placement, GivesCoresOnceWhateverTheNames) {
  const auto size = [](const Request& request) {
    return place_ranks(request, {8, 4, 8}, {0, 1, 0}).size();
  };
  EXPECT_EQ(size(request_for({std::nullopt, std::nullopt, std::nullopt})), 12u);
  EXPECT_EQ(size(request_for({std::nullopt, std::nullopt, 2})), 12u);
  EXPECT_EQ(size(request_for({10, std::nullopt, std::nullopt})), 14u);
  Request request = request_for({1, 1, 1});
  request.placement.ranks_per_node = 2;
  EXPECT_EQ(size(request), 6u);
}

TEST(Placement, CountsMappedHostsAsTheyAreNamed) {
  Request request = request_for({1, 1, 1});
  request.placement.rank_map = {2, 1, 0};
  const std::vector<RankPlace> places = place_ranks(request, {8, 8, 8}, {0, 1, 0});
  EXPECT_EQ(places[0].host, 0);
  EXPECT_EQ(places[2].host, 0);
  EXPECT_EQ(places[2].local_rank, 1);
}

TEST(Placement, TakesPhysicalCoresWhereAHostNamesNoSlots) {
  EXPECT_THAT(hosts_of(request_for({std::nullopt, 1}), {3, 8}), ElementsAre(0, 0, 0, 1));
}

TEST(Placement, LetsPpnOverruleSlots) {
  Request request = request_for({8, 1, 4, 4});
  request.placement.ranks_per_node = 2;
  EXPECT_THAT(hosts_of(request, {1, 1, 1, 1}), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(Placement, UsesTheFirstHostsOnlyWhenFewRanksAreAskedFor) {
  Request request = request_for({2, 2, 2, 2});
  request.placement.ranks = 2;
  request.placement.ranks_per_node = 1;
  EXPECT_THAT(hosts_of(request, {8, 8, 8, 8}), ElementsAre(0, 1));
}

TEST(Placement, DealsRanksInTurnWhileThereIsRoom) {
  Request request = request_for({2, 4, 1});
  request.placement.deal = 1;
  EXPECT_THAT(hosts_of(request, {8, 8, 8}), ElementsAre(0, 1, 2, 0, 1, 1, 1));
  request.placement.deal = 2;
  EXPECT_THAT(hosts_of(request, {8, 8, 8}), ElementsAre(0, 0, 1, 1, 2, 1, 1));
  request.placement.ranks = 3;
  request.placement.deal = 1;
  EXPECT_THAT(hosts_of(request, {8, 8, 8}), ElementsAre(0, 1, 2));
  EXPECT_EQ(place_ranks(request_for({2, 4, 1}), {8, 8, 8}).size(), 7u);
}

TEST(Placement, NumbersDealtRanksWithinTheirHost) {
  Request request = request_for({2, 2});
  request.placement.deal = 1;
  const std::vector<RankPlace> places = place_ranks(request, {8, 8});
  EXPECT_EQ(places[2].host, 0);
  EXPECT_EQ(places[2].local_rank, 1);
  EXPECT_EQ(places[2].local_size, 2);
}

TEST(Placement, FollowsARankMap) {
  Request request = request_for({1, 1, 1});
  request.placement.rank_map = parse_rank_map("2, 0,0");
  EXPECT_THAT(hosts_of(request, {8, 8, 8}), ElementsAre(2, 0, 0));
  EXPECT_THAT(parse_rank_map("(0,2,2),(5,1,1),3"), ElementsAre(0, 0, 1, 1, 5, 3));
  EXPECT_THAT(parse_rank_map("(vector,(0,2,1))"), ElementsAre(0, 1));
  request.placement.rank_map = {0, 3};
  EXPECT_EQ(error_of(request, {8, 8, 8}),
            "-rankmap: host 3 does not exist: the hosts have the numbers 0 to 2. "
            "Try: dtlaunch --dry-run, without -rankmap");
  request.placement.rank_map = {0, 1};
  request.placement.ranks = 3;
  EXPECT_EQ(error_of(request, {8, 8, 8}), "-rankmap: places 2 ranks, and -np says 3. Try: -np 2");
  for (const char* bad : {"", "a", "0,", "0,,1", "(0,1)", "(0,1,2", "(0,99999,99999)", "-1"}) {
    EXPECT_THROW(parse_rank_map(bad), Error) << bad;
  }
}

TEST(Placement, OversubscribesUpToMaxSlots) {
  Request request = request_for({1, 1, 1});
  request.placement.oversubscribe = true;
  request.hosts[0].max_slots = 2;
  request.hosts[2].max_slots = 1;
  request.placement.ranks = 6;
  EXPECT_THAT(hosts_of(request, {8, 8, 8}), ElementsAre(0, 0, 1, 1, 1, 2));
  request.hosts[1].max_slots = 2;
  EXPECT_EQ(error_of(request, {8, 8, 8}),
            "-np 6: 1 rank is left over: every host is at its max_slots. "
            "Try: -np 5, or -f FILE with more hosts");
}

TEST(Placement, OffersNoMoreThanMaxSlotsWithoutSlots) {
  Request request = request_for({1, 1});
  request.hosts[0].slots.reset();
  request.hosts[0].max_slots = 2;
  EXPECT_THAT(hosts_of(request, {8, 8}), ElementsAre(0, 0, 1));
  EXPECT_THAT(hosts_of(request, {1, 8}), ElementsAre(0, 1));  // one core
}

TEST(Placement, RefusesMoreRanksThanSlotsNamingTheShortfall) {
  Request request = request_for({2, 2});
  request.placement.ranks = 5;
  EXPECT_EQ(error_of(request, {64, 64}),
            "-np 5: needs 1 more slot: 2 hosts offer 4. "
            "Try: -np 4, or --oversubscribe");
  request.placement.ranks_per_node = 1;
  EXPECT_EQ(error_of(request, {64, 64}),
            "-np 5: needs 3 more slots: -ppn 1 on 2 hosts makes 2. "
            "Try: -np 2, or --oversubscribe");
}

TEST(Placement, SaysWhatThisMachineHas) {
  Request request;
  request.placement.ranks = 4;
  EXPECT_EQ(error_of(request, {2}),
            "-np 4: needs 2 more slots: this machine has 2 physical cores "
            "to give. Try: -np 2, or --oversubscribe");
}

TEST(Placement, SaysThatItIsAQuotaThatGivesSoFewCores) {
  Request request;
  request.placement.ranks = 4;
  NodeFacts machine;
  for (int i = 0; i < 4; ++i) machine.topology.allowed.add(i);
  EXPECT_EQ(place_ranks_on(request, {machine}).size(), 4U);
  machine.topology.quota_cpus = 1.5;
  try {
    place_ranks_on(request, {machine});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the CPU quota of dtlaunch's cgroup is 2 cores"));
  }
}

TEST(Placement, AsksWhetherAPortIsMeant) {
  Request request;
  request.hosts.resize(2);
  request.hosts[1].name = "node2";
  request.hosts[0].slots = 2;
  request.hosts[1].slots = 2222;
  try {
    place_ranks(request, {2, 2});
    ADD_FAILURE() << "2,222 ranks were placed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("node2: 2222 ranks on 2 cores"));
    EXPECT_THAT(error.what(),
                HasSubstr("looks like a port. Try: a hostfile with 'node2 port=2222'"));
  }
  request.placement.ranks = 4;  // as many as there are cores
  EXPECT_EQ(place_ranks(request, {2, 2}).size(), 4U);
  request.placement.ranks.reset();
  EXPECT_EQ(place_ranks(request, {2, 200}).size(), 2224U);
  request.placement.oversubscribe = true;
  EXPECT_EQ(place_ranks(request, {2, 2}).size(), 2224U);
  request.placement.oversubscribe = false;
  request.hosts[1].slots = 64;
  EXPECT_EQ(place_ranks(request, {2, 2}).size(), 66U);
}

TEST(Placement, DealsTheSurplusRoundRobinWhenOversubscribed) {
  Request request = request_for({2, 1});
  request.placement.ranks = 6;
  request.placement.oversubscribe = true;
  EXPECT_THAT(hosts_of(request, {8, 8}), ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST(Placement, RefusesMoreRanksThanAHostCanEnd) {
  Request request = request_for({4096, 1});
  EXPECT_EQ(hosts_of(request, {4096, 8}).size(), 4097U);
  request = request_for({4097, 1});
  EXPECT_EQ(
      error_of(request, {4097, 8}),
      request.hosts[0].name + ": it would have 4097 ranks, and a host takes 4096. Try: -ppn 4096");
}

TEST(Placement, RefusesNumbersThatAreNoneOrTooLarge) {
  Request request = request_for({2});
  request.placement.ranks = 0;
  EXPECT_EQ(error_of(request, {8}), "-np 0: too small (1 or more). Try: -np 1");
  request.placement.ranks = 70000;
  request.placement.oversubscribe = true;
  EXPECT_EQ(error_of(request, {8}), "-np 70000: 70000 ranks are more than 65535. Try: -np 65535");
  request.placement.ranks.reset();
  request.placement.ranks_per_node = 0;
  EXPECT_EQ(error_of(request, {8}), "-ppn 0: too small (1 or more). Try: -ppn 1");
}

}  // namespace
}  // namespace dtl::placement_test
