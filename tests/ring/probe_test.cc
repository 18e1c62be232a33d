// Messages that are probed before they are received.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::probe_test {
namespace {

struct Message {
  int status = 99;
  std::int32_t from = -1, dtype = -1;
  std::uint64_t count = 0, tag = 0;
};

Message probe(dt_comm* comm, int from, int timeout_ms = 20000) {
  Message message;
  message.from = from;
  message.status =
      dt_probe(comm, &message.from, &message.count, &message.dtype, &message.tag, timeout_ms);
  return message;
}

std::vector<float> receive(dt_comm* comm, const Message& message) {
  std::vector<float> values(message.count);
  dt_work work = 0;
  const int status =
      dt_recv(comm, values.data(), message.count, message.dtype, message.from, message.tag, &work);
  EXPECT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
  return values;
}

void send(dt_comm* comm, const std::vector<float>& values, int to, std::uint64_t tag) {
  dt_work work = 0;
  const int status = dt_send(comm, values.data(), values.size(), DT_F32, to, tag, &work);
  EXPECT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
}

// Every rank sends to rank 0 twice, and rank 0 receives in any order.
void take_from_all(dt_comm* comm, int rank) {
  constexpr int kMessages = 2;
  const int world = dt_comm_size(comm);
  if (rank > 0) {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      send(comm, std::vector<float>(70000 * i + 5, static_cast<float>(rank)), 0, 10 * i + 3);
    }
    return;
  }
  std::vector<std::uint64_t> taken(static_cast<std::size_t>(world));
  for (int i = 0; i < kMessages * (world - 1); ++i) {
    const Message message = probe(comm, -1);
    ASSERT_EQ(message.status, DT_OK) << last_error(comm);
    std::uint64_t& earlier = taken.at(static_cast<std::size_t>(message.from));
    EXPECT_EQ(message.tag, 10 * earlier + 3);
    EXPECT_EQ(message.count, 70000 * earlier + 5);
    EXPECT_EQ(message.dtype, DT_F32);
    ++earlier;
    const auto values = receive(comm, message);
    EXPECT_EQ(values, std::vector<float>(values.size(), static_cast<float>(message.from)));
  }
  EXPECT_EQ(probe(comm, -1, 1).status, DT_PENDING);
}

TEST(Probe, FindsEveryMessageOfEveryRankOnceAndInOrder) {
  run_ranks(4, take_from_all);
}

TEST(Probe, FindsThemOnOneHost) {
  run_nodes(
      4, 4, [](dt_options&) {}, take_from_all);
}

TEST(Probe, OfOneRankDoesNotSeeTheOthers) {
  run_ranks(3, [](dt_comm* comm, int rank) {
    if (rank > 0) {
      if (rank == 1) send(comm, {1}, 0, 1);
      EXPECT_EQ(barrier(comm), DT_OK);
      if (rank == 2) send(comm, {2}, 0, 1);
      return;
    }
    EXPECT_EQ(probe(comm, 2, 50).status, DT_PENDING);
    const Message first = probe(comm, 1);
    EXPECT_EQ(first.from, 1);
    receive(comm, first);
    EXPECT_EQ(barrier(comm), DT_OK);
    EXPECT_EQ(receive(comm, probe(comm, 2)), std::vector<float>{2});
  });
}

TEST(Probe, DoesNotSeeWhatIsReceivedAlready) {
  run_ranks(2, [](dt_comm* comm, int rank) {
    if (rank == 1) {
      send(comm, {7}, 0, 0);
      EXPECT_EQ(barrier(comm), DT_OK);
      return;
    }
    receive(comm, {DT_OK, 1, DT_F32, 1, 0});
    EXPECT_EQ(barrier(comm), DT_OK);
    EXPECT_EQ(probe(comm, 1, 0).status, DT_PENDING);
  });
}

TEST(Probe, HearsOfALostRank) {
  run_ranks(2, [](dt_comm* comm, int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // by then rank 0 waits, or not
      EXPECT_EQ(dt_comm_abort(comm, "enough"), DT_OK);
      return;
    }
    EXPECT_EQ(probe(comm, -1).status, DT_E_ABORTED);
    EXPECT_NE(last_error(comm).find("enough"), std::string::npos);
  });
}

TEST(Probe, RefusesRanksThatThereAreNot) {
  run_ranks(2, [](dt_comm* comm, int rank) {
    EXPECT_EQ(probe(comm, 2, 0).status, DT_E_INVAL);
    EXPECT_EQ(probe(comm, rank, 0).status, DT_E_INVAL);
  });
}

}  // namespace
}  // namespace dtl::ring::test::probe_test
