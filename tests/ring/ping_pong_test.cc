// Messages between two ranks of a node, in a small world and in a large one.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::ping_pong_test {
namespace {

constexpr int kRounds = 20, kMessages = 20;

void pass(dt_comm* comm, std::vector<char>& bytes, bool sends) {
  dt_work work = 0;
  const int other = 1 - dt_comm_rank(comm);
  const int status = sends ? dt_send(comm, bytes.data(), bytes.size(), DT_U8, other, 0, &work)
                           : dt_recv(comm, bytes.data(), bytes.size(), DT_U8, other, 0, &work);
  ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
}

// Seconds of the quickest round, so that other programs on this machine do not count.
double play(dt_comm* comm) {
  std::vector<char> bytes(128 << 10);
  const bool begins = dt_comm_rank(comm) == 0;
  auto best = std::chrono::duration<double>(std::numeric_limits<double>::max());
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kMessages; ++i) {
      pass(comm, bytes, begins);
      pass(comm, bytes, !begins);
    }
    best = std::min<std::chrono::duration<double>>(best, std::chrono::steady_clock::now() - begin);
  }
  return best.count();
}

// Ranks 0 and 1 share a node; each other rank has its own.
double time_in_world(int world) {
  const Place place = free_place();
  std::vector<std::future<Joined>> futures;
  for (int rank = 0; rank < world; ++rank) {
    Tuning tuning;
    tuning.node = rank < 2 ? "pair" : "none";
    futures.push_back(join_later(options_for(place, rank, world), tuning));
  }
  std::vector<Joined> ranks;
  for (auto& future : futures) ranks.push_back(future.get());
  for (const Joined& rank : ranks) EXPECT_EQ(rank.status, DT_OK) << rank.error;
  std::thread other([&] { play(ranks[1].comm.get()); });
  const double seconds = play(ranks[0].comm.get());
  other.join();
  return seconds;
}

// Where slots were sized by the world, the large one took a hundred times as long.
TEST(PingPong, OfTwoRanksOfANodeTakesAboutAsLongInALargeWorld) {
  const double few = time_in_world(2), many = time_in_world(129);
  EXPECT_LT(many, 10 * few) << "us: " << few / kRounds * 1e6 << ", " << many / kRounds * 1e6;
}

}  // namespace
}  // namespace dtl::ring::test::ping_pong_test
