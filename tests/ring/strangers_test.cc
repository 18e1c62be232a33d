// Callers that know a job's address and id, but not its secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "ring/common/socket.h"
#include "ring/meeting/acceptor.h"
#include "ring/meeting/handshake.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::strangers_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Another account or host that knows the job's id, which is not secret. Callers from `source` say
// Hello as ranks do but never prove anything, always at least as many as there are places.
class Besieger {
 public:
  Besieger(const Place& place, std::string source)
      : target_(resolve(place.address, place.port).front()),
        source_(resolve(source, 0).front()),
        thread_([this] { run(); }) {
    while (!is_at_it_) std::this_thread::yield();
  }
  ~Besieger() {
    is_over_ = true;
    thread_.join();
  }
  Besieger(const Besieger&) = delete;
  Besieger& operator=(const Besieger&) = delete;

 private:
  void call() {
    Fd fd(::socket(target_.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd.valid() || ::bind(fd.get(), source_.get(), source_.bytes()) != 0) return;
    if (::connect(fd.get(), target_.get(), target_.bytes()) != 0) return;
    callers_.emplace_back(identity_, 0, Stream::kControl, 0, std::move(fd));
    (void)callers_.back().step();
    if (callers_.size() > 300) callers_.pop_front();
  }
  void run() {
    const auto pause = std::chrono::milliseconds(1);  // lets the others run
    while (!is_over_) {
      call();
      if (callers_.size() < 300) continue;
      is_at_it_ = true;
      std::this_thread::sleep_for(pause);
    }
  }

  const Identity identity_{42, 2, 1, std::vector<std::uint8_t>(32, 9)};
  const Address target_, source_;
  std::deque<ClientHandshake> callers_;
  std::atomic<bool> is_over_{false}, is_at_it_{false};
  std::thread thread_;
};

TEST(Strangers, HalfProvedCallersOfAnotherAddressDoNotKeepRanksOut) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  ranks.push_back(join_later(options_for(place, 0, 3)));
  connect_stranger(place);
  const Besieger besieger(place, "127.9.9.9");
  for (const int rank : {1, 2}) {
    dt_options options = options_for(place, rank, 3);
    options.connect_timeout_ms = 3000;
    ranks.push_back(join_later(options));
  }
  expect_ring_works(ranks);
}

TEST(Strangers, HalfProvedCallersOfTheSameAddressGiveWayInTime) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  ranks.push_back(join_later(options_for(place, 0, 2)));
  connect_stranger(place);
  const Besieger besieger(place, "127.0.0.1");
  ranks.push_back(join_later(options_for(place, 1, 2)));
  expect_ring_works(ranks);
}

TEST(Strangers, TimeoutNamesStrangersThatCalledMeanwhile) {
  const Place place = free_place();
  dt_options options = options_for(place, 0, 2);
  options.connect_timeout_ms = 1500;
  auto leader = join_later(options);
  connect_stranger(place);
  const Besieger besieger(place, "127.9.9.9");
  const Joined joined = leader.get();
  EXPECT_EQ(joined.status, DT_E_TIMEOUT);
  EXPECT_THAT(joined.error, AllOf(HasSubstr("rank 1 did not join at "), HasSubstr("meanwhile "),
                                  HasSubstr(" callers did not prove to belong to this job: "),
                                  HasSubstr(" from 127.9.9.9, 1 from 127.0.0.1"),
                                  HasSubstr("ss -tnp dport = :" + std::to_string(place.port))));
}

TEST(Strangers, OneHostsAddressesOfIpv6CountAsOne) {
  const auto origin = [](const char* address) {
    return caller_origin(resolve(address, 1).front());
  };
  EXPECT_EQ(origin("10.0.0.9"), "10.0.0.9");
  EXPECT_EQ(origin("::1"), "::1");
  EXPECT_EQ(origin("fd00:1::5:6"), "fd00:1::/64");
  EXPECT_EQ(origin("fd00:1::7"), origin("fd00:1::5:6"));
  EXPECT_NE(origin("fd00:1:0:1::7"), origin("fd00:1::7"));
  EXPECT_EQ(origin("fe80::7"), "fe80::7");
}

}  // namespace
}  // namespace dtl::ring::test::strangers_test
