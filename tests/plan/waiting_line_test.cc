#include "plan/line/waiting_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <climits>
#include <ctime>

#include "tests/plan/invented_nodes.h"

namespace dtl::waiting_line_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CpuSet range(int first, int last) {
  CpuSet cpus;
  for (int cpu = first; cpu <= last; ++cpu) cpus.add(cpu);
  return cpus;
}

Ticket ticket(const char* job, std::uint64_t arrival, int cores, std::uint64_t runs_s = 0) {
  Ticket one;
  one.job_id = job;
  one.user_id = 1000;
  one.user = "alice";
  one.arrival_ms = arrival;
  one.age_s = 75;
  one.cores = cores;
  one.runs_s = runs_s;
  return one;
}

Ticket particular(const char* job, std::uint64_t arrival, CpuSet cpus, std::uint64_t runs_s = 0) {
  Ticket one = ticket(job, arrival, 0, runs_s);
  one.cpus = std::move(cpus);
  return one;
}

CoreClaim claim(CpuSet cpus, std::uint64_t left_s = 0, const char* job = "runs") {
  CoreClaim one{job, 1000, "alice", 60, std::move(cpus)};
  one.left_s = left_s;
  return one;
}

// "job:CPUs" of each, on 8 cores of one CPU each unless said otherwise.
std::vector<std::string> kept(const std::vector<CoreClaim>& claims,
                              const std::vector<Ticket>& tickets, const Ticket* own = nullptr,
                              const NodeTopology& node = invented_topology(1, 8)) {
  std::vector<std::string> texts;
  for (const CoreClaim& one : keep_for_waiting(node, claims, tickets, own)) {
    EXPECT_TRUE(one.waits);
    EXPECT_FALSE(one.shared);
    texts.push_back(one.job_id + ":" + one.cpus.to_list());
  }
  return texts;
}

TEST(WaitingLine, IsInOrderOfArrivalThenOfJobs) {
  EXPECT_TRUE(goes_before(ticket("b", 1, 1), ticket("a", 2, 1)));
  EXPECT_TRUE(goes_before(ticket("a", 2, 1), ticket("b", 2, 1)));
  EXPECT_FALSE(goes_before(ticket("a", 2, 1), ticket("a", 2, 9))) << "no ticket is before itself";
  EXPECT_TRUE(goes_before(ticket("a", 0, 1), ticket("a", UINT64_MAX, 1)));
}

TEST(WaitingLine, KeepsNothingWithoutTickets) {
  EXPECT_THAT(kept({claim(range(0, 3))}, {}), IsEmpty());
}

TEST(WaitingLine, KeepsTheFirstFreeCoresInOrder) {
  EXPECT_THAT(kept({}, {ticket("later", 2, 3), ticket("first", 1, 2)}),
              ElementsAre("first:0-1", "later:2-4"));
  EXPECT_THAT(kept({claim(range(0, 1))}, {ticket("first", 1, 2)}), ElementsAre("first:2-3"));
}

TEST(WaitingLine, SaysWhoWaits) {
  const auto claims = keep_for_waiting(invented_topology(1, 8), {}, {ticket("a", 1, 2)}, nullptr);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].user, "alice");
  EXPECT_EQ(claims[0].user_id, 1000U);
  EXPECT_EQ(claims[0].age_s, 75U);
}

TEST(WaitingLine, KeepsWhatIsFreeForATicketThatNeedsMore) {
  EXPECT_THAT(kept({claim(range(0, 4))}, {ticket("first", 1, 6), ticket("next", 2, 1)}),
              ElementsAre("first:5-7"));
}

TEST(WaitingLine, KeepsOnlyForThoseBeforeOnesOwnTicket) {
  const std::vector<Ticket> line = {ticket("a", 1, 2), ticket("b", 2, 2), ticket("c", 3, 2)};
  EXPECT_THAT(kept({}, line, &line[0]), IsEmpty());
  EXPECT_THAT(kept({}, line, &line[1]), ElementsAre("a:0-1"));
  EXPECT_THAT(kept({}, line, &line[2]), ElementsAre("a:0-1", "b:2-3"));
}

TEST(WaitingLine, OrdersEqualArrivalsByJob) {
  const std::vector<Ticket> line = {ticket("b", 1, 2), ticket("a", 1, 2)};
  EXPECT_THAT(kept({}, line, &line[1]), IsEmpty());
  EXPECT_THAT(kept({}, line, &line[0]), ElementsAre("a:0-1"));
}

// An agent of the same job on the same machine, or somebody who says so.
TEST(WaitingLine, KeepsNothingForTicketsOfTheSameJobAndArrival) {
  const std::vector<Ticket> line = {ticket("a", 1, 2), ticket("a", 1, 4)};
  EXPECT_THAT(kept({}, line, &line[0]), IsEmpty());
  EXPECT_THAT(kept({}, line, &line[1]), IsEmpty());
}

TEST(WaitingLine, KeepsParticularCpus) {
  EXPECT_THAT(kept({}, {particular("a", 1, range(2, 3))}), ElementsAre("a:2-3"));
  EXPECT_THAT(kept({claim(range(2, 2))}, {particular("a", 1, range(2, 3))}), ElementsAre("a:3"));
  EXPECT_THAT(kept({}, {particular("a", 1, range(100, 200))}), IsEmpty()) << "none of this node";
}

// Who takes any cores leaves those that others want in particular.
TEST(WaitingLine, KeepsOtherCoresThanThoseWantedInParticular) {
  EXPECT_THAT(kept({}, {ticket("any", 1, 4), particular("these", 2, range(4, 7))}),
              ElementsAre("any:0-3", "these:4-7"));
  const Ticket own = particular("own", 3, range(0, 1));
  EXPECT_THAT(kept({}, {ticket("any", 1, 4)}, &own), ElementsAre("any:2-5"));
  const Ticket behind = particular("own", 3, range(0, 3));
  EXPECT_THAT(kept({}, {ticket("any", 1, 4), particular("these", 2, range(4, 7))}, &behind),
              ElementsAre("any:0-3", "these:4-7"))
      << "the order of the line decides";
}

// A job takes the first of the cores that are free for it.
TEST(WaitingLine, KeepsOtherCoresThanTheNextOnesTake) {
  const std::vector<Ticket> line = {ticket("a", 1, 2), ticket("b", 2, 3), ticket("c", 3, 1)};
  CpuSet taken;
  for (const Ticket& own : line) {
    CpuSet free = range(0, 7);
    for (const CoreClaim& one : keep_for_waiting(invented_topology(1, 8), {}, line, &own)) {
      free = free - one.cpus;
    }
    std::vector<int> first = free.to_vector();
    first.resize(static_cast<std::size_t>(own.cores));
    EXPECT_TRUE((taken & CpuSet(first)).empty()) << own.job_id;
    taken = taken | CpuSet(first);
  }
}

TEST(WaitingLine, KeepsWholeCoresOfTwoThreads) {
  const NodeTopology node = invented_topology(1, 4, 2);  // core i: CPUs i and i + 4
  EXPECT_THAT(kept({}, {ticket("a", 1, 1)}, nullptr, node), ElementsAre("a:0,4"));
  EXPECT_THAT(kept({}, {particular("a", 1, CpuSet({5}))}, nullptr, node), ElementsAre("a:1,5"));
  EXPECT_THAT(kept({claim(CpuSet({4}))}, {ticket("a", 1, 1)}, nullptr, node), ElementsAre("a:1,5"));
}

TEST(WaitingLine, KeepsOnlyWhatTheTicketsAgentMayUse) {
  Ticket narrow = ticket("narrow", 1, 4);
  narrow.usable = range(0, 1);
  EXPECT_THAT(kept({}, {narrow, ticket("next", 2, 6)}), ElementsAre("narrow:0-1", "next:2-7"));
}

TEST(WaitingLine, KeepsOnlyWhatOneMayUseOneself) {
  NodeTopology node = invented_topology(1, 8);
  node.allowed = range(0, 3);
  EXPECT_THAT(kept({}, {ticket("a", 1, 2), particular("b", 2, range(3, 5))}, nullptr, node),
              ElementsAre("a:0-1", "b:3"));
}

TEST(WaitingLine, KeepsNothingOfWhatIsTaken) {
  EXPECT_THAT(kept({claim(range(0, 7))}, {ticket("a", 1, 2)}), IsEmpty());
}

TEST(WaitingLine, DoesNotCountWhoShares) {
  CoreClaim shared = claim(range(0, 7));
  shared.shared = true;
  EXPECT_THAT(kept({shared}, {ticket("a", 1, 2)}), ElementsAre("a:0-1"));
}

TEST(WaitingLine, KeepsNothingForAJobThatHasStarted) {
  EXPECT_THAT(kept({claim(range(0, 1), 0, "a")}, {ticket("a", 1, 4), ticket("b", 2, 2)}),
              ElementsAre("b:2-3"));
  Ticket liar = ticket("a", 1, 4);
  liar.user_id = 1001;
  EXPECT_THAT(kept({claim(range(0, 1), 0, "a")}, {liar}), ElementsAre("a:2-5"))
      << "another user's job of the same name";
}

TEST(WaitingLine, LetsShortJobsOvertake) {
  const std::vector<CoreClaim> busy = {claim(range(0, 5), 600)};
  const std::vector<Ticket> line = {ticket("large", 1, 8)};
  Ticket own = ticket("short", 2, 2, 600);
  EXPECT_THAT(kept(busy, line, &own), IsEmpty()) << "exactly as long as the others";
  own.runs_s = 601;
  EXPECT_THAT(kept(busy, line, &own), ElementsAre("large:6-7"));
  own.runs_s = UINT64_MAX;
  EXPECT_THAT(kept(busy, line, &own), ElementsAre("large:6-7"));
  own.runs_s = 0;
  EXPECT_THAT(kept(busy, line, &own), ElementsAre("large:6-7")) << "a job without a limit";
}

TEST(WaitingLine, CountsTheCoresThatATicketStillNeeds) {
  const std::vector<CoreClaim> busy = {claim(range(0, 1), 100, "x"), claim(range(2, 5), 900, "y")};
  Ticket own = ticket("short", 2, 2, 101);
  EXPECT_THAT(kept(busy, {ticket("large", 1, 4)}, &own), ElementsAre("large:6-7"));
  EXPECT_THAT(kept(busy, {ticket("large", 1, 5)}, &own), IsEmpty()) << "needs a core of y";
}

TEST(WaitingLine, LetsNobodyOvertakeForJobsThatMayLeaveAtAnyMoment) {
  const Ticket own = ticket("short", 2, 2, 10);
  EXPECT_THAT(kept({claim(range(0, 5))}, {ticket("large", 1, 8)}, &own), ElementsAre("large:6-7"));
}

TEST(WaitingLine, LetsNobodyOvertakeWhoCouldStartNow) {
  const Ticket own = ticket("short", 2, 2, 10);
  EXPECT_THAT(kept({claim(range(0, 5), 600)}, {ticket("small", 1, 2)}, &own),
              ElementsAre("small:6-7"));
}

TEST(WaitingLine, LetsSeveralOvertakeUntilTheSameMoment) {
  const std::vector<Ticket> line = {ticket("large", 1, 8)};
  const std::vector<CoreClaim> busy = {claim(range(0, 3), 600, "x"), claim(range(4, 5), 600, "o")};
  Ticket own = ticket("second", 3, 2, 600);
  EXPECT_THAT(kept(busy, line, &own), IsEmpty());
  own.runs_s = 601;
  EXPECT_THAT(kept(busy, line, &own), ElementsAre("large:6-7"));
}

// The jobs behind a large one cannot start before it either, unless they may overtake it.
TEST(WaitingLine, LetsShortJobsOvertakeAllThatWaitForALargeOne) {
  const std::vector<CoreClaim> busy = {claim(range(0, 5), 600)};
  const Ticket own = ticket("short", 3, 2, 300);
  EXPECT_THAT(kept(busy, {ticket("large", 1, 8), ticket("small", 2, 2)}, &own), IsEmpty());
  EXPECT_THAT(kept(busy, {ticket("large", 1, 8), ticket("small", 2, 2, 500)}, &own),
              ElementsAre("small:6-7"))
      << "that one may overtake, too, and goes first";
  Ticket narrow = ticket("large", 1, 8);
  narrow.usable = range(0, 6);
  EXPECT_THAT(kept(busy, {narrow, ticket("small", 2, 1)}, &own), ElementsAre("small:7"))
      << "core 7 is not kept for the large one, so the small one could start there";
}

TEST(WaitingLine, JudgesParticularCpusByTheirOwners) {
  const std::vector<CoreClaim> busy = {claim(range(0, 0), 50, "x"), claim(range(1, 1), 500, "y")};
  const Ticket own = ticket("short", 2, 6, 100);
  EXPECT_THAT(kept(busy, {particular("a", 1, CpuSet({0, 2}))}, &own), ElementsAre("a:2"));
  EXPECT_THAT(kept(busy, {particular("a", 1, CpuSet({1, 2}))}, &own), IsEmpty());
}

// slots=16 on 8 cores, or a lie: it waits for all cores, and nobody starves it.
TEST(WaitingLine, TakesMoreThanTheNodeForAllOfIt) {
  const std::vector<Ticket> line = {ticket("huge", 1, INT_MAX), ticket("next", 2, 1)};
  EXPECT_THAT(kept({claim(range(0, 3), 60)}, line), ElementsAre("huge:4-7"));
  Ticket own = ticket("short", 3, 1, 61);
  EXPECT_THAT(kept({claim(range(0, 3), 60)}, line, &own), ElementsAre("huge:4-7"));
  own.runs_s = 60;
  EXPECT_THAT(kept({claim(range(0, 3), 60)}, line, &own), IsEmpty());
}

TEST(WaitingLine, KeepsNothingForTicketsThatWantNothing) {
  EXPECT_THAT(kept({}, {ticket("a", 0, 0), ticket("b", UINT64_MAX, -1), ticket("c", 1, INT_MIN)}),
              IsEmpty());
  const Ticket own = ticket("own", 5, 1, 10);
  EXPECT_THAT(kept({claim(range(0, 3), 60)}, {ticket("a", 0, INT_MIN)}, &own), IsEmpty());
}

TEST(WaitingLine, IsEmptyOnANodeWithoutCores) {
  EXPECT_THAT(kept({}, {ticket("a", 1, 4), particular("b", 2, range(0, 3))}, nullptr, {}),
              IsEmpty());
}

std::chrono::microseconds cpu_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

// The least of several tries: a sanitizer's or a neighbour's time is not the rule's.
std::chrono::microseconds time_of(const NodeTopology& node, const std::vector<CoreClaim>& claims,
                                  const std::vector<Ticket>& tickets, const Ticket& own) {
  auto least = std::chrono::microseconds::max();
  for (int i = 0; i < 5; ++i) {
    const auto start = cpu_time();
    keep_for_waiting(node, claims, tickets, &own);
    least = std::min(least, cpu_time() - start);
  }
  return least;
}

#if defined(DTL_SANITIZED) || !defined(__OPTIMIZE__)
constexpr int kSlowBuild = 20;
#else
constexpr int kSlowBuild = 1;
#endif

TEST(WaitingLine, IsQuickForThousandsOfTickets) {
  const NodeTopology node = invented_topology(2, 32, 2);
  std::vector<CoreClaim> claims;
  for (int core = 0; core < 63; ++core) claims.push_back(claim(range(core, core), 1000, "x"));
  // Each waits for the whole node, which `own` overtakes: all of them count until the end.
  std::vector<Ticket> any, these;
  for (int i = 0; i < 2000; ++i) {
    any.push_back(ticket("0123456789abcdef", static_cast<std::uint64_t>(2000 - i), 64));
    these.push_back(particular("0123456789abcdef", static_cast<std::uint64_t>(i), range(0, 16383)));
    these.back().usable = range(0, 127);
  }
  const Ticket own = ticket("own", 5000, 1, 10);
  const auto limit = std::chrono::microseconds(5000) * kSlowBuild;
  EXPECT_THAT(kept(claims, any, &own, node), IsEmpty());
  EXPECT_LT(time_of(node, claims, any, own), limit);
  EXPECT_LT(time_of(node, claims, these, own), limit);
}

}  // namespace
}  // namespace dtl::waiting_line_test
