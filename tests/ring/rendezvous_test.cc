// How a ring forms, and who is kept out.
#include "ring/meeting/rendezvous.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ring/common/socket.h"
#include "ring/meeting/acceptor.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::rendezvous_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

bool is_closed_by_peer(int fd) {
  pollfd entry{fd, POLLIN, 0};
  std::array<char, 256> bytes;
  for (;;) {
    if (::poll(&entry, 1, 5000) != 1) return false;
    if (::recv(fd, bytes.data(), bytes.size(), 0) <= 0) return true;
  }
}

void expect_sums_at(const Place& place, bool shares_memory) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      Tuning tuning;
      tuning.node = shares_memory ? "" : "none";
      Comm* created = nullptr;
      const int status = create_comm(options_for(place, rank, 3), tuning, &created);
      const CommPtr comm(reinterpret_cast<dt_comm*>(created));
      ASSERT_EQ(status, DT_OK) << last_error(comm.get());
      std::vector<float> values(5000, static_cast<float>(rank));
      EXPECT_EQ(allreduce(comm.get(), values), DT_OK) << last_error(comm.get());
      EXPECT_EQ(values, std::vector<float>(5000, 3.0F));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Rendezvous, TimeoutNamesTheMissingRanksOnAllOthers) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  for (const int rank : {0, 1, 3}) {
    dt_options options = options_for(place, rank, 5);
    options.connect_timeout_ms = 400;
    ranks.push_back(join_later(options));
  }
  for (auto& rank : ranks) {
    const Joined joined = rank.get();
    EXPECT_EQ(joined.status, DT_E_TIMEOUT);
    EXPECT_THAT(joined.error, AllOf(HasSubstr("rank 2, rank 4 did not join at " + place.address),
                                    HasSubstr("400 ms"), Not(HasSubstr("rank 3"))));
  }
}

TEST(Rendezvous, TimeoutOfManyNamesAFewAndCountsTheOthers) {
  const Place place = free_place();
  dt_options options = options_for(place, 0, 2000);
  options.connect_timeout_ms = 100;
  const Joined joined = join_later(options).get();
  EXPECT_EQ(joined.status, DT_E_TIMEOUT);
  EXPECT_THAT(joined.error, AllOf(HasSubstr("rank 7, rank 8 and 1991 more did not join"),
                                  Not(HasSubstr("rank 9"))));
}

TEST(Rendezvous, TimeoutWithoutRankZeroNamesAddressAndReason) {
  const Place place = free_place();
  dt_options options = options_for(place, 1, 2);
  options.connect_timeout_ms = 200;
  const Joined joined = join_later(options).get();
  EXPECT_EQ(joined.status, DT_E_TIMEOUT);
  EXPECT_THAT(joined.error, AllOf(HasSubstr("cannot reach rank 0 within 200 ms"),
                                  HasSubstr(place.address), HasSubstr("Connection refused")));
}

TEST(Rendezvous, RanksMayStartBeforeRankZeroListens) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  ranks.push_back(join_later(options_for(place, 1, 3)));
  ranks.push_back(join_later(options_for(place, 2, 3)));
  // Only tells a ring that needs rank 0 first from one that does not. It cannot fail by chance.
  EXPECT_EQ(ranks[0].wait_for(std::chrono::milliseconds(60)), std::future_status::timeout);
  ranks.push_back(join_later(options_for(place, 0, 3)));
  expect_ring_works(ranks);
}

TEST(Rendezvous, TakesASocketThatListensAlready) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), generic, bytes), 0);
  ASSERT_EQ(::getsockname(listener.get(), generic, &bytes), 0);
  const Place place{"127.0.0.1", ntohs(address.sin_port)};
  dt_options first = options_for(place, 0, 2), second = first;
  second.rank = 1;
  first.listener = listener.get();

  const Joined refused = join_later(first).get();
  EXPECT_EQ(refused.status, DT_E_INVAL);
  EXPECT_THAT(refused.error, HasSubstr("it is not listening"));

  ASSERT_EQ(::listen(listener.get(), 8), 0);
  first.master_address = nullptr;
  first.master_port = 0;
  std::vector<std::future<Joined>> ranks;
  ranks.push_back(join_later(first));
  ranks.push_back(join_later(second));
  expect_ring_works(ranks);
  EXPECT_NE(::fcntl(listener.get(), F_GETFD), -1) << "it is still the caller's";
}

TEST(Rendezvous, TakesTheOptionsOfProgramsThatAreOlder) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  for (const int rank : {0, 1}) {
    dt_options options = options_for(place, rank, 2);
    options.size = offsetof(dt_options, listener);
    options.listener = 999;  // not an open descriptor
    ranks.push_back(join_later(options));
  }
  expect_ring_works(ranks);
}

TEST(Rendezvous, StrangersAreDroppedWhileTheJobGoesOn) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  ranks.push_back(join_later(options_for(place, 0, 3)));

  const Fd scanner = connect_stranger(place);
  const Fd short_one = connect_stranger(place);
  ASSERT_EQ(::send(short_one.get(), "GET", 3, MSG_NOSIGNAL), 3);
  const Fd garbage = connect_stranger(place);
  const std::string request = "GET / HTTP/1.1\r\nHost: somewhere\r\n" + std::string(4096, 'x');
  ASSERT_GT(::send(garbage.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(is_closed_by_peer(garbage.get()));

  std::array<std::uint8_t, 32> wrong{1, 2, 3};
  dt_options thief = options_for(place, 1, 3);
  thief.secret = wrong.data();
  const Joined refused = join_later(thief).get();
  EXPECT_EQ(refused.status, DT_E_AUTH);
  EXPECT_THAT(refused.error, HasSubstr("does not know this job's secret"));

  ranks.push_back(join_later(options_for(place, 1, 3)));
  ranks.push_back(join_later(options_for(place, 2, 3)));
  expect_ring_works(ranks);
}

TEST(Rendezvous, ManySlowClientsDoNotKeepRanksOut) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  ranks.push_back(join_later(options_for(place, 0, 2)));
  std::vector<Fd> slow;
  for (std::size_t i = 0; i < kMaxPendingCallers + 20; ++i) {
    slow.push_back(connect_stranger(place));
    ASSERT_EQ(::send(slow.back().get(), "D", 1, MSG_NOSIGNAL), 1);
  }
  ranks.push_back(join_later(options_for(place, 1, 2)));
  expect_ring_works(ranks);
}

TEST(Rendezvous, OtherJobWithTheSameSecretIsKeptOut) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  ranks.push_back(join_later(options_for(place, 0, 2)));
  dt_options zombie = options_for(place, 1, 2);
  zombie.job = 41;
  zombie.connect_timeout_ms = 300;
  const Joined refused = join_later(zombie).get();
  EXPECT_EQ(refused.status, DT_E_AUTH);
  EXPECT_THAT(refused.error, HasSubstr("closed the connection during the handshake"));
  ranks.push_back(join_later(options_for(place, 1, 2)));
  expect_ring_works(ranks);
}

TEST(Rendezvous, SecondRankOfTheSameNumberIsRefusedAndTheFirstStays) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  ranks.push_back(join_later(options_for(place, 0, 3)));
  ranks.push_back(join_later(options_for(place, 1, 3)));
  auto twin = join_later(options_for(place, 1, 3));
  // Either of the two may be the second, which now ends.
  while (ranks[1].wait_for(std::chrono::milliseconds(1)) != std::future_status::ready &&
         twin.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
  }
  if (ranks[1].wait_for(std::chrono::milliseconds(0)) == std::future_status::ready) {
    std::swap(ranks[1], twin);
  }
  const Joined refused = twin.get();
  EXPECT_EQ(refused.status, DT_E_INVAL);
  EXPECT_THAT(refused.error, HasSubstr("rank 1"));
  EXPECT_THAT(refused.error, HasSubstr("has already joined"));
  ranks.push_back(join_later(options_for(place, 2, 3)));
  expect_ring_works(ranks);
}

TEST(Rendezvous, DifferentWorldSizesAreNamed) {
  const Place place = free_place();
  auto leader = join_later(options_for(place, 0, 3));
  auto other = join_later(options_for(place, 1, 4));
  for (const Joined& joined : {leader.get(), other.get()}) {
    EXPECT_EQ(joined.status, DT_E_MISMATCH);
    EXPECT_THAT(joined.error, HasSubstr("rank 1 was started with a world of 4, rank 0 with 3"));
  }
}

TEST(Rendezvous, EveryAddressIsRefused) {
  for (const char* everywhere : {"0.0.0.0", "::"}) {
    const Place place = free_place();
    dt_options options = options_for(place, 0, 2);
    options.master_address = everywhere;
    const Joined joined = join_later(options).get();
    EXPECT_EQ(joined.status, DT_E_INVAL);
    EXPECT_THAT(joined.error, HasSubstr(everywhere));
  }
}

TEST(Rendezvous, BusyPortIsNamed) {
  const Place place = free_place();
  const Fd busy = listen_on(resolve(place.address, place.port).front(), 1);
  const Joined joined = join_later(options_for(place, 0, 2)).get();
  EXPECT_EQ(joined.status, DT_E_SYS);
  EXPECT_THAT(joined.error,
              AllOf(HasSubstr(std::to_string(place.port)), HasSubstr("Address already in use")));
}

TEST(Rendezvous, WorldOfOneNeedsNeitherSecretNorAddress) {
  dt_options options;
  ASSERT_EQ(dt_options_init(&options, sizeof options), DT_OK);
  dt_comm* created = nullptr;
  ASSERT_EQ(dt_comm_create(&options, &created), DT_OK);
  const CommPtr comm(created);
  std::vector<float> values{1, 2, 3};
  EXPECT_EQ(allreduce(comm.get(), values), DT_OK);
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
}

TEST(Rendezvous, MissingSecretIsRefused) {
  const Place place = free_place();
  dt_options options = options_for(place, 0, 2);
  options.secret = nullptr;
  const Joined joined = join_later(options).get();
  EXPECT_EQ(joined.status, DT_E_AUTH);
  EXPECT_THAT(joined.error, HasSubstr("a secret of at least 32 bytes"));
}

TEST(Rendezvous, RankOutsideTheWorldIsRefused) {
  const Place place = free_place();
  dt_options options = options_for(place, 2, 2);
  const Joined joined = join_later(options).get();
  EXPECT_EQ(joined.status, DT_E_INVAL);
  EXPECT_THAT(joined.error, HasSubstr("rank 2 of a world of 2"));
}

TEST(Rendezvous, ListenersAreClosedOnceTheRingExists) {
  const Place place = free_place();
  auto leader = join_later(options_for(place, 0, 2));
  auto other = join_later(options_for(place, 1, 2));
  const Joined a = leader.get(), b = other.get();
  ASSERT_EQ(a.status, DT_OK);
  const Fd late = start_connect(resolve(place.address, place.port).front());
  pollfd entry{late.get(), POLLOUT, 0};
  ASSERT_EQ(::poll(&entry, 1, 5000), 1);
  EXPECT_EQ(pending_error(late.get()), ECONNREFUSED);
}

// Debian maps a host's own name to this address.
TEST(Rendezvous, NamesOfTheOwnHostMayStandForALoopbackAddress) {
  for (const bool shares : {true, false}) {
    Place place{"127.0.1.1", 0};
    place.port = local_address(listen_on(resolve(place.address, 0).front(), 1).get()).port();
    expect_sums_at(place, shares);
  }
}

TEST(Rendezvous, OfIpv6Works) {
  try {
    for (const bool shares : {true, false}) expect_sums_at(free_place(AF_INET6), shares);
  } catch (const std::exception&) {
    GTEST_SKIP() << "this machine has no ::1";
  }
}

// Idle seconds of this machine since boot, averaged over CPUs. They exclude what other programs
// compute during a test.
double idle_seconds() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, waits_for_disk = 0;  // clock ticks
  file >> cpu >> user >> nice >> system >> idle >> waits_for_disk;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK) * ::sysconf(_SC_NPROCESSORS_ONLN));
  return (idle + waits_for_disk) / ticks;
}

TEST(Rendezvous, SixtyFourRanksOnSixteenNodesMeetAndSum) {
  const double start = idle_seconds();
  std::atomic<int> met{0};
  run_nodes(64, 4, {}, [&](dt_comm* comm, int rank) {
    if (++met == 64) {
      EXPECT_LT(idle_seconds() - start, 5) << "they wait for something";
    }
    for (const std::size_t count : {std::size_t{10}, std::size_t{100003}}) {
      std::vector<float> values(count, static_cast<float>(rank));
      ASSERT_EQ(allreduce(comm, values), DT_OK) << last_error(comm);
      EXPECT_EQ(values, std::vector<float>(count, 64.0F * 63 / 2));
    }
    EXPECT_EQ(barrier(comm), DT_OK);
  });
}

}  // namespace
}  // namespace dtl::ring::test::rendezvous_test
