// What every rank reports after a fault: always a status and a name, never a hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/fd.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::fault_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
constexpr auto kPromise = std::chrono::milliseconds(1000);  // dtring(3): within a second

// Sums until it fails, and reports dt_last_error.
int sum_until_failure(dt_comm* comm, std::size_t count) {
  std::vector<float> values(count, 0.0f);
  int status = allreduce(comm, values);
  RankProcess::say_ready();
  while (status == DT_OK) status = allreduce(comm, values);
  RankProcess::report(last_error(comm));
  return -status;
}

std::vector<RankProcess> start_processes(const Place& place, int world,
                                         const std::function<int(dt_comm*)>& body,
                                         int operation_timeout_ms = 60000) {
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < world; ++rank) {
    dt_options options = options_for(place, rank, world);
    options.operation_timeout_ms = operation_timeout_ms;
    ranks.emplace_back(options, body);
  }
  return ranks;
}

struct Kill {
  int world, victim;
  std::size_t count;
};

class KilledRank : public ::testing::TestWithParam<Kill> {};
INSTANTIATE_TEST_SUITE_P(Of, KilledRank,
                         ::testing::Values(Kill{2, 0, 2000000}, Kill{2, 1, 2000000},
                                           Kill{4, 0, 1000000}, Kill{4, 2, 1000000}, Kill{4, 2, 10},
                                           Kill{5, 4, 100000}),
                         [](const auto& tested) {
                           const Kill& kill = tested.param;
                           return "World" + std::to_string(kill.world) + "Rank" +
                                  std::to_string(kill.victim) + "Count" +
                                  std::to_string(kill.count);
                         });

TEST_P(KilledRank, IsNamedByAllOthersWithinASecond) {
  const Kill kill = GetParam();
  const Place place = free_place();
  auto ranks = start_processes(place, kill.world,
                               [&](dt_comm* comm) { return sum_until_failure(comm, kill.count); });
  for (auto& rank : ranks) rank.wait_ready();
  const auto killed = Clock::now();
  ranks[static_cast<std::size_t>(kill.victim)].kill_now();
  std::vector<std::string> reports;
  for (auto& rank : ranks) reports.push_back(rank.wait_report());
  EXPECT_LT(Clock::now() - killed, kPromise);
  for (int rank = 0; rank < kill.world; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (rank == kill.victim) continue;
    EXPECT_EQ(ranks[index].wait_status(), -DT_E_PEER);
    EXPECT_THAT(reports[index], HasSubstr("rank " + std::to_string(kill.victim) + " (node0" +
                                          std::to_string(kill.victim % 4) + ") was lost"));
  }
}

TEST(Fault, OperationThatALostRankBrokeIsNamed) {
  const Place place = free_place();
  auto ranks = start_processes(place, 3, [](dt_comm* comm) {
    if (dt_comm_rank(comm) == 2) {
      RankProcess::say_ready();
      ::pause();
    }
    std::vector<float> values(12345);
    dt_work work = 0;
    int status = dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32, DT_SUM,
                              DT_WIRE_DEFAULT, 8, &work);
    if (dt_wait(comm, work, 1) != DT_PENDING) return 1;
    RankProcess::say_ready();
    status = wait_for(comm, status, work);
    RankProcess::report(last_error(comm));
    return -status;
  });
  for (auto& rank : ranks) rank.wait_ready();
  ranks[2].kill_now();
  for (const std::size_t rank : {0, 1}) {
    EXPECT_THAT(ranks[rank].wait_report(),
                AllOf(HasSubstr("operation 1 (allreduce of 12345 f32, sum, tag 8) failed"),
                      HasSubstr("rank 2 (node02) was lost")));
    EXPECT_EQ(ranks[rank].wait_status(), -DT_E_PEER);
  }
}

// A forked data loader must not keep its dead parent's connections open.
TEST(Fault, KilledRankIsNamedAlthoughItsForkedChildLives) {
  const Place place = free_place();
  Pipe life = make_pipe();  // the child lives until this test closes it
  auto ranks = start_processes(place, 3, [&](dt_comm* comm) {
    life.write_end.reset();
    if (dt_comm_rank(comm) == 1 && ::fork() == 0) {
      char byte = 0;
      dt_work work = 0;
      const bool is_refused = dt_barrier(comm, 0, &work) == DT_E_INVAL;
      RankProcess::say_ready();
      (void)!::read(life.read_end.get(), &byte, 1);
      ::_exit(is_refused ? 0 : 1);
    }
    return sum_until_failure(comm, 1000);
  });
  for (auto& rank : ranks) rank.wait_ready();
  const auto killed = Clock::now();
  ranks[1].kill_now();
  for (const std::size_t rank : {0, 2}) {
    EXPECT_THAT(ranks[rank].wait_report(), HasSubstr("rank 1 (node01) was lost"));
  }
  EXPECT_LT(Clock::now() - killed, kPromise);
}

TEST(Fault, RankThatExitsEarlyIsNamed) {
  const Place place = free_place();
  auto ranks = start_processes(place, 3, [](dt_comm* comm) {
    if (dt_comm_rank(comm) == 1) ::_exit(0);
    return sum_until_failure(comm, 1000);
  });
  for (const std::size_t rank : {0, 2}) {
    EXPECT_THAT(ranks[rank].wait_report(), HasSubstr("rank 1 (node01) was lost"));
    EXPECT_EQ(ranks[rank].wait_status(), -DT_E_PEER);
  }
}

TEST(Fault, RankKilledBetweenOperationsFailsTheNextOne) {
  const Place place = free_place();
  auto ranks = start_processes(place, 3, [](dt_comm* comm) {
    if (barrier(comm) != DT_OK) return 1;
    RankProcess::say_ready();
    if (dt_comm_rank(comm) == 2) ::pause();
    int status = DT_OK;
    while (status == DT_OK) status = barrier(comm);  // blocks until rank 2 is lost
    RankProcess::report(last_error(comm));
    return -status;
  });
  for (auto& rank : ranks) rank.wait_ready();
  ranks[2].kill_now();
  for (const std::size_t rank : {0, 1}) {
    EXPECT_THAT(ranks[rank].wait_report(), HasSubstr("rank 2 (node02) was lost"));
    EXPECT_EQ(ranks[rank].wait_status(), -DT_E_PEER);
  }
}

TEST(Fault, StoppedRankRunsIntoTheOperationTimeout) {
  const Place place = free_place();
  auto ranks = start_processes(
      place, 3,
      [](dt_comm* comm) {
        if (barrier(comm) != DT_OK) return 1;
        RankProcess::say_ready();
        if (dt_comm_rank(comm) == 1) ::raise(SIGSTOP);
        return sum_until_failure(comm, 300000);
      },
      400);
  for (const std::size_t rank : {0, 2}) {
    EXPECT_THAT(ranks[rank].wait_report(), AllOf(HasSubstr("is not complete after 400 ms"),
                                                 HasSubstr("rank 1 (node01) has not begun it")));
    EXPECT_EQ(ranks[rank].wait_status(), -DT_E_TIMEOUT);
  }
}

TEST(Fault, AbsentRankRunsIntoTheOperationTimeoutAndIsNamed) {
  std::barrier done(3);
  run_ranks(
      3, {}, [](dt_options& options) { options.operation_timeout_ms = 200; },
      [&](dt_comm* comm, int rank) {
        if (rank != 1) {
          EXPECT_EQ(barrier(comm, 77), DT_E_TIMEOUT);
          EXPECT_THAT(last_error(comm), AllOf(HasSubstr("operation 1 (barrier, tag 77)"),
                                              HasSubstr("rank 1 (node01) has not begun it")));
        }
        done.arrive_and_wait();
      });
}

TEST(Fault, RankThatLeavesIsNamedByTheOperationsAfterIt) {
  std::barrier waits(4);
  run_ranks(4, [&](dt_comm* comm, int rank) {
    ASSERT_EQ(barrier(comm), DT_OK);
    if (rank == 3) {
      waits.arrive_and_drop();
      return;  // run_ranks destroys the communicator
    }
    waits.arrive_and_wait();
    EXPECT_EQ(barrier(comm), DT_E_PEER);
    EXPECT_THAT(last_error(comm), HasSubstr("rank 3 (node03) has left after 1 operations"));
    waits.arrive_and_wait();
  });
}

TEST(Fault, RankMayLeaveWhileOthersStillReceive) {
  run_ranks(4, [](dt_comm* comm, int rank) {
    std::vector<float> data(3000000, rank == 0 ? 5.0f : 0.0f);
    dt_work work = 0;
    ASSERT_EQ(dt_broadcast(comm, data.data(), data.size(), DT_F32, 0, 0, &work), DT_OK);
    ASSERT_EQ(dt_wait(comm, work, -1), DT_OK) << last_error(comm);
    EXPECT_EQ(data.back(), 5.0f);
  });
}

TEST(Fault, AbortFailsAllRanksWithItsText) {
  std::barrier done(3);
  run_ranks(3, [&](dt_comm* comm, int rank) {
    std::vector<float> values(100000);
    dt_work work = 0;
    if (rank == 2) {
      EXPECT_EQ(dt_comm_abort(comm, "the loss is not a number"), DT_OK);
      EXPECT_EQ(barrier(comm), DT_E_ABORTED);
    } else {
      const int status = dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32,
                                      DT_SUM, DT_WIRE_DEFAULT, 0, &work);
      EXPECT_EQ(wait_for(comm, status, work), DT_E_ABORTED);
    }
    EXPECT_THAT(last_error(comm), HasSubstr("rank 2 (node02) aborted: the loss is not a number"));
    done.arrive_and_wait();
  });
}

TEST(Fault, DestroyWithPendingOperationsIsSafe) {
  // Nobody waits for these, so the library owns them until the communicators are destroyed.
  std::vector<std::vector<float>> buffers(3, std::vector<float>(500000));
  run_ranks(3, [&](dt_comm* comm, int rank) {
    std::vector<float>& values = buffers[static_cast<std::size_t>(rank)];
    std::array<dt_work, 6> works{};
    if (rank == 0) return;  // never takes part
    for (dt_work& work : works) {
      const int status = dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32,
                                      DT_SUM, DT_WIRE_DEFAULT, 0, &work);
      EXPECT_THAT(status, AnyOf(DT_OK, DT_E_PEER, DT_E_ABORTED));
    }
  });
}

TEST(Fault, DestroyWakesAThreadThatWaits) {
  run_ranks(2, [](dt_comm* comm, int rank) {
    if (rank == 1) {
      EXPECT_NE(barrier(comm), DT_OK);  // rank 0 leaves instead
    }
  });
}

TEST(Fault, WorkIdsAreReportedOnce) {
  run_ranks(2, [](dt_comm* comm, int) {
    dt_work work = 0;
    ASSERT_EQ(dt_barrier(comm, 0, &work), DT_OK);
    EXPECT_NE(work, 0u);
    EXPECT_EQ(dt_wait(comm, work, -1), DT_OK);
    EXPECT_EQ(dt_wait(comm, work, -1), DT_E_INVAL);
    EXPECT_EQ(dt_test(comm, 0), DT_E_INVAL);
    EXPECT_EQ(dt_test(comm, ~dt_work{0}), DT_E_INVAL);
  });
}

// --- operations that do not match ---

using Call = std::function<int(dt_comm*, std::vector<float>&, dt_work*)>;

// Ranks 0 and 2 call `usual`, rank 1 calls `other`; all must report both. The root of a broadcast
// waits for nobody: it may finish before the news arrives, and then reports it from its next
// operation.
enum class Roots { kNone, kMayFinish };
void expect_mismatch(const Call& usual, const Call& other, const std::string& usual_text,
                     const std::string& other_text, Roots roots = Roots::kNone) {
  std::barrier done(3);
  run_ranks(3, [&](dt_comm* comm, int rank) {
    std::vector<float> values(100000);
    dt_work work = 0;
    const auto start = Clock::now();
    const int status = (rank == 1 ? other : usual)(comm, values, &work);
    const int ended = wait_for(comm, status, work);
    const bool finished = roots == Roots::kMayFinish && ended == DT_OK;
    EXPECT_TRUE(finished || ended == DT_E_MISMATCH) << dt_strerror(ended);
    EXPECT_EQ(barrier(comm), DT_E_MISMATCH) << "later operations answer the first error";
    EXPECT_LT(Clock::now() - start, kPromise);
    const std::string error = last_error(comm);
    EXPECT_THAT(error, AllOf(HasSubstr("rank 1 (node01) calls " + other_text),
                             HasSubstr(" calls " + usual_text)));
    done.arrive_and_wait();
  });
}

Call sum_of(std::uint64_t count, int dtype, std::uint64_t tag) {
  return [=](dt_comm* comm, std::vector<float>& values, dt_work* work) {
    return dt_allreduce(comm, values.data(), values.data(), count, dtype, DT_SUM, DT_WIRE_DEFAULT,
                        tag, work);
  };
}

Call broadcast_from(int root) {
  return [=](dt_comm* comm, std::vector<float>& values, dt_work* work) {
    return dt_broadcast(comm, values.data(), 100, DT_F32, root, 0, work);
  };
}

TEST(Mismatch, OfCountsIsNamedOnAllRanks) {
  expect_mismatch(sum_of(8, DT_F32, 5), sum_of(4, DT_F32, 5), "allreduce of 8 f32, sum, tag 5",
                  "allreduce of 4 f32, sum, tag 5");
  expect_mismatch(sum_of(90000, DT_F32, 5), sum_of(89999, DT_F32, 5), "allreduce of 90000 f32",
                  "allreduce of 89999 f32");
}

TEST(Mismatch, OfTypesIsNamedOnAllRanks) {
  expect_mismatch(sum_of(100, DT_F32, 0), sum_of(100, DT_I32, 0), "allreduce of 100 f32",
                  "allreduce of 100 i32");
}

TEST(Mismatch, OfTagsIsNamedOnAllRanks) {
  expect_mismatch(sum_of(100, DT_F32, 1), sum_of(100, DT_F32, 2),
                  "allreduce of 100 f32, sum, tag 1", "allreduce of 100 f32, sum, tag 2");
}

TEST(Mismatch, OfOperationsIsNamedOnAllRanks) {
  expect_mismatch(sum_of(100, DT_F32, 0), broadcast_from(0), "allreduce of 100 f32",
                  "broadcast of 100 f32 from rank 0");
}

TEST(Mismatch, OfRootsIsNamedOnAllRanks) {
  expect_mismatch(broadcast_from(0), broadcast_from(2), "broadcast of 100 f32 from rank 0",
                  "broadcast of 100 f32 from rank 2", Roots::kMayFinish);
}

TEST(Mismatch, OfCountsPerRankIsNamedOnAllRanks) {
  const auto gather_counts = [](std::array<std::uint64_t, 3> counts) -> Call {
    return [=](dt_comm* comm, std::vector<float>& values, dt_work* work) {
      return dt_allgatherv(comm, values.data(), values.data() + 1000, counts.data(), DT_F32, 0,
                           work);
    };
  };
  expect_mismatch(gather_counts({1, 2, 3}), gather_counts({3, 2, 1}), "allgather of 6 f32",
                  "allgather of 6 f32");
}

// --- arguments ---

TEST(Arguments, ThatAreWrongAreRefusedAndNothingIsEnqueued) {
  run_ranks(2, [](dt_comm* comm, int) {
    std::array<float, 8> values{};
    auto* odd = reinterpret_cast<float*>(reinterpret_cast<char*>(values.data()) + 1);
    dt_work work = 0;
    const auto sum = [&](const void* in, void* out, std::uint64_t count, int dtype, int op) {
      return dt_allreduce(comm, in, out, count, dtype, op, DT_WIRE_DEFAULT, 0, &work);
    };
    EXPECT_EQ(sum(nullptr, values.data(), 8, DT_F32, DT_SUM), DT_E_INVAL);
    EXPECT_EQ(sum(values.data(), nullptr, 8, DT_F32, DT_SUM), DT_E_INVAL);
    EXPECT_EQ(sum(values.data(), values.data(), 8, 99, DT_SUM), DT_E_INVAL);
    EXPECT_EQ(sum(values.data(), values.data(), 8, DT_F32, 7), DT_E_INVAL);
    EXPECT_EQ(sum(odd, odd, 1, DT_F32, DT_SUM), DT_E_INVAL);
    EXPECT_EQ(sum(values.data(), values.data(), ~std::uint64_t{0}, DT_F32, DT_SUM), DT_E_INVAL);
    EXPECT_EQ(dt_broadcast(comm, values.data(), 1, DT_F32, 2, 0, &work), DT_E_INVAL);
    EXPECT_EQ(dt_broadcast(comm, values.data(), 1, DT_F32, -1, 0, &work), DT_E_INVAL);
    EXPECT_EQ(dt_barrier(comm, 0, nullptr), DT_E_INVAL);
    EXPECT_EQ(dt_barrier(nullptr, 0, &work), DT_E_INVAL);
    EXPECT_EQ(barrier(comm), DT_OK);
  });
}

}  // namespace
}  // namespace dtl::ring::test::fault_test
