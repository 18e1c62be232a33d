// Results of every collective for every size and world. Values are small whole numbers, so every
// order of summing gives the same bits, and results are compared exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <mutex>
#include <thread>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::collectives_test {
namespace {

constexpr std::size_t kPeriod = 1000;

float value_at(int rank, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(rank) * 31 + i * 7) % kPeriod) - 500.0f;
}

// Repeats the first kPeriod values.
void repeat_period(std::vector<float>& values) {
  for (std::size_t done = kPeriod; done < values.size();) {
    const std::size_t more = std::min(done, values.size() - done);
    std::memcpy(values.data() + done, values.data(), more * sizeof(float));
    done += more;
  }
}

std::vector<float> input_of(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < std::min(count, kPeriod); ++i) values[i] = value_at(rank, i);
  repeat_period(values);
  return values;
}

std::vector<float> sum_of_inputs(int world, std::size_t count) {
  std::vector<float> sum(count, 0.0f);
  for (int rank = 0; rank < world; ++rank) {
    for (std::size_t i = 0; i < std::min(count, kPeriod); ++i) sum[i] += value_at(rank, i);
  }
  repeat_period(sum);
  return sum;
}

std::vector<std::size_t> sizes_for(int world) {
  const auto n = static_cast<std::size_t>(world);
  return {0, 1, 2, n - 1, n, n + 1, 15, 16, 17, 4095, 100003};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
}

class World : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of, World, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17),
                         [](const auto& tested) { return std::to_string(tested.param); });

void check_allreduce(int world, const char* algorithm) {
  const auto adjust = [=](dt_options& options) { options.allreduce = algorithm; };
  run_ranks(world, {}, adjust, [world](dt_comm* comm, int rank) {
    for (const std::size_t count : sizes_for(world)) {
      const std::vector<float> expected = sum_of_inputs(world, count);
      std::vector<float> in_place = input_of(rank, count);
      ASSERT_EQ(allreduce(comm, in_place, count), DT_OK) << last_error(comm);
      EXPECT_TRUE(same_bits(in_place, expected)) << "in place, rank " << rank << ", " << count;

      const std::vector<float> in = input_of(rank, count);
      std::vector<float> out(count, -1.0f);
      dt_work work = 0;
      const int status = dt_allreduce(comm, in.data(), out.data(), count, DT_F32, DT_SUM,
                                      DT_WIRE_DEFAULT, count, &work);
      ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
      EXPECT_TRUE(same_bits(out, expected)) << "out of place, rank " << rank << ", " << count;
      EXPECT_TRUE(same_bits(in, input_of(rank, count))) << "input changed";
    }
  });
}

TEST_P(World, AllreduceSumsEverySizeInPlaceAndOutOfPlace) {
  check_allreduce(GetParam(), nullptr);
}

TEST_P(World, AllreduceSumsEverySizeByEveryAlgorithm) {
  for (const char* algorithm :
       {"oneshot", "doubling", "leaders", "halving", "groups", "direct", "ring"}) {
    SCOPED_TRACE(algorithm);
    check_allreduce(GetParam(), algorithm);
  }
}

TEST_P(World, BroadcastCopiesFromEveryRoot) {
  const int world = GetParam();
  run_ranks(world, [world](dt_comm* comm, int rank) {
    for (int root = 0; root < world; ++root) {
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{70001}}) {
        std::vector<float> data = input_of(rank, count);
        dt_work work = 0;
        const int status = dt_broadcast(comm, data.data(), count, DT_F32, root, 9, &work);
        ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
        EXPECT_TRUE(same_bits(data, input_of(root, count))) << "rank " << rank;
      }
    }
  });
}

TEST_P(World, AllgatherOrdersByRank) {
  const int world = GetParam();
  run_ranks(world, [world](dt_comm* comm, int rank) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5003}}) {
      const std::vector<float> in = input_of(rank, count);
      std::vector<float> out(count * static_cast<std::size_t>(world), -1.0f), expected;
      for (int r = 0; r < world; ++r) {
        const auto part = input_of(r, count);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      dt_work work = 0;
      const int status = dt_allgather(comm, in.data(), out.data(), count, DT_F32, 3, &work);
      ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
      EXPECT_TRUE(same_bits(out, expected)) << "rank " << rank << ", " << count;
    }
  });
}

TEST_P(World, AllgathervTakesDifferentAndZeroCounts) {
  const int world = GetParam();
  run_ranks(world, [world](dt_comm* comm, int rank) {
    std::vector<std::uint64_t> counts;
    std::vector<float> expected;
    for (int r = 0; r < world; ++r) {
      counts.push_back(r % 3 == 1 ? 0 : static_cast<std::uint64_t>(r) * 1000 + 1);
      const auto part = input_of(r, counts.back());
      expected.insert(expected.end(), part.begin(), part.end());
    }
    const auto in = input_of(rank, counts[static_cast<std::size_t>(rank)]);
    std::vector<float> out(expected.size(), -1.0f);
    dt_work work = 0;
    const int status = dt_allgatherv(comm, in.data(), out.data(), counts.data(), DT_F32, 4, &work);
    ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
    EXPECT_TRUE(same_bits(out, expected)) << "rank " << rank;
  });
}

TEST_P(World, BarrierHoldsEverybodyUntilTheLastOneCame) {
  const int world = GetParam();
  std::atomic<int> entered{0};
  run_ranks(world, [&](dt_comm* comm, int rank) {
    for (int round = 1; round <= 5; ++round) {
      if (rank == round % world) std::this_thread::yield();
      ++entered;
      ASSERT_EQ(barrier(comm), DT_OK) << last_error(comm);
      EXPECT_GE(entered.load(), round * world);
    }
  });
}

template <typename T>
void check_type(dt_comm* comm, int rank, int world, int dtype, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<T>(i % 7 + static_cast<std::size_t>(rank));
  }
  dt_work work = 0;
  const int status = dt_allreduce(comm, values.data(), values.data(), count, dtype, DT_SUM,
                                  DT_WIRE_DEFAULT, 0, &work);
  ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
  const auto ranks = static_cast<std::size_t>(world);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t sum = ranks * (i % 7) + ranks * (ranks - 1) / 2;
    const auto expected = static_cast<T>(sum);
    ASSERT_EQ(values[i], expected) << "type " << dtype << " element " << i;
  }
}

TEST(Collectives, AllreduceSumsEveryType) {
  run_ranks(
      3, {}, [](dt_options& options) { options.allreduce = "ring"; },
      [](dt_comm* comm, int rank) {
        for (const std::size_t count : {std::size_t{10}, std::size_t{300007}}) {
          check_type<std::uint8_t>(comm, rank, 3, DT_U8, count);
          check_type<std::int32_t>(comm, rank, 3, DT_I32, count);
          check_type<std::int64_t>(comm, rank, 3, DT_I64, count);
          check_type<float>(comm, rank, 3, DT_F32, count);
          check_type<double>(comm, rank, 3, DT_F64, count);
        }
      });
}

// The sum of these values depends on the order: all ranks must still have the same bits, twice.
TEST(Collectives, SumsOfAwkwardNumbersAreBitwiseEqualOnAllRanksAndAgain) {
  for (const std::size_t count : {std::size_t{100}, std::size_t{200000}}) {
    std::mutex mutex;
    std::vector<std::vector<float>> results;
    for (int run = 0; run < 2; ++run) {
      run_ranks(5, [&](dt_comm* comm, int rank) {
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; ++i) {
          values[i] = 1.0f / static_cast<float>(1 + (i * 2654435761u + rank * 40503u) % 100003);
        }
        ASSERT_EQ(allreduce(comm, values), DT_OK);
        const std::lock_guard lock(mutex);
        results.push_back(values);
      });
    }
    ASSERT_EQ(results.size(), 10u);
    for (const auto& result : results) EXPECT_TRUE(same_bits(result, results[0]));
  }
}

TEST(Collectives, SeveralOperationsInFlightEndInOrder) {
  run_ranks(4, [](dt_comm* comm, int rank) {
    constexpr std::size_t kOperations = 40;
    std::vector<std::vector<float>> data;
    std::vector<dt_work> works(kOperations);
    for (std::size_t i = 0; i < kOperations; ++i) data.push_back(input_of(rank, i * i * 37));
    for (std::size_t i = 0; i < kOperations; ++i) {
      auto& values = data[i];
      const int status = i % 3 == 2
                             ? dt_broadcast(comm, values.data(), values.size(), DT_F32,
                                            static_cast<int>(i) % 4, i, &works[i])
                             : dt_allreduce(comm, values.data(), values.data(), values.size(),
                                            DT_F32, DT_SUM, DT_WIRE_DEFAULT, i, &works[i]);
      ASSERT_EQ(status, DT_OK);
    }
    ASSERT_EQ(dt_wait(comm, works.back(), -1), DT_OK) << last_error(comm);
    for (std::size_t i = 0; i + 1 < kOperations; ++i) EXPECT_EQ(dt_test(comm, works[i]), DT_OK);
    for (std::size_t i = 0; i < kOperations; ++i) {
      const auto expected =
          i % 3 == 2 ? input_of(static_cast<int>(i) % 4, i * i * 37) : sum_of_inputs(4, i * i * 37);
      EXPECT_TRUE(same_bits(data[i], expected)) << "operation " << i;
    }
  });
}

TEST(Collectives, RanksMayComeLate) {
  std::barrier others_wait(3);
  run_ranks(3, [&](dt_comm* comm, int rank) {
    std::vector<float> values = input_of(rank, 500000);
    if (rank == 0) others_wait.arrive_and_wait();
    dt_work work = 0;
    ASSERT_EQ(dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32, DT_SUM,
                           DT_WIRE_DEFAULT, 0, &work),
              DT_OK);
    if (rank != 0) {
      EXPECT_EQ(dt_wait(comm, work, 1), DT_PENDING);  // rank 0 has not begun
      others_wait.arrive_and_wait();
    }
    ASSERT_EQ(dt_wait(comm, work, -1), DT_OK) << last_error(comm);
    EXPECT_TRUE(same_bits(values, sum_of_inputs(3, 500000)));
  });
}

TEST(Collectives, RingOfIpv6Works) {
  const Place place = [] {
    try {
      return free_place(10 /* AF_INET6 */);
    } catch (const std::exception&) {
      return Place{};
    }
  }();
  if (place.port == 0) GTEST_SKIP() << "this machine has no ::1";
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const dt_options options = options_for(place, rank, 3);
      dt_comm* created = nullptr;
      const int status = dt_comm_create(&options, &created);
      const CommPtr comm(created);
      ASSERT_EQ(status, DT_OK) << last_error(comm.get());
      std::vector<float> values = input_of(rank, 1000);
      ASSERT_EQ(allreduce(comm.get(), values), DT_OK);
      EXPECT_TRUE(same_bits(values, sum_of_inputs(3, 1000)));
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace dtl::ring::test::collectives_test
