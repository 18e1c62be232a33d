#include "plan/core_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "tests/plan/invented_nodes.h"

namespace dtl::core_owners_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const char* const kAlices = "1a2b000000000000";

CpuSet range(int first, int last) {
  CpuSet cpus;
  for (int cpu = first; cpu <= last; ++cpu) cpus.add(cpu);
  return cpus;
}

CoreClaim claim(CpuSet cpus, bool shared = false) {
  return {kAlices, 1000, "alice", 7500, std::move(cpus), shared};
}

// 8 cores of one CPU each, unless said otherwise.
NodeFacts node(std::vector<CoreClaim> claims, int cores = 8, int threads_per_core = 1) {
  NodeFacts facts = invented_node(1, cores, threads_per_core);
  facts.claims = std::move(claims);
  return facts;
}

Request request_for(int hosts, std::optional<int> ranks) {
  Request request;
  for (int i = 1; i <= hosts; ++i) {
    Host host;
    host.name = "node" + std::to_string(i);
    request.hosts.push_back(host);
  }
  request.placement.ranks = ranks;
  request.programs[0].command = {"true"};
  return request;
}

JobPlan plan(const Request& request, const std::vector<NodeFacts>& facts) {
  const auto places = place_ranks_on(request, facts);
  std::set<int> used;
  for (const RankPlace& place : places) used.insert(place.host);
  Network network;
  for (std::size_t i = 0; i < used.size(); ++i) {
    network.nodes.push_back({"10.0.0." + std::to_string(i + 1), "eth0"});
  }
  network.master_port = 28000;
  return plan_beside_others(request, facts, places, network, "0123456789abcdef");
}

std::string refusal(const Request& request, const std::vector<NodeFacts>& facts) {
  try {
    plan(request, facts);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kTryAgain);
    return error.what();
  }
  return "not refused";
}

CpuSet pins(const NodePlan& node) {
  CpuSet all;
  for (const RankPlan& rank : node.ranks) all = all | rank.cpus;
  return all;
}

TEST(CoreOwners, LeaveAloneWhatNobodyHas) {
  const JobPlan alone = plan(request_for(1, 2), {node({})});
  EXPECT_EQ(pins(alone.nodes[0]), range(0, 7));
  EXPECT_THAT(alone.warnings, IsEmpty());
}

TEST(CoreOwners, TakeWhatOthersLeaveAndSaySo) {
  const JobPlan beside = plan(request_for(1, 2), {node({claim(range(0, 3))})});
  EXPECT_EQ(pins(beside.nodes[0]), range(4, 7));
  EXPECT_THAT(beside.warnings,
              ElementsAre("node1: left to others: job 1a2b of alice has had 4 of 8 cores for "
                          "2h05m"));
}

TEST(CoreOwners, RefuseWhatDoesNotFitWithWhoHasTheCores) {
  EXPECT_EQ(refusal(request_for(1, 5), {node({claim(range(0, 3))})}),
            "too few free cores: on node1 job 1a2b of alice has had 4 of 8 cores for 2h05m. Try: "
            "the same command with --wait, or with --share-cores to run beside them");
  EXPECT_THAT(refusal(request_for(1, 1), {node({claim(range(0, 7))})}), HasSubstr("8 of 8 cores"));
}

TEST(CoreOwners, AreAsManyAsThereAreFreeCoresWhereNobodySaysHowMany) {
  const Request request = request_for(2, {});
  EXPECT_EQ(plan(request, {node({claim(range(0, 7))}), node({claim(range(0, 2))})}).world_size, 5);
  const NodeFacts taken = node({claim(range(0, 7))});
  EXPECT_THAT(refusal(request, {taken, taken}), HasSubstr("too few free cores: on node1"));
}

TEST(CoreOwners, GoToTheNextHostThatIsFree) {
  Request request = request_for(3, 4);
  for (Host& host : request.hosts) host.slots = 4;
  const std::vector<NodeFacts> facts = {node({claim(range(0, 7))}), node({claim(range(0, 5))}),
                                        node({})};
  const JobPlan spread = plan(request, facts);
  ASSERT_EQ(spread.nodes.size(), 2U);
  EXPECT_EQ(spread.nodes[0].host_name, "node2");
  EXPECT_EQ(spread.nodes[0].ranks.size(), 2U);
  EXPECT_EQ(spread.nodes[1].host_name, "node3");
  request.placement.ranks_per_node = 4;
  const JobPlan whole = plan(request, facts);
  ASSERT_EQ(whole.nodes.size(), 1U) << "-ppn 4: four ranks on a host, or none";
  EXPECT_EQ(whole.nodes[0].host_name, "node3");
}

TEST(CoreOwners, HaveWholeCores) {
  // Cores of two CPUs each; the claim has one CPU of each of two cores.
  const NodeFacts facts = node({}, 4, 2);
  Request request = request_for(1, 1);
  request.pinning.bind_to = "hwthread";
  const JobPlan one = plan(request, {facts});
  const CoreWish wish = cores_to_claim(request, one.nodes[0], facts);
  EXPECT_EQ(wish.cpus, CpuSet(facts.topology.cores[0].cpus));
  EXPECT_FALSE(wish.shared);
}

TEST(CoreOwners, ClaimOnlyWhatTheNodeMayUse) {
  NodeFacts facts = node({}, 4, 2);
  facts.topology.allowed = CpuSet({facts.topology.cores[0].cpus[0]});
  const Request request = request_for(1, 1);
  EXPECT_EQ(cores_to_claim(request, plan(request, {facts}).nodes[0], facts).cpus,
            facts.topology.allowed);
}

TEST(CoreOwners, ShareOnRequest) {
  Request request = request_for(1, 2);
  const NodeFacts facts = node({claim(range(0, 7))});
  for (bool* option : {&request.placement.share_cores, &request.placement.oversubscribe}) {
    *option = true;
    const JobPlan shared = plan(request, {facts});
    EXPECT_EQ(pins(shared.nodes[0]), range(0, 7));
    EXPECT_TRUE(cores_to_claim(request, shared.nodes[0], facts).shared);
    EXPECT_THAT(shared.warnings, IsEmpty());
    EXPECT_THAT(shared.notes, Contains(HasSubstr("node1: shares its cores: job 1a2b of alice")));
    *option = false;
  }
}

TEST(CoreOwners, ShareFreeCoresFirst) {
  Request request = request_for(1, 2);
  request.placement.share_cores = true;
  request.pinning.bind_to = "core";
  const JobPlan free = plan(request, {node({claim(range(0, 3))})});
  EXPECT_EQ(pins(free.nodes[0]), range(4, 5));
  EXPECT_THAT(free.notes, Not(Contains(HasSubstr("shares its cores"))));
}

TEST(CoreOwners, KeepTheSizeOfPinsThatTheUserAsksFor) {
  Request request = request_for(1, 1);
  request.pinning.bind_to = "core:2";
  EXPECT_EQ(pins(plan(request, {node({claim(range(0, 5))})}).nodes[0]), range(6, 7));
  EXPECT_THAT(refusal(request, {node({claim(range(0, 6))})}), HasSubstr("7 of 8 cores"));
}

TEST(CoreOwners, SayWhyAHostGetsNoRank) {
  const JobPlan second = plan(request_for(2, 4), {node({claim(range(0, 7))}), node({})});
  ASSERT_EQ(second.nodes.size(), 1U);
  EXPECT_THAT(second.warnings, Contains("node1: left to others: job 1a2b of alice has had 8 of 8 "
                                        "cores for 2h05m"));
}

TEST(CoreOwners, DoNotCountWhoShares) {
  const JobPlan owner = plan(request_for(1, 2), {node({claim(range(0, 7), true)})});
  EXPECT_EQ(pins(owner.nodes[0]), range(0, 7));
  EXPECT_THAT(owner.warnings,
              ElementsAre(HasSubstr("shares its cores: job 1a2b of alice has shared 8 of 8")));
}

TEST(CoreOwners, RunInsideOfAJobOnItsCores) {
  Request request = request_for(1, 2);
  request.around = {kAlices};
  const JobPlan inner = plan(request, {node({claim(range(0, 7))})});
  EXPECT_EQ(pins(inner.nodes[0]), range(0, 7));
  EXPECT_THAT(inner.warnings, IsEmpty());
}

TEST(CoreOwners, AreNotPinnedWhereRanksAreNot) {
  Request request = request_for(1, 2);
  request.pinning.bind_to = "none";
  const NodeFacts facts = node({claim(range(0, 3))});
  const JobPlan free = plan(request, {facts});
  const CoreWish wish = cores_to_claim(request, free.nodes[0], facts);
  EXPECT_EQ(wish.cpus, range(0, 7));
  EXPECT_TRUE(wish.shared);
  EXPECT_THAT(free.warnings, ElementsAre(HasSubstr("shares its cores: job 1a2b of alice")));
}

TEST(CoreOwners, NameWhoHasThePinsThatTheUserAsksFor) {
  Request request = request_for(1, 2);
  request.pinning.bind_to = "user:0,1";
  EXPECT_THAT(refusal(request, {node({claim(range(0, 3))})}), HasSubstr("job 1a2b of alice"));
  request.pinning.bind_to = "user:4,5";
  EXPECT_EQ(pins(plan(request, {node({claim(range(0, 3))})}).nodes[0]), range(4, 5));
}

// What is wrong without other jobs, too, is not their fault.
TEST(CoreOwners, BlameOthersOnlyForWhatTheyDo) {
  try {
    plan(request_for(1, 9), {node({claim(range(0, 3))})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage) << error.what();
  }
  Request request = request_for(1, 1);
  request.pinning.bind_to = "user:99";
  try {
    plan(request, {node({claim(range(0, 3))})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kConfig) << error.what();
  }
}

// slots=16 on 8 cores: the user wants two ranks on each core.
TEST(CoreOwners, LeaveAPartOfSlotsThatAreMoreThanTheCores) {
  Request request = request_for(1, 8);
  request.hosts[0].slots = 16;
  const JobPlan half = plan(request, {node({claim(range(0, 3))})});
  EXPECT_EQ(half.nodes[0].ranks.size(), 8U);
  EXPECT_EQ(pins(half.nodes[0]), range(4, 7));
  request.placement.ranks = 9;
  EXPECT_THAT(refusal(request, {node({claim(range(0, 3))})}), HasSubstr("too few free cores"));
}

TEST(CoreOwners, AreListedInALine) {
  std::vector<NodeFacts> facts(6, node({claim(range(0, 7))}));
  for (int job = 0; job < 5; ++job) facts[0].claims.push_back(claim(CpuSet({job})));
  facts[1].claims[0].user = "";
  facts[2].claims[0].user_id = UINT32_MAX;
  const std::string line = refusal(request_for(6, 1), facts);
  EXPECT_THAT(line, HasSubstr("3 more jobs; on node2"));
  EXPECT_THAT(line, HasSubstr("of user 1000 has had"));
  EXPECT_THAT(line, HasSubstr("of an unknown user has had"));
  EXPECT_THAT(line, HasSubstr("; and on 3 more hosts. Try"));
}

TEST(JobsAround, ComeFromTheRanksEnvironment) {
  EXPECT_THAT(jobs_around({}), IsEmpty());
  EXPECT_THAT(jobs_around({{"DTLAUNCH_JOBS_AROUND", kAlices}}), IsEmpty()) << "not in a job";
  EXPECT_THAT(jobs_around({{"DTLAUNCH_JOB", "00000000000000aa"},
                           {"DTLAUNCH_JOBS_AROUND", "1a2b000000000000:junk"}}),
              ElementsAre("00000000000000aa", kAlices));
}

}  // namespace
}  // namespace dtl::core_owners_test
