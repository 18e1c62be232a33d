// More operations than can run at once.
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::backlog_test {
namespace {

dt_work submit_sum(dt_comm* comm, std::vector<float>& values) {
  dt_work work = 0;
  EXPECT_EQ(dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32, DT_SUM,
                         DT_WIRE_DEFAULT, 0, &work),
            DT_OK);
  return work;
}

// More than can run at once, on two communicators, the last one first.
void wait_backwards(dt_comm* comm, int rank) {
  constexpr int kRounds = 60, kOperations = 20;
  dt_comm* part = nullptr;
  ASSERT_EQ(dt_comm_split(comm, rank % 2, 0, &part), DT_OK);
  const CommPtr half(part);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::vector<float>> values(2 * kOperations, std::vector<float>(50, 1));
    std::vector<std::pair<dt_comm*, dt_work>> works;
    for (std::size_t i = 0; i < values.size(); ++i) {
      dt_comm* which = i % 2 == 0 ? half.get() : comm;
      works.emplace_back(which, submit_sum(which, values[i]));
    }
    for (auto work = works.rbegin(); work != works.rend(); ++work) {
      ASSERT_EQ(dt_wait(work->first, work->second, 20000), DT_OK) << "round " << round;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], std::vector<float>(50, i % 2 == 0 ? 2 : 4));
    }
    ASSERT_EQ(barrier(comm), DT_OK);
  }
}

TEST(Backlog, OfManyOperationsWaitedForBackwards) {
  run_ranks(4, wait_backwards);
}

TEST(Backlog, OfManyOperationsWaitedForBackwardsOnOneHost) {
  run_nodes(
      4, 4, [](dt_options&) {}, wait_backwards);
}

}  // namespace
}  // namespace dtl::ring::test::backlog_test
