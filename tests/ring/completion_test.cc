// How callers learn that operations have ended: by id, by waiting for any, by a descriptor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::completion_test {
namespace {

using ::testing::HasSubstr;

struct Reports {
  int status = 0;
  std::vector<dt_work> works;
  std::vector<std::int32_t> statuses;
};

Reports wait_any(dt_comm* comm, std::uint32_t max, int timeout_ms) {
  Reports reports;
  reports.works.resize(max);
  reports.statuses.resize(max, 99);
  std::uint32_t count = 99;
  reports.status =
      dt_wait_any(comm, reports.works.data(), reports.statuses.data(), max, &count, timeout_ms);
  reports.works.resize(count);
  reports.statuses.resize(count);
  return reports;
}

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

dt_work submit_sum(dt_comm* comm, std::vector<float>& values, std::uint64_t tag = 0) {
  dt_work work = 0;
  EXPECT_EQ(dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32, DT_SUM,
                         DT_WIRE_DEFAULT, tag, &work),
            DT_OK);
  return work;
}

dt_work submit_barrier(dt_comm* comm) {
  dt_work work = 0;
  EXPECT_EQ(dt_barrier(comm, 0, &work), DT_OK);
  return work;
}

TEST(Completion, AnyReportsInTheOrderOfTheEndsAndEachOnce) {
  run_ranks(3, [](dt_comm* comm, int) {
    std::vector<dt_work> works;
    for (int i = 0; i < 6; ++i) {
      works.push_back(submit_barrier(comm));
      if (i % 2 == 0) continue;
      ASSERT_EQ(dt_wait(comm, works.back(), -1), DT_OK);
      works.pop_back();  // reported
    }
    std::vector<dt_work> reported;
    while (reported.size() < works.size()) {
      const Reports some = wait_any(comm, 2, -1);
      ASSERT_EQ(some.status, DT_OK);
      ASSERT_FALSE(some.works.empty());
      for (const std::int32_t status : some.statuses) EXPECT_EQ(status, DT_OK);
      reported.insert(reported.end(), some.works.begin(), some.works.end());
    }
    EXPECT_EQ(reported, works);
    EXPECT_EQ(wait_any(comm, 2, 0).status, DT_PENDING);
    EXPECT_EQ(dt_wait(comm, works[0], 0), DT_E_INVAL);
  });
}

TEST(Completion, AnyReportsSeveralAtOnceUpToTheMost) {
  run_ranks(2, [](dt_comm* comm, int) {
    std::set<dt_work> works;
    for (int i = 0; i < 5; ++i) works.insert(submit_barrier(comm));
    const dt_work last = submit_barrier(comm);
    ASSERT_EQ(dt_wait(comm, last, -1), DT_OK);
    std::set<dt_work> reported;
    while (reported.size() < 3) {
      const Reports some = wait_any(comm, static_cast<std::uint32_t>(3 - reported.size()), -1);
      ASSERT_EQ(some.status, DT_OK);
      reported.insert(some.works.begin(), some.works.end());
    }
    const Reports rest = wait_any(comm, 10, -1);
    EXPECT_EQ(rest.works.size(), 2u);
    reported.insert(rest.works.begin(), rest.works.end());
    EXPECT_EQ(reported, works);
  });
}

TEST(Completion, AnyThatTimesOutSaysPendingAndTheOperationGoesOn) {
  std::barrier late(2);
  run_ranks(2, [&](dt_comm* comm, int rank) {
    if (rank == 1) late.arrive_and_wait();
    const dt_work work = submit_barrier(comm);
    if (rank == 0) {
      EXPECT_EQ(wait_any(comm, 4, 0).status, DT_PENDING);
      const Reports none = wait_any(comm, 4, 20);
      EXPECT_EQ(none.status, DT_PENDING);
      EXPECT_TRUE(none.works.empty());
      late.arrive_and_wait();
    }
    const Reports one = wait_any(comm, 4, -1);
    EXPECT_EQ(one.status, DT_OK);
    EXPECT_EQ(one.works, std::vector<dt_work>{work});
  });
}

TEST(Completion, AfterAFailureAnyReportsAllThatWerePendingAndThenTheError) {
  std::barrier done(2);
  std::vector<std::vector<float>> buffers(2, std::vector<float>(100000));
  run_ranks(2, [&](dt_comm* comm, int rank) {
    if (rank == 0) {
      std::set<dt_work> works;
      for (int i = 0; i < 7; ++i) works.insert(submit_sum(comm, buffers[0]));
      const int fd = dt_completion_fd(comm);
      EXPECT_FALSE(is_readable(fd));
      EXPECT_EQ(dt_comm_abort(comm, "enough"), DT_OK);
      EXPECT_TRUE(is_readable(fd));
      std::set<dt_work> reported;
      while (reported.size() < works.size()) {
        const Reports some = wait_any(comm, 3, -1);
        ASSERT_EQ(some.status, DT_OK);
        for (const std::int32_t status : some.statuses) EXPECT_EQ(status, DT_E_ABORTED);
        reported.insert(some.works.begin(), some.works.end());
      }
      EXPECT_EQ(reported, works);
      EXPECT_EQ(wait_any(comm, 3, -1).status, DT_E_ABORTED);
      EXPECT_TRUE(is_readable(fd)) << "wait_any returns at once";
    }
    done.arrive_and_wait();
  });
}

TEST(Completion, OneThreadWaitsForAnyWhileOthersWaitForTheirOwn) {
  run_ranks(2, [](dt_comm* comm, int) {
    constexpr int kEach = 200;
    std::mutex mutex;
    std::set<dt_work> submitted, ended;
    std::vector<std::thread> threads;
    std::atomic<int> left{2 * kEach};
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) {
          dt_work work = 0;
          {
            const std::lock_guard lock(mutex);
            work = submit_barrier(comm);
            submitted.insert(work);
          }
          const int status = dt_wait(comm, work, -1);
          EXPECT_TRUE(status == DT_OK || status == DT_E_INVAL) << status;
          if (status == DT_OK) {
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(ended.insert(work).second);
          }
          --left;
        }
      });
    }
    while (left > 0) {
      const Reports some = wait_any(comm, 4, 1);
      const std::lock_guard lock(mutex);
      for (const dt_work work : some.works) EXPECT_TRUE(ended.insert(work).second);
    }
    for (auto& thread : threads) thread.join();
    const Reports rest = wait_any(comm, 4, 0);
    EXPECT_EQ(rest.status, DT_PENDING) << "all were reported";
    EXPECT_EQ(ended, submitted);
  });
}

TEST(Completion, DescriptorIsReadableExactlyWhileAnyWouldReturn) {
  std::barrier step(2);
  run_ranks(2, [&](dt_comm* comm, int rank) {
    const dt_work early = submit_barrier(comm);
    ASSERT_EQ(dt_wait(comm, early, -1), DT_OK);
    const int fd = dt_completion_fd(comm);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(dt_completion_fd(comm), fd);
    EXPECT_FALSE(is_readable(fd));
    step.arrive_and_wait();
    if (rank == 1) step.arrive_and_wait();
    const dt_work first = submit_barrier(comm);
    if (rank == 0) {
      EXPECT_FALSE(is_readable(fd));
      step.arrive_and_wait();
    }
    pollfd entry{fd, POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, 20000), 1);
    EXPECT_TRUE(is_readable(fd)) << "it stays readable";
    EXPECT_EQ(dt_test(comm, first), DT_OK);
    EXPECT_FALSE(is_readable(fd)) << "dt_test has reported it";
    submit_barrier(comm);
    submit_barrier(comm);
    for (std::size_t reported = 0; reported < 2;) {
      ASSERT_EQ(::poll(&entry, 1, 20000), 1);
      const Reports one = wait_any(comm, 1, 0);
      ASSERT_EQ(one.status, DT_OK);
      reported += one.works.size();
    }
    EXPECT_FALSE(is_readable(fd));
  });
}

TEST(Completion, LoopDrivenByPollHearsOfAll) {
  run_ranks(3, [](dt_comm* comm, int) {
    constexpr std::size_t kRounds = 300;
    const int fd = dt_completion_fd(comm);
    std::vector<std::vector<float>> values(4, std::vector<float>(500, 1.0F));
    std::vector<dt_work> owners(values.size());
    std::size_t submitted = 0, ended = 0;
    for (std::size_t i = 0; i < values.size(); ++i) owners[i] = submit_sum(comm, values[i]);
    submitted = values.size();
    while (ended < submitted) {
      pollfd entry{fd, POLLIN, 0};
      ASSERT_EQ(::poll(&entry, 1, 20000), 1) << last_error(comm);
      const Reports some = wait_any(comm, 2, 0);
      ASSERT_EQ(some.status, DT_OK);
      ended += some.works.size();
      for (const dt_work work : some.works) {
        const auto at = std::find(owners.begin(), owners.end(), work);
        ASSERT_NE(at, owners.end());
        // Operations may end in any order, but must be submitted in the same order.
        if (submitted == kRounds) continue;
        ++submitted;
        auto& buffer = values[static_cast<std::size_t>(at - owners.begin())];
        *at = submit_sum(comm, buffer);
      }
    }
    EXPECT_EQ(ended, kRounds);
  });
}

TEST(Completion, ThousandOperationsInFlightAreWaitedForInAnyOrder) {
  run_ranks(3, [](dt_comm* comm, int rank) {
    constexpr std::size_t kOperations = 1000;
    std::vector<std::vector<float>> data;
    std::vector<dt_work> works;
    for (std::size_t i = 0; i < kOperations; ++i) {
      data.emplace_back(i % 50 == 0 ? 20011 : i % 70, static_cast<float>(rank + 1));
    }
    for (auto& values : data) works.push_back(submit_sum(comm, values));
    std::vector<std::size_t> order(kOperations);
    for (std::size_t i = 0; i < kOperations; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(rank)));
    for (const std::size_t i : order) {
      ASSERT_EQ(dt_wait(comm, works[i], -1), DT_OK) << last_error(comm);
      for (const float value : data[i]) ASSERT_EQ(value, 6.0F);
    }
    EXPECT_EQ(wait_any(comm, 1, 0).status, DT_PENDING);
  });
}

TEST(Completion, SmallOperationOvertakesALargeOne) {
  run_ranks(2, [](dt_comm* comm, int) {
    std::vector<float> large(16 << 20, 1.0F), small(1, 2.0F);
    const dt_work slow = submit_sum(comm, large), quick = submit_sum(comm, small);
    const Reports first = wait_any(comm, 1, -1);
    EXPECT_EQ(first.works, std::vector<dt_work>{quick}) << "64 MiB were faster than 4 bytes";
    ASSERT_EQ(dt_wait(comm, slow, -1), DT_OK) << last_error(comm);
    EXPECT_EQ(small[0], 4.0F);
    EXPECT_EQ(std::count(large.begin(), large.end(), 2.0F), 16 << 20);
  });
}

// Data sent to a rank before a short operation begins there must not delay that one.
TEST(Completion, SmallOperationsPassThreeLargeOnesThatCannotEndYet) {
  run_ranks(3, [](dt_comm* comm, int rank) {
    std::vector<std::vector<float>> large(4, std::vector<float>(1 << 20, 1.0F));
    std::vector<dt_work> slow;
    for (auto& values : large) slow.push_back(submit_sum(comm, values));
    for (int i = 0; i < 20; ++i) {
      std::vector<float> small(10, static_cast<float>(rank));
      const dt_work work = submit_sum(comm, small);
      ASSERT_EQ(dt_wait(comm, work, -1), DT_OK) << last_error(comm);
      EXPECT_EQ(small, std::vector<float>(10, 3.0F));
    }
    for (const dt_work work : slow) ASSERT_EQ(dt_wait(comm, work, -1), DT_OK);
    for (auto& values : large) EXPECT_EQ(std::count(values.begin(), values.end(), 3.0F), 1 << 20);
  });
}

// Callers run the links themselves while they wait. One that submits and computes must not delay
// the others longer than the communication thread needs to notice.
TEST(Completion, OperationsMoveOnWhileACallerComputes) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 5;
  std::atomic<int> waited{0};
  run_ranks(2, [&](dt_comm* comm, int rank) {
    for (int round = 1; round <= kRounds; ++round) {
      std::vector<float> values(1000, 1.0F);
      EXPECT_EQ(dt_wait(comm, submit_barrier(comm), -1), DT_OK);  // probably runs the links
      const dt_work work = submit_sum(comm, values);
      const auto end = Clock::now() + std::chrono::seconds(20);
      if (rank == 0) {  // busy until the other rank has its sum
        while (waited < round && Clock::now() < end) std::this_thread::yield();
      }
      EXPECT_EQ(dt_wait(comm, work, 20000), DT_OK);
      EXPECT_LT(Clock::now(), end);
      EXPECT_EQ(values[999], 2.0F);
      if (rank == 1) ++waited;
    }
  });
}

// Several threads per rank; a lock and a turn give the same order of calls on all ranks.
TEST(Completion, ThreadsOfOneRankShareACommunicator) {
  run_ranks(3, [](dt_comm* comm, int rank) {
    constexpr int kThreads = 4, kEach = 50;
    std::mutex mutex;
    std::condition_variable changed;
    int turn = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          std::vector<float> values(static_cast<std::size_t>(t * 3000 + i),
                                    static_cast<float>(rank + t));
          dt_work work = 0;
          {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return turn % kThreads == t; });
            work = submit_sum(comm, values, static_cast<std::uint64_t>(t));
            ++turn;
            changed.notify_all();
          }
          ASSERT_EQ(dt_wait(comm, work, -1), DT_OK) << last_error(comm);
          for (const float value : values) ASSERT_EQ(value, static_cast<float>(3 + 3 * t));
        }
      });
    }
    for (auto& thread : threads) thread.join();
  });
}

TEST(Completion, WorldOfOneAnswersAtOnceAndInEveryWay) {
  run_ranks(1, [](dt_comm* comm, int) {
    const int fd = dt_completion_fd(comm);
    EXPECT_FALSE(is_readable(fd));
    EXPECT_EQ(wait_any(comm, 3, 0).status, DT_PENDING);
    std::vector<float> values{1, 2};
    const dt_work first = submit_sum(comm, values), second = submit_sum(comm, values);
    EXPECT_TRUE(is_readable(fd));
    EXPECT_EQ(dt_wait(comm, second, -1), DT_OK);
    EXPECT_TRUE(is_readable(fd));
    const Reports one = wait_any(comm, 3, -1);
    EXPECT_EQ(one.works, std::vector<dt_work>{first});
    EXPECT_FALSE(is_readable(fd));
    EXPECT_EQ(values, (std::vector<float>{1, 2}));
    std::array<std::uint8_t, 3> truths{0, 1, 2};
    dt_work work = 0;
    ASSERT_EQ(dt_allreduce(comm, truths.data(), truths.data(), 3, DT_BOOL, DT_MAX, DT_WIRE_DEFAULT,
                           0, &work),
              DT_OK);
    EXPECT_EQ(dt_wait(comm, work, -1), DT_OK);
    EXPECT_EQ(truths, (std::array<std::uint8_t, 3>{0, 1, 1})) << "as with more ranks";
    EXPECT_EQ(dt_send(comm, values.data(), 1, DT_F32, 0, 0, &work), DT_E_INVAL);
    EXPECT_EQ(dt_comm_abort(comm, "alone"), DT_OK);
    EXPECT_EQ(wait_any(comm, 3, -1).status, DT_E_ABORTED);
    EXPECT_THAT(last_error(comm), HasSubstr("alone"));
  });
}

}  // namespace
}  // namespace dtl::ring::test::completion_test
