// Split communicators: their members and order, and which failures they survive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::split_test {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

CommPtr split(dt_comm* comm, int color, int key) {
  dt_comm* part = nullptr;
  EXPECT_EQ(dt_comm_split(comm, color, key, &part), DT_OK) << last_error(part);
  return CommPtr(part);
}

// Its members in order, as the parent numbers them.
std::vector<float> members_of(dt_comm* part, int rank_in_parent) {
  const auto own = static_cast<float>(rank_in_parent);
  std::vector<float> all(static_cast<std::size_t>(dt_comm_size(part)), -1);
  dt_work work = 0;
  const int status = dt_allgather(part, &own, all.data(), 1, DT_F32, 0, &work);
  EXPECT_EQ(wait_for(part, status, work), DT_OK) << last_error(part);
  return all;
}

float sum_of(dt_comm* comm, float own, std::size_t count = 20000) {
  std::vector<float> values(count, own);
  EXPECT_EQ(allreduce(comm, values), DT_OK) << last_error(comm);
  for (const float value : values) EXPECT_EQ(value, values[0]);
  return values[0];
}

TEST(Split, JoinsRanksOfEqualColor) {
  run_ranks(5, [](dt_comm* comm, int rank) {
    const CommPtr part = split(comm, rank % 2, 0);
    ASSERT_NE(part, nullptr);
    EXPECT_EQ(dt_comm_size(part.get()), rank % 2 == 0 ? 3 : 2);
    EXPECT_EQ(dt_comm_rank(part.get()), rank / 2);
    EXPECT_EQ(members_of(part.get(), rank),
              rank % 2 == 0 ? (std::vector<float>{0, 2, 4}) : (std::vector<float>{1, 3}));
    EXPECT_EQ(sum_of(part.get(), static_cast<float>(rank)), rank % 2 == 0 ? 6 : 4);
    EXPECT_EQ(sum_of(comm, 1), 5) << "the parent stays usable";
  });
}

TEST(Split, OrdersByKeyAndThenByRank) {
  run_ranks(5, [](dt_comm* comm, int rank) {
    constexpr int kKeys[] = {7, -3, 7, 2147483647, -2147483647 - 1};
    const CommPtr part = split(comm, 1, kKeys[rank]);
    EXPECT_EQ(members_of(part.get(), rank), (std::vector<float>{4, 1, 0, 2, 3}));
  });
}

TEST(Split, RankOfANegativeColorTakesPartAndGetsNothing) {
  run_ranks(4, [](dt_comm* comm, int rank) {
    const CommPtr part = split(comm, rank == 0 ? -1 : 2000000000, 0);
    EXPECT_EQ(part == nullptr, rank == 0);
    if (part) {
      EXPECT_EQ(members_of(part.get(), rank), (std::vector<float>{1, 2, 3}));
    }
    EXPECT_EQ(split(comm, -5, 0), nullptr) << "nobody is in any part";
    EXPECT_EQ(sum_of(comm, 1), 4);
  });
}

TEST(Split, PartOfOneRankWorks) {
  run_ranks(3, [](dt_comm* comm, int rank) {
    const CommPtr part = split(comm, rank, 0);
    EXPECT_EQ(dt_comm_size(part.get()), 1);
    EXPECT_EQ(sum_of(part.get(), 3), 3);
    const CommPtr again = split(part.get(), 0, 0);
    EXPECT_EQ(dt_comm_size(again.get()), 1);
    EXPECT_EQ(split(part.get(), -1, 0), nullptr);
  });
}

TEST(Split, OfASplitWorksToTheLastRank) {
  run_ranks(8, [](dt_comm* comm, int rank) {
    std::vector<CommPtr> parts;
    dt_comm* now = comm;
    for (int bit = 4; bit > 0; bit /= 2) {
      parts.push_back(split(now, rank & bit, -rank));
      now = parts.back().get();
      EXPECT_EQ(dt_comm_size(now), bit);
      EXPECT_EQ(sum_of(now, 1), static_cast<float>(bit));
    }
    EXPECT_EQ(sum_of(comm, 1), 8);
  });
}

TEST(Split, PartsAndParentAreUsedAtTheSameTime) {
  run_ranks(4, [](dt_comm* comm, int rank) {
    const CommPtr halves = split(comm, rank / 2, 0), pairs = split(comm, rank % 2, 0);
    std::vector<std::thread> threads;
    for (dt_comm* each : {comm, halves.get(), pairs.get()}) {
      threads.emplace_back([each] {
        for (std::size_t i = 0; i < 30; ++i) {
          ASSERT_EQ(sum_of(each, 1, 1 + i * 4001), static_cast<float>(dt_comm_size(each)));
        }
      });
    }
    for (auto& thread : threads) thread.join();
  });
}

// A thread that waits for any operation must not learn of the library's internal ones.
TEST(Split, IsNotDisturbedByAThreadThatWaitsForAny) {
  run_ranks(3, [](dt_comm* comm, int rank) {
    std::atomic<bool> stops{false};
    std::thread waiter([&] {
      while (!stops) {
        dt_work work = 0;
        std::int32_t status = 0;
        std::uint32_t count = 0;
        EXPECT_EQ(dt_wait_any(comm, &work, &status, 1, &count, 1), DT_PENDING);
      }
    });
    for (int i = 0; i < 20; ++i) {
      const CommPtr part = split(comm, 0, rank);
      EXPECT_EQ(dt_comm_size(part.get()), 3);
    }
    stops = true;
    waiter.join();
  });
}

TEST(Split, PartAndParentMayGoInAnyOrder) {
  const Place place = free_place();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const dt_options options = options_for(place, rank, 3);
      dt_comm* created = nullptr;
      ASSERT_EQ(dt_comm_create(&options, &created), DT_OK) << last_error(created);
      CommPtr comm(created);
      split(comm.get(), 0, 0);  // destroyed at once, on some ranks before others use it
      EXPECT_EQ(sum_of(comm.get(), 1), 3);
      CommPtr part = split(comm.get(), 0, -rank);
      comm.reset();
      EXPECT_EQ(sum_of(part.get(), 1), 3);
      EXPECT_EQ(members_of(part.get(), rank), (std::vector<float>{2, 1, 0}));
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Split, FailureOfAPartLeavesTheParentAndTheOtherPartAlone) {
  std::barrier done(4);
  run_ranks(4, [&](dt_comm* comm, int rank) {
    const CommPtr part = split(comm, rank / 2, 0);
    if (rank == 3) dt_comm_abort(part.get(), "no more of this");
    if (rank == 2) {
      EXPECT_EQ(barrier(part.get()), DT_E_ABORTED);
      EXPECT_THAT(last_error(part.get()), HasSubstr("rank 1 (node03) aborted: no more of this"));
    }
    if (rank < 2) {
      EXPECT_EQ(sum_of(part.get(), 1), 2);
    }
    EXPECT_EQ(sum_of(comm, 1), 4);
    done.arrive_and_wait();
  });
}

TEST(Split, RankThatLeavesInsteadIsNamed) {
  run_ranks(3, [&](dt_comm* comm, int rank) {
    if (rank == 2) return;  // leaves
    dt_comm* part = nullptr;
    EXPECT_EQ(dt_comm_split(comm, 0, 0, &part), DT_E_PEER);
    const CommPtr failed(part);
    EXPECT_THAT(last_error(part), HasSubstr("rank 2 (node02) has left"));
    EXPECT_EQ(barrier(part), DT_E_PEER);
  });
}

// Killed at some moment during or between splits.
TEST(Split, RankThatIsKilledMeanwhileIsNoticed) {
  for (const int delay_ms : {0, 1, 3, 8}) {
    const Place place = free_place();
    std::vector<RankProcess> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      dt_options options = options_for(place, rank, 3);
      options.connect_timeout_ms = 3000;
      ranks.emplace_back(options, [](dt_comm* comm) {
        RankProcess::say_ready();
        for (;;) {
          dt_comm* part = nullptr;
          int status = dt_comm_split(comm, 0, 0, &part);
          dt_comm_destroy(part);
          if (status == DT_OK) continue;
          while (barrier(comm) == DT_OK) {
          }
          status = barrier(comm);
          RankProcess::report(last_error(comm));
          return -status;
        }
      });
    }
    for (auto& rank : ranks) rank.wait_ready();
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    const auto killed = Clock::now();
    ranks[1].kill_now();
    for (const std::size_t rank : {0, 2}) {
      const std::string report = ranks[rank].wait_report();
      EXPECT_THAT(report, HasSubstr("rank 1 (node01) was lost"));
      EXPECT_EQ(ranks[rank].wait_status(), -DT_E_PEER);
    }
    EXPECT_LT(Clock::now() - killed, std::chrono::seconds(10));
  }
}

TEST(Split, WorksWithinNodesAndAcrossThem) {
  run_nodes(6, 3, {}, [](dt_comm* comm, int rank) {
    const CommPtr node = split(comm, rank / 3, 0), rail = split(comm, rank % 3, 0);
    const CommPtr odd = split(comm, rank == 0 ? -1 : rank % 2, rank);
    EXPECT_EQ(sum_of(node.get(), static_cast<float>(rank)), rank < 3 ? 3 : 12);
    EXPECT_EQ(sum_of(rail.get(), static_cast<float>(rank)), static_cast<float>(2 * (rank % 3) + 3));
    if (odd) {
      EXPECT_EQ(sum_of(odd.get(), static_cast<float>(rank)), rank % 2 == 0 ? 6 : 9);
    }
    EXPECT_EQ(sum_of(comm, 1), 6);
  });
}

TEST(Split, InheritsWireAndDeterminism) {
  const auto adjust = [](dt_options& options) {
    options.wire = DT_WIRE_BF16;
    options.flags = DT_DETERMINISTIC;
    options.streams = 3;
  };
  run_ranks(2, {}, adjust, [](dt_comm* comm, int) {
    const CommPtr part = split(comm, 0, 0);
    std::array<char, 2048> json{};
    EXPECT_GT(dt_stats_json(part.get(), json.data(), json.size()), 0);
    EXPECT_THAT(json.data(), HasSubstr("\"wire\":\"bf16\""));
    EXPECT_THAT(json.data(), HasSubstr("\"deterministic\":true"));
    EXPECT_THAT(json.data(), HasSubstr("\"streams\":3"));
  });
}

}  // namespace
}  // namespace dtl::ring::test::split_test
