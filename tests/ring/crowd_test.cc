// Many ranks that call one rank at the same moment, more than it has places for callers that have
// not proved themselves.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "ring/common/socket.h"
#include "ring/meeting/acceptor.h"
#include "ring/meeting/connector.h"

namespace dtl::ring::test::crowd_test {
namespace {

using namespace std::chrono_literals;

constexpr int kWorld = 128;
constexpr std::uint16_t kConnections = 4;  // of each rank

Identity identity_of(int rank) {
  return {42, kWorld, rank, std::vector<std::uint8_t>(32, 1)};
}

class Crowd : public testing::Test {
 protected:
  Crowd()
      : leader_(identity_of(0)),
        acceptor_(leader_, listen_on(resolve("127.0.0.1", 0).front(), 1024)),
        there_(local_address(acceptor_.fd())) {
    for (int rank = 1; rank < kWorld; ++rank) identities_.push_back(identity_of(rank));
    for (const Identity& identity : identities_) {
      for (std::uint16_t lane = 0; lane < kConnections; ++lane) {
        callers_.emplace_back(identity, 0, Stream::kData, std::vector{there_}, lane);
      }
    }
  }

  void step_callers() {
    for (auto it = callers_.begin(); it != callers_.end();) {
      Channel channel = it->step();
      if (!channel.valid()) {
        ++it;
        continue;
      }
      joined_.push_back(std::move(channel));
      it = callers_.erase(it);
    }
  }
  void step_acceptor() {
    for (Caller& caller : acceptor_.step()) {
      proved_.emplace(caller.hello.from, caller.hello.lane);
      kept_.push_back(std::move(caller.channel));
    }
  }
  // Says nothing, and stays until there are many.
  void call_as_stranger() {
    strangers_.push_back(start_connect(there_));
    if (strangers_.size() > 300) strangers_.pop_front();
  }

  const Identity leader_;
  Acceptor acceptor_;
  const Address there_;
  std::list<Identity> identities_;
  std::list<Connector> callers_;
  std::deque<Fd> strangers_;
  std::vector<Channel> joined_, kept_;
  std::set<std::pair<int, int>> proved_;  // rank and lane
};

TEST_F(Crowd, RanksJoinThoughRankZeroStallsAndStrangersCall) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur < 2048) GTEST_SKIP() << "the limit of descriptors is too low";
  const std::size_t all = callers_.size();
  for (int i = 0; i < 5; ++i) step_callers();
  step_acceptor();
  // Rank 0 and the ranks stand still, with replies on their way, for longer than a place is kept.
  std::this_thread::sleep_for(3s);
  for (int i = 0; i < 300; ++i) call_as_stranger();
  step_acceptor();

  const auto deadline = Clock::now() + 60s;
  auto next_stranger = Clock::now();
  while (!callers_.empty() && Clock::now() < deadline) {
    step_callers();
    for (; Clock::now() >= next_stranger; next_stranger += 1ms) call_as_stranger();
    step_acceptor();
    std::vector<pollfd> set;
    acceptor_.add_to_poll(set);
    ::poll(set.data(), set.size(), 1);
  }
  EXPECT_EQ(joined_.size(), all) << "connections that the ranks believe in";
  EXPECT_EQ(proved_.size(), all) << "connections that rank 0 knows of";
}

TEST_F(Crowd, OutOfDescriptorsPausesAndGoesOn) {
  callers_.clear();
  callers_.emplace_back(identities_.front(), 0, Stream::kData, std::vector{there_},
                        std::uint16_t{0});
  for (int i = 0; i < 3; ++i) step_callers();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const Fd highest(::dup(acceptor_.fd()));
  rlimit few = limit;
  few.rlim_cur = static_cast<rlim_t>(highest.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  step_acceptor();
  std::vector<pollfd> set;
  acceptor_.add_to_poll(set);
  const int shortage = acceptor_.shortage();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(shortage, EMFILE);
  EXPECT_TRUE(set.empty()) << "poll would return at once";
  const auto deadline = Clock::now() + 20s;
  while (!callers_.empty() && Clock::now() < deadline) {
    step_callers();
    step_acceptor();
    std::this_thread::yield();
  }
  EXPECT_EQ(proved_.size(), 1U);
}

}  // namespace
}  // namespace dtl::ring::test::crowd_test
