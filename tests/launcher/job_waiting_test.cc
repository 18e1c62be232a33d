#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/job_fixture.h"

namespace dtl::job_waiting_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kArrival = 1700000000000;

class JobWaits : public JobTest {
 protected:
  static job::MustWait must_wait() {
    TakeTicket ticket;
    ticket.cores = 2;
    return {{ticket, ticket}, "job 1a2b has them", "too few free cores: job 1a2b has them"};
  }
  std::vector<job::Effect> get_in_line() {
    start_agents();
    return feed(must_wait());
  }
  static CoresSeen seen() {
    CoresSeen message;
    message.arrival_ms = kArrival;
    return message;
  }
  static std::vector<std::uint64_t> arrivals(const std::vector<job::Effect>& effects) {
    std::vector<std::uint64_t> found;
    for (const auto& effect : effects) {
      const auto* send = std::get_if<job::Send>(&effect);
      const auto* ticket = send == nullptr ? nullptr : std::get_if<TakeTicket>(&send->message);
      if (ticket != nullptr) found.push_back(ticket->arrival_ms);
    }
    return found;
  }
};

TEST_F(JobWaits, LetsItsFirstNodeSayWhenItHasCome) {
  const auto effects = get_in_line();
  EXPECT_EQ(job_.state, JobState::kWaiting);
  EXPECT_THAT(sent<TakeTicket>(effects), ElementsAre(0));
  EXPECT_THAT(arrivals(effects), ElementsAre(0U));
  EXPECT_THAT(notices(effects), HasSubstr("waiting for free cores: job 1a2b has them"));
  const auto others = hear(0, seen());
  EXPECT_THAT(sent<TakeTicket>(others), ElementsAre(1));
  EXPECT_THAT(arrivals(others), ElementsAre(kArrival));
  EXPECT_EQ(count<job::PlaceRanks>(others), 0) << "node 1 has not answered";
}

TEST_F(JobWaits, PlacesItsRanksAgainWheneverWhatIsFreeChanges) {
  get_in_line();
  hear(0, seen());
  EXPECT_EQ(count<job::PlaceRanks>(hear(1, seen())), 1);
  EXPECT_THAT(notices(feed(must_wait())), Not(HasSubstr("waiting")));
  EXPECT_EQ(job_.state, JobState::kWaiting);
  EXPECT_THAT(pass(std::chrono::hours(1)), Not(IsEmpty()));  // heartbeats
  EXPECT_EQ(job_.state, JobState::kWaiting);
  EXPECT_EQ(count<job::PlaceRanks>(hear(1, seen())), 1);
  const auto effects = feed(job::Placed{{0, 1}, {{0, 1}, {2, 3}}});
  EXPECT_EQ(job_.state, JobState::kPreflight);
  EXPECT_EQ(count<job::PlaceRanks>(effects), 0);
  EXPECT_THAT(sent<Listen>(effects), ElementsAre(0, 1));
}

// Node 1 blocks it for 600 s, and short jobs may have the cores of node 0 until then.
TEST_F(JobWaits, TellsEachNodeHowLongTheOthersBlockIt) {
  const auto blocks = [](const std::vector<job::Effect>& effects) {
    std::vector<std::pair<int, std::uint64_t>> found;
    for (const auto& effect : effects) {
      const auto* send = std::get_if<job::Send>(&effect);
      const auto* ticket = send == nullptr ? nullptr : std::get_if<TakeTicket>(&send->message);
      if (ticket != nullptr) found.emplace_back(send->node, ticket->blocked_s);
    }
    return found;
  };
  CoresSeen busy = seen();
  busy.starts_s = 600;
  job::MustWait event = must_wait();
  get_in_line();
  hear(0, seen());
  hear(1, busy);
  EXPECT_THAT(blocks(feed(event)), IsEmpty()) << "it may start without node 1";
  event.needs_all = true;
  EXPECT_THAT(blocks(feed(event)), ElementsAre(std::pair(0, 600U)));
  EXPECT_EQ(count<job::PlaceRanks>(hear(1, busy)), 0) << "node 0 has not answered";
  EXPECT_EQ(count<job::PlaceRanks>(hear(0, seen())), 1);
  EXPECT_THAT(blocks(feed(event)), IsEmpty());
  pass(100s);
  hear(1, seen());
  EXPECT_THAT(blocks(feed(event)), ElementsAre(std::pair(0, 0U))) << "taken back";
}

TEST_F(JobWaits, GoesBackInLineWithItsPlaceWhenItsPlanLacksCores) {
  get_in_line();
  hear(0, seen());
  hear(1, seen());
  feed(job::Placed{{0, 1}, {{0, 1}, {2, 3}}});
  Listening listening;
  listening.probe_port = 7;
  hear(0, listening);
  hear(1, listening);
  hear(0, Reached{});
  hear(1, Reached{});
  feed(job::Judged{false});
  EXPECT_EQ(job_.state, JobState::kPlanning);
  const auto effects = feed(must_wait());
  EXPECT_EQ(job_.state, JobState::kWaiting);
  EXPECT_THAT(arrivals(effects), ElementsAre(kArrival, kArrival)) << "in both lines at once";
  hear(0, seen());
  EXPECT_EQ(count<job::MakePlan>(hear(1, seen())), 1);
  feed(job::Planned{});
  EXPECT_EQ(job_.state, JobState::kClaiming);
  hear(0, CoresClaimed{});
  hear(1, CoresClaimed{});
  EXPECT_EQ(job_.state, JobState::kRunning);
}

TEST_F(JobWaits, NeverGivesUpBecauseOthersAreFaster) {
  get_in_line();
  hear(0, seen());
  hear(1, seen());
  feed(job::Placed{{0}, {{0, 1}}});
  hear(0, Listening{});
  ASSERT_EQ(job_.state, JobState::kPlanning);
  feed(job::Planned{});
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(job_.state, JobState::kClaiming) << round;
    EXPECT_THAT(arrivals(hear(0, CoresClaimed{true, {}, ""})), ElementsAre(kArrival));
    ASSERT_EQ(job_.state, JobState::kWaiting) << round;
    EXPECT_EQ(count<job::MakePlan>(hear(0, seen())), 1);
    feed(job::Planned{});
  }
}

TEST_F(JobWaits, DoesNotCountTheWaitAsPartOfItsTime) {
  JobOptions options;
  options.ending.timeout = 60s;
  job_ = make_job(2, options);
  get_in_line();
  hear(0, seen());
  hear(1, seen());
  pass(600s);
  ASSERT_EQ(job_.state, JobState::kWaiting);
  feed(job::Placed{{0, 1}, {{0, 1}, {2, 3}}});
  EXPECT_GE(*job_.options.ending.timeout, 660s);
  EXPECT_EQ(job_.waiting.total, 600s);
}

TEST_F(JobWaits, EndsWithTheRefusalWhenItHasWaitedForTooLong) {
  JobOptions options;
  options.wait_limit = 5s;
  job_ = make_job(2, options);
  auto effects = get_in_line();
  append(effects, hear(0, seen()));
  append(effects, hear(1, seen()));
  append(effects, pass(4s));
  EXPECT_EQ(job_.state, JobState::kWaiting);
  append(effects, pass(2s));
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.outcome->exit_status, 75);
  EXPECT_THAT(notices(effects), HasSubstr("too few free cores"));
}

TEST_F(JobWaits, EndsWithTheUsersSignalAndWithALostNode) {
  get_in_line();
  feed(job::Signalled{SIGINT});
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.outcome->exit_status, 130);
  job_ = make_job(2, {});
  get_in_line();
  job::AgentLost lost;
  lost.node = 1;
  feed(lost);
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.outcome->node, 1);
}

TEST_F(JobWaits, TellsItsAgentsWhenItsLauncherIsStopped) {
  get_in_line();
  EXPECT_THAT(sent<Signal>(feed(job::Signalled{SIGTSTP})), ElementsAre(0, 1));
  now_ += 600s;
  EXPECT_THAT(sent<Signal>(feed(job::Continued{})), ElementsAre(0, 1));
  EXPECT_EQ(job_.state, JobState::kWaiting);
}

TEST_F(JobWaits, TellsOnceOfNodesThatCannotKeepTickets) {
  get_in_line();
  CoresSeen problem = seen();
  problem.problem = "no sockets";
  auto effects = hear(0, problem);
  append(effects, hear(1, problem));
  EXPECT_EQ(count<job::Notice>(effects), 1);
  EXPECT_THAT(notices(effects), HasSubstr("cannot see that this one waits: no sockets"));
  EXPECT_EQ(count<job::PlaceRanks>(effects), 1);
}

}  // namespace
}  // namespace dtl::job_waiting_test
