// Short operations between ranks of one host, which go past the queue if nothing else is in
// progress: whatever the others do meanwhile, results and errors are those of all operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <random>
#include <thread>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::short_calls_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void run_on_one_host(int world, const Body& body, int timeout_ms = 60000) {
  run_nodes(
      world, world, [&](dt_options& each) { each.operation_timeout_ms = timeout_ms; }, body);
}

// Small whole numbers: their sums are exact.
std::vector<float> input_of(int rank, std::size_t count, std::size_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i * 7 + seed * 13 + static_cast<std::size_t>(rank) * 5) % 1009);
  }
  return values;
}

std::vector<float> sum_of_inputs(int world, std::size_t count, std::size_t seed) {
  std::vector<float> sum(count);
  for (int rank = 0; rank < world; ++rank) {
    const auto values = input_of(rank, count, seed);
    for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
  }
  return sum;
}

int submit(dt_comm* comm, std::vector<float>& values, dt_work& work, std::uint64_t tag = 0) {
  return dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32, DT_SUM,
                      DT_WIRE_DEFAULT, tag, &work);
}

// On the first line of an entry, beside it, and the most that one holds.
constexpr std::array<std::size_t, 6> kCounts{0, 1, 2, 3, 1024, 8192};

TEST(ShortCalls, WaitForAPeerThatComesLate) {
  std::barrier late(3);
  run_on_one_host(3, [&](dt_comm* comm, int rank) {
    std::size_t seed = 0;
    for (const std::size_t count : kCounts) {
      const int last = static_cast<int>(++seed % 3);
      auto values = input_of(rank, count, seed);
      if (rank == last) late.arrive_and_wait();
      dt_work work = 0;
      ASSERT_EQ(submit(comm, values, work), DT_OK);
      if (rank != last) {
        EXPECT_EQ(dt_test(comm, work), DT_PENDING);
        EXPECT_EQ(dt_wait(comm, work, 1), DT_PENDING);
        late.arrive_and_wait();
      }
      ASSERT_EQ(dt_wait(comm, work, -1), DT_OK) << last_error(comm);
      EXPECT_EQ(values, sum_of_inputs(3, count, seed));
      EXPECT_EQ(dt_test(comm, work), DT_E_INVAL) << "reported before";
    }
  });
}

// Rank 2 dies while the others look for what it shows. What it has shown may still count.
TEST(ShortCalls, NameAPeerThatDies) {
  for (const bool shows : {false, true}) {
    const Place place = free_place();
    std::vector<RankProcess> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      ranks.emplace_back(options_for(place, rank, 3), [shows](dt_comm* comm) {
        std::vector<float> values(1);
        dt_work work = 0;
        const bool dies = dt_comm_rank(comm) == 2;
        if ((!dies || shows) && submit(comm, values, work, 8) != DT_OK) return 1;
        RankProcess::say_ready();
        if (dies) ::pause();
        int status = dt_wait(comm, work, -1);
        if (status == DT_OK && shows) status = barrier(comm);
        RankProcess::report(last_error(comm));
        return -status;
      });
    }
    for (auto& rank : ranks) rank.wait_ready();
    ranks[2].kill_now();
    const std::string what =
        shows ? "" : "operation 1 (allreduce of 1 f32, sum, tag 8) failed: rank 2";
    for (const std::size_t rank : {0, 1}) {
      EXPECT_THAT(ranks[rank].wait_report(),
                  AllOf(HasSubstr(what), HasSubstr("rank 2 (node02) was lost")));
      EXPECT_EQ(ranks[rank].wait_status(), -DT_E_PEER);
    }
  }
}

TEST(ShortCalls, NameAPeerThatDiesAmongMany) {
  const Place place = free_place();
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back(options_for(place, rank, 2), [](dt_comm* comm) {
      std::vector<float> values(1);
      int status = allreduce(comm, values);
      RankProcess::say_ready();
      while (status == DT_OK) status = allreduce(comm, values);
      RankProcess::report(last_error(comm));
      return -status;
    });
  }
  for (auto& rank : ranks) rank.wait_ready();
  ranks[1].kill_now();
  EXPECT_THAT(ranks[0].wait_report(), HasSubstr("rank 1 (node01) was lost"));
  EXPECT_EQ(ranks[0].wait_status(), -DT_E_PEER);
}

TEST(ShortCalls, TimeOutAndNameWhoHasNotBegun) {
  std::barrier end(2);
  run_on_one_host(
      2,
      [&](dt_comm* comm, int rank) {
        if (rank == 0) {
          std::vector<float> values(1);
          EXPECT_EQ(allreduce(comm, values), DT_E_TIMEOUT);
          EXPECT_THAT(last_error(comm), AllOf(HasSubstr("is not complete after 200 ms"),
                                              HasSubstr("rank 1"), HasSubstr("has not begun it")));
        }
        end.arrive_and_wait();
      },
      200);
}

TEST(ShortCalls, NameBothOfDifferentCalls) {
  for (const bool is_late : {false, true}) {
    std::barrier late(2);
    run_on_one_host(2, [&](dt_comm* comm, int rank) {
      std::vector<float> values(rank == 0 ? 1 : 2);
      dt_work work = 0;
      if (is_late && rank == 1) late.arrive_and_wait();
      const int status = submit(comm, values, work, 8);
      if (is_late && rank == 0) late.arrive_and_wait();
      EXPECT_EQ(wait_for(comm, status, work), DT_E_MISMATCH);
      EXPECT_THAT(last_error(comm), AllOf(HasSubstr("allreduce of 1 f32, sum, tag 8"),
                                          HasSubstr("allreduce of 2 f32, sum, tag 8")));
    });
  }
}

TEST(ShortCalls, FailOnceAPeerHasAbortedOrLeft) {
  for (const bool aborts : {false, true}) {
    std::barrier both(2);
    run_on_one_host(2, [&](dt_comm* comm, int rank) {
      std::vector<float> values(1);
      EXPECT_EQ(allreduce(comm, values), DT_OK) << last_error(comm);
      both.arrive_and_wait();  // an abort ends what its peer has not noticed to be complete
      if (rank == 1) {
        if (aborts) dt_comm_abort(comm, "enough");
        return;  // leaves
      }
      int status = DT_OK;
      while (status == DT_OK) status = allreduce(comm, values);
      EXPECT_EQ(status, aborts ? DT_E_ABORTED : DT_E_PEER);
      EXPECT_THAT(last_error(comm), HasSubstr("rank 1"));
    });
  }
}

// A receive without a sender, and a long sum that cannot end yet.
TEST(ShortCalls, GoOnBesideOperationsThatArePending) {
  constexpr std::size_t kLong = 300000;
  run_on_one_host(2, [](dt_comm* comm, int rank) {
    const int peer = 1 - rank;
    std::vector<float> sent = input_of(rank, 5, 1), received(5);
    dt_work receive = 0, send = 0, sum = 0;
    ASSERT_EQ(dt_recv(comm, received.data(), 5, DT_F32, peer, 3, &receive), DT_OK);
    auto values = input_of(rank, kLong, 2);
    ASSERT_EQ(submit(comm, values, sum), DT_OK);
    for (std::size_t seed = 0; seed < 200; ++seed) {
      auto few = input_of(rank, kCounts[seed % 5], seed);
      ASSERT_EQ(allreduce(comm, few), DT_OK) << last_error(comm);
      ASSERT_EQ(few, sum_of_inputs(2, few.size(), seed));
      if (seed != 100) continue;
      ASSERT_EQ(dt_wait(comm, sum, -1), DT_OK) << last_error(comm);
    }
    EXPECT_EQ(dt_test(comm, receive), DT_PENDING);
    ASSERT_EQ(barrier(comm), DT_OK);
    ASSERT_EQ(dt_send(comm, sent.data(), 5, DT_F32, peer, 3, &send), DT_OK);
    ASSERT_EQ(dt_wait(comm, send, -1), DT_OK) << last_error(comm);
    ASSERT_EQ(dt_wait(comm, receive, -1), DT_OK) << last_error(comm);
    EXPECT_EQ(received, input_of(peer, 5, 1));
    EXPECT_EQ(values, sum_of_inputs(2, kLong, 2));
  });
}

// One turn of a mixture that is the same on all ranks: up to eight operations of every length, on
// the board or not, which are then waited for in any order.
void take_mixed_turn(dt_comm* comm, int rank, int world, std::mt19937& random, bool checks_late) {
  struct Call {
    std::vector<float> values;
    dt_work work = 0;
    std::size_t seed = 0;
  };
  std::vector<Call> calls(1 + random() % 8);
  for (Call& call : calls) {
    call.seed = random() % 1000;
    const std::size_t count = random() % 3 == 0 ? random() % 20000 : kCounts[random() % 5];
    call.values = input_of(rank, count, call.seed);
    ASSERT_EQ(submit(comm, call.values, call.work, call.seed), DT_OK) << last_error(comm);
    if (checks_late) std::this_thread::yield();
  }
  std::shuffle(calls.begin(), calls.end(), random);
  for (Call& call : calls) {
    ASSERT_EQ(dt_wait(comm, call.work, -1), DT_OK) << last_error(comm);
    ASSERT_EQ(call.values, sum_of_inputs(world, call.values.size(), call.seed));
  }
}

TEST(ShortCalls, OfManySizesInAnyMixture) {
  for (const int world : {2, 3, 5}) {
    run_on_one_host(world, [&](dt_comm* comm, int rank) {
      std::mt19937 random(7);
      for (int turn = 0; turn < 200; ++turn) {
        take_mixed_turn(comm, rank, world, random, rank == turn % world);
        if (::testing::Test::HasFatalFailure()) return;
      }
    });
  }
}

TEST(ShortCalls, OfTwoCommunicatorsInTurn) {
  run_on_one_host(3, [](dt_comm* comm, int rank) {
    dt_comm* part = nullptr;
    ASSERT_EQ(dt_comm_split(comm, 0, -rank, &part), DT_OK);
    const CommPtr other(part);
    for (std::size_t seed = 0; seed < 1000; ++seed) {
      auto values = input_of(rank, kCounts[seed % 5], seed);
      ASSERT_EQ(allreduce(seed % 3 == 0 ? comm : part, values, seed), DT_OK);
      ASSERT_EQ(values, sum_of_inputs(3, values.size(), seed));
    }
  });
}

TEST(ShortCalls, OfTwoThreadsOnTwoCommunicators) {
  run_on_one_host(2, [](dt_comm* comm, int rank) {
    dt_comm* part = nullptr;
    ASSERT_EQ(dt_comm_split(comm, 0, rank, &part), DT_OK);
    const CommPtr other(part);
    std::vector<std::thread> threads;
    for (dt_comm* own : {comm, part}) {
      threads.emplace_back([=] {
        for (std::size_t seed = 0; seed < 1000; ++seed) {
          auto values = input_of(rank, kCounts[seed % 5], seed);
          ASSERT_EQ(allreduce(own, values, seed), DT_OK) << last_error(own);
          ASSERT_EQ(values, sum_of_inputs(2, values.size(), seed));
        }
      });
    }
    for (auto& thread : threads) thread.join();
  });
}

// Also those that were complete when their call returned.
TEST(ShortCalls, AreReportedOnceToWhoWaitsForAny) {
  run_on_one_host(2, [](dt_comm* comm, int rank) {
    for (int turn = 0; turn < 200; ++turn) {
      std::vector<float> first{static_cast<float>(rank)}, second{static_cast<float>(turn)};
      std::array<dt_work, 2> works{}, reported{};
      std::array<std::int32_t, 2> statuses{};
      ASSERT_EQ(submit(comm, first, works[0]), DT_OK);
      ASSERT_EQ(submit(comm, second, works[1]), DT_OK);
      for (std::uint32_t done = 0, count = 0; done < 2; done += count) {
        ASSERT_EQ(dt_wait_any(comm, &reported[done], &statuses[done], 2 - done, &count, -1), DT_OK);
      }
      EXPECT_EQ(reported, works);
      EXPECT_EQ(first[0] + second[0], static_cast<float>(1 + 2 * turn));
    }
    std::uint32_t count = 1;
    dt_work work = 0;
    std::int32_t status = 0;
    EXPECT_EQ(dt_wait_any(comm, &work, &status, 1, &count, 0), DT_PENDING);
  });
}

}  // namespace
}  // namespace dtl::ring::test::short_calls_test
