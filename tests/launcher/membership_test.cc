#include "launcher/restart/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "tests/launcher/named_hosts.h"

namespace dtl::membership_test {
namespace {

using namespace std::chrono_literals;
using named_hosts::hosts;
using named_hosts::names;
using testing::ElementsAre;
using testing::IsEmpty;

Membership members(int least, int most, const std::vector<std::string>& used,
                   const std::vector<std::string>& spares = {}) {
  Membership job;
  job.range = {least, most};
  job.hosts = hosts(used);
  job.spares = hosts(spares);
  begin_epoch(job, static_cast<int>(used.size()), 0s);
  return job;
}

void lose(Membership& job, const std::string& name, JobTime now) {
  lose_hosts(job, hosts({name}), {name}, now);
  begin_epoch(job, static_cast<int>(job.hosts.size()), now);
}

// All hosts that it asks answer.
std::optional<HostsChange> look(Membership& job, JobTime now) {
  const std::vector<Host> asked = hosts_to_ask(job, now);
  note_answers(job, asked, std::vector<bool>(asked.size(), true));
  return change_of_hosts(job, now);
}

// When it joins, with one look per second; 0: not within two hours.
JobTime joins_at(Membership& job, JobTime now) {
  for (JobTime at = now; at < now + 2h; at += 1s) {
    if (const auto change = look(job, at)) {
      apply_change(job, *change, at);
      begin_epoch(job, static_cast<int>(job.hosts.size()), at);
      return at;
    }
  }
  return 0s;
}

TEST(Membership, ALostHostLeavesItsPlaceToASpareOneOrToNobody) {
  Membership job = members(1, 3, {"a", "b", "c"}, {"d"});
  lose(job, "b", 60s);
  EXPECT_THAT(names(job.hosts), ElementsAre("a", "d", "c"));
  lose(job, "a", 120s);
  EXPECT_THAT(names(job.hosts), ElementsAre("d", "c"));
  EXPECT_THAT(names(job.away), ElementsAre("b", "a"));
  EXPECT_EQ(too_few_hosts(job), "");
}

TEST(Membership, AHostThatHasToGoIsNotTakenBackBeforeItHasGone) {
  Membership job = members(1, 2, {"a", "b"});
  lose(job, "b", 60s);
  note_departure(job, "b", 240s);
  EXPECT_THAT(hosts_to_ask(job, 100s), IsEmpty()) << "it would still answer";
  EXPECT_EQ(joins_at(job, 100s), 240s);
}

TEST(Membership, FewerThanAllowedIsTheEnd) {
  Membership job = members(2, 3, {"a", "b"});
  lose(job, "b", 60s);
  EXPECT_EQ(too_few_hosts(job), "1 host is left, and --nnodes 2:3 needs 2");
  job.range.least = 1;
  EXPECT_EQ(too_few_hosts(job), "");
  lose(job, "a", 61s);
  EXPECT_EQ(too_few_hosts(job), "no host is left");
}

TEST(Membership, ALostHostJoinsOnceItAnswersAndTheEpochHasRunForAWhile) {
  Membership job = members(1, 3, {"a", "b", "c"});
  lose(job, "b", 100s);
  EXPECT_THAT(hosts_to_ask(job, 100s), IsEmpty());
  const std::vector<Host> asked = hosts_to_ask(job, 100s + kTakeBack);
  EXPECT_THAT(names(asked), ElementsAre("b"));
  note_answers(job, asked, {false});
  EXPECT_FALSE(change_of_hosts(job, 200s));
  note_answers(job, asked, {true});
  EXPECT_FALSE(change_of_hosts(job, 100s + kSettled - 1s));
  const auto change = change_of_hosts(job, 100s + kSettled);
  ASSERT_TRUE(change);
  EXPECT_THAT(change->joining, ElementsAre("b"));
  EXPECT_THAT(change->leaving, IsEmpty());
  apply_change(job, *change, 200s);
  EXPECT_THAT(names(job.hosts), ElementsAre("a", "c", "b"));
  EXPECT_THAT(job.away, IsEmpty());
}

TEST(Membership, NobodyJoinsBeyondTheMost) {
  Membership job = members(1, 2, {"a", "b"}, {"c"});
  lose(job, "b", 100s);  // c takes its place
  EXPECT_THAT(hosts_to_ask(job, 10h), IsEmpty());
  EXPECT_FALSE(look(job, 10h));
  lose(job, "a", 11h);
  const auto change = look(job, 12h);
  ASSERT_TRUE(change);
  EXPECT_THAT(change->joining, ElementsAre("b")) << "one place is free, two would come";
}

// It returns at once each time, and is lost again after 1 s.
TEST(Membership, AHostThatFlapsCausesNoStormOfRestarts) {
  Membership job = members(1, 2, {"a", "b"});
  JobTime now = 100s;
  std::vector<JobTime> waits;
  for (int i = 0; i < 9; ++i) {
    lose(job, "b", now);
    const JobTime joined = joins_at(job, now);
    ASSERT_GT(joined, 0s);
    waits.push_back(joined - now);
    now = joined + 1s;
  }
  for (std::size_t i = 1; i < waits.size(); ++i) EXPECT_GE(waits[i], waits[i - 1]);
  EXPECT_EQ(waits.front(), kSettled);
  EXPECT_EQ(waits.back(), kLongestTakeBack);
  // A host that was used for long starts with a clean record.
  now += 2 * kLongestTakeBack;
  lose(job, "b", now);
  EXPECT_LE(joins_at(job, now) - now, kLongestSettled);
}

TEST(Membership, HostsThatComeOneByOneStopTheRanksLessAndLessOften) {
  Membership job = members(1, 100, {"a"});
  std::vector<std::string> listed = {"a"};
  std::vector<JobTime> joined;
  for (JobTime now = 0s; now < 1h; now += 10s) {
    listed.push_back("n" + std::to_string(now.count()));
    list_hosts(job, hosts(listed), now);
    const auto change = look(job, now);
    if (!change) continue;
    apply_change(job, *change, now);
    begin_epoch(job, static_cast<int>(job.hosts.size()), now);
    joined.push_back(now);
  }
  ASSERT_GT(joined.size(), 3U);
  EXPECT_LT(joined.size(), 11U);
  for (std::size_t i = 2; i < joined.size(); ++i) {
    EXPECT_GE(joined[i] - joined[i - 1], joined[i - 1] - joined[i - 2]);
  }
}

TEST(Membership, AHostThatIsNoLongerListedLeavesAtOnce) {
  Membership job = members(1, 3, {"a", "b"});
  list_hosts(job, hosts({"a", "c"}), 5s);
  const auto change = look(job, 5s);
  ASSERT_TRUE(change);
  EXPECT_THAT(change->leaving, ElementsAre("b"));
  EXPECT_THAT(change->joining, ElementsAre("c")) << "the ranks are stopped anyway";
  apply_change(job, *change, 5s);
  EXPECT_THAT(names(job.hosts), ElementsAre("a", "c"));
  EXPECT_THAT(job.away, IsEmpty());
}

TEST(Membership, AHostThatIsNoLongerListedStaysWhereTooFewWouldBeLeft) {
  Membership job = members(2, 3, {"a", "b"});
  list_hosts(job, hosts({"a"}), 5s);
  EXPECT_FALSE(look(job, 1h));
  EXPECT_THAT(names(job.hosts), ElementsAre("a", "b"));
  list_hosts(job, hosts({"a", "b"}), 6s);  // again
  EXPECT_THAT(job.unlisted, IsEmpty());
}

// A scheduler ends nodes however few are left.
TEST(Membership, ANodeThatIsNoLongerListedLeavesHoweverFewAreLeft) {
  Membership job = members(2, 2, {"a", "b"});
  job.of_nodes = true;
  list_hosts(job, hosts({"a"}), 5s);
  const auto change = look(job, 5s);
  ASSERT_TRUE(change);
  EXPECT_THAT(change->leaving, ElementsAre("b"));
  apply_change(job, *change, 5s);
  EXPECT_EQ(too_few_hosts(job), "1 node is left, and the job needs 2");
}

TEST(Membership, WhoIsTakenBackBetweenTwoEpochsWaitsForNothing) {
  Membership job = members(2, 2, {"a", "b"});
  lose(job, "b", 5s);
  take_back(job, {"b", "stranger"}, 6s);
  EXPECT_THAT(names(job.hosts), ElementsAre("a", "b"));
  EXPECT_THAT(job.away, IsEmpty());
  EXPECT_EQ(job.growths, 0) << "it does not put off those that join";
}

TEST(Membership, OfThoseNoLongerListedAsManyLeaveAsTheRestCanSpare) {
  Membership job = members(3, 3, {"a", "b", "c"});
  list_hosts(job, hosts({"a", "d"}), 30s);
  const auto change = look(job, 30s);
  ASSERT_TRUE(change);
  EXPECT_THAT(change->joining, ElementsAre("d"));
  EXPECT_THAT(change->leaving, ElementsAre("b"));
  apply_change(job, *change, 30s);
  EXPECT_THAT(names(job.hosts), ElementsAre("a", "c", "d"));
  EXPECT_FALSE(look(job, 60s));
}

TEST(Membership, AHostThatIsNoLongerListedLeavesAJobThatHasAllItsRanks) {
  Membership job = members(1, 1, {"a"});
  job.of_ranks = true;
  list_hosts(job, hosts({"b"}), 30s);
  const auto change = look(job, 30s);
  ASSERT_TRUE(change) << "and would stay on it for good";
  EXPECT_THAT(change->leaving, ElementsAre("a"));
  EXPECT_THAT(change->joining, ElementsAre("b"));
}

TEST(Membership, RanksThatWereStoppedInVainAreLeftAloneForLongerNextTime) {
  Membership job = members(1, 2, {"a"});
  job.away = hosts({"b"});
  const auto nobody = [](const std::vector<Host>& asked) {
    return std::vector<bool>(asked.size(), false);
  };
  EXPECT_THAT(regroup(job, job.hosts, {}, look(job, 100s), nobody, 100s).joining, IsEmpty());
  EXPECT_EQ(job.growths, 1);
}

TEST(Membership, ASpareHostComesBeforeOneThatJoins) {
  Membership job = members(1, 2, {"a", "b"}, {"c"});
  lose(job, "a", 10s);
  ASSERT_THAT(names(job.hosts), ElementsAre("c", "b"));
  list_hosts(job, hosts({"c", "d", "e"}), 60s);  // not b, nor a
  EXPECT_THAT(look(job, 60s)->leaving, ElementsAre("b"));
  job.spares = hosts({"e"});
  std::erase_if(job.away, [](const Host& host) { return host.name == "e"; });
  const auto change = look(job, 60s);
  EXPECT_THAT(change->joining, IsEmpty());
  apply_change(job, *change, 60s);
  EXPECT_THAT(names(job.hosts), ElementsAre("c", "e"));
}

TEST(Membership, AHostThatIsLostAndNoLongerListedDoesNotComeBack) {
  Membership job = members(1, 3, {"a", "b", "c"});
  list_hosts(job, hosts({"a", "b"}), 5s);
  lose(job, "c", 6s);
  EXPECT_THAT(job.away, IsEmpty());
  EXPECT_THAT(job.unlisted, IsEmpty());
  lose(job, "b", 7s);
  list_hosts(job, hosts({"a"}), 8s);
  EXPECT_FALSE(look(job, 1h));
}

TEST(Membership, WhatTheListSaysAboutAHostCountsFromTheNextEpochOn) {
  Membership job = members(1, 3, {"a", "b"});
  std::vector<Host> listed = hosts({"a", "b"});
  listed[1].slots = 4;
  list_hosts(job, listed, 5s);
  EXPECT_EQ(job.hosts[1].slots, 4);
  EXPECT_FALSE(look(job, 1h)) << "which it does not begin";
}

TEST(Membership, OfRanksThereIsRoomUntilTheMostRun) {
  Membership job = members(2, 4, {"a", "b"});
  job.of_ranks = true;
  begin_epoch(job, 4, 0s);
  list_hosts(job, hosts({"a", "b", "c"}), 5s);
  EXPECT_FALSE(look(job, 1h));
  begin_epoch(job, 3, 0s);
  ASSERT_TRUE(look(job, 1h));
}

TEST(Membership, OnlyAHostThatCannotBeReachedMayComeLater) {
  Outcome outcome;
  outcome.cause = Cause::kHostsChanged;
  EXPECT_TRUE(is_change_of_hosts(outcome));
  outcome.cause = Cause::kCannotStart;
  outcome.exit_status = 69;
  EXPECT_FALSE(is_change_of_hosts(outcome)) << "no host's fault";
  outcome.node = 1;
  EXPECT_TRUE(is_change_of_hosts(outcome));
  outcome.exit_status = 77;
  EXPECT_FALSE(is_change_of_hosts(outcome)) << "its key is refused";
  outcome.cause = Cause::kNodeLost;
  EXPECT_FALSE(is_change_of_hosts(outcome)) << "a failure, which counts";
}

}  // namespace
}  // namespace dtl::membership_test
