// A faulty or fake agent cannot flood the screen or the launcher's memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/limits.h"
#include "launcher/session/notice_budget.h"
#include "tests/launcher/session_fixture.h"

namespace dtl::bad_agent_test {
namespace {

using namespace testing_support;
using testing::HasSubstr;

class BadAgent : public SessionTest {
 protected:
  // n2 runs this when told to start; n1 is healthy.
  SessionResult run_with(std::function<void(const RankSpec&, Connection&)> evil) {
    agents_["n1"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(0));
    agents_["n2"].behaviour = healthy(evil, end_when_stopped(1));
    return run();
  }
};

TEST_F(BadAgent, HasItsNoticesCutAndCounted) {
  constexpr int kNotices = 500;
  const SessionResult result = run_with([](const RankSpec& spec, Connection& connection) {
    for (int i = 0; i < kNotices; ++i) connection.send(Notice{std::string(800, 'x')});
    exit_with(connection, spec.rank, 3);
  });
  EXPECT_EQ(result.job.outcome->exit_status, 3);
  EXPECT_THAT(errors_, HasSubstr("n2: 450 notices of its agent left out\n"));
  EXPECT_LT(errors_.size(), 60U * 1000);
  EXPECT_LT(result.messages.size(), NoticeBudget::kMost + 10U);
}

// A job of 1,000 hosts must not print 1,000 lines for one reason.
TEST_F(SessionTest, SaysOfManyHostsAtOnceWhyTheyDidNotStart) {
  request_.hosts.clear();
  for (int i = 1; i <= 6; ++i) {
    const std::string name = "n" + std::to_string(i);
    request_.hosts.emplace_back().name = name;
    agents_[name] = {{}, DTL_VERSION, two_cores(), {}};
    if (i > 1) unreachable_[name] = Exit::kAuth;
  }
  ranks_do([](const RankSpec&, Connection&) {});
  run();
  EXPECT_THAT(errors_, HasSubstr("n[2-6]: cannot connect: no route. Try: ping\n"));
  EXPECT_THAT(errors_, testing::Not(HasSubstr("n3: cannot connect")));
}

TEST_F(BadAgent, IsEndedWhenItSendsMoreOutputThanItMay) {
  constexpr std::size_t kAtOnce = 12 << 20;  // less than the limit that closes the connection
  bool started = false;
  const auto flood = [](Connection& connection) {
    while (connection.queued_bytes() < kAtOnce) {
      print(connection, 1, Stream::kStdout, std::string(kMaxOutputBytes, 'x'));
    }
  };
  agents_["n1"].behaviour = healthy([](const RankSpec&, Connection&) {}, end_when_stopped(0));
  agents_["n2"].behaviour = healthy([&](const RankSpec&, Connection&) { started = true; },
                                    [&](const Message&, Connection& connection) {
                                      if (started) flood(connection);
                                      return true;
                                    });
  // Nobody reads before the job ends.
  std::atomic<bool> ending = false;
  options_.hooks.state = [&](JobState state) {
    ending = ending || state >= JobState::kStopping;
    ending.notify_all();
  };
  std::jthread reader([&] {
    ending.wait(false);
    read_all(out_.read_end);
  });
  request_.ending.timeout = 20s;
  EXPECT_EQ(run().job.outcome->cause, Cause::kAgentFailed);
  EXPECT_THAT(errors_, HasSubstr("n2: the agent failed: it sends more output than it may"));
}

TEST_F(BadAgent, IsEndedWhenItSkipsWithoutEnd) {
  const SessionResult result = run_with([](const RankSpec& spec, Connection& connection) {
    for (int i = 0; i < 1000; ++i) {
      connection.send(Skipped{spec.rank, Stream::kStdout, 1, "/somewhere"});
    }
  });
  EXPECT_EQ(result.job.outcome->cause, Cause::kAgentFailed);
  EXPECT_THAT(errors_, HasSubstr("n2: the agent failed: it says again and again"));
}

TEST_F(BadAgent, ThatCannotGoOnBeforeItsHelloSaysWhy) {
  agents_["n2"].trouble = "its job-keeper (process 7) was killed";
  const SessionResult result = run_with([](const RankSpec&, Connection&) {});
  EXPECT_EQ(result.job.outcome->cause, Cause::kCannotStart);
  EXPECT_EQ(result.job.outcome->exit_status, static_cast<int>(Exit::kOs));
  EXPECT_THAT(errors_, HasSubstr("n2: cannot start agent: its job-keeper (process 7) was killed"));
}

TEST_F(BadAgent, DoesNotSpeakForTheRanksOfOthers) {
  const SessionResult result = run_with([](const RankSpec&, Connection& connection) {
    for (const std::uint32_t rank : {0U, 60000U}) {
      connection.send(StdinTaken{rank, 1});
      connection.send(Output{rank, Stream::kStdout, "forged\n"});
      exit_with(connection, rank, 0);
    }
  });
  EXPECT_EQ(result.job.outcome->cause, Cause::kAgentFailed);
  EXPECT_EQ(output_, "");
}

TEST(NoticeBudget, CutsWhatIsTooLong) {
  NoticeBudget budget;
  std::string umlauts;
  while (umlauts.size() <= NoticeBudget::kMaxBytes) umlauts += "\xc3\xbc";
  const std::string shown = budget.admit("x" + umlauts, JobTime(0)).value();
  EXPECT_EQ(shown.size(), NoticeBudget::kMaxBytes + 2);
  EXPECT_TRUE(shown.ends_with("\xbc..."));
}

TEST(NoticeBudget, GrowsAgainWithTime) {
  NoticeBudget budget;
  for (int i = 0; i < NoticeBudget::kMost; ++i) EXPECT_TRUE(budget.admit("a", JobTime(0)));
  EXPECT_THAT(budget.admit("a", JobTime(0)).value_or(""), HasSubstr("too many notices"));
  EXPECT_FALSE(budget.admit("a", JobTime(0)));
  EXPECT_FALSE(budget.admit("a", NoticeBudget::kRefill - JobTime(1)));
  EXPECT_TRUE(budget.admit("a", NoticeBudget::kRefill));
  EXPECT_FALSE(budget.admit("a", NoticeBudget::kRefill));
  EXPECT_EQ(budget.left_out(), 4u);
}

}  // namespace
}  // namespace dtl::bad_agent_test
