// More faults: warnings before a timeout, ranks of one node that die, and what a communicator
// leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::fault2_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
constexpr auto kPromise = std::chrono::milliseconds(1000);  // dtring(3): within a second

struct Warnings {
  std::mutex mutex;
  std::vector<std::string> texts;
  static void add(const char* text, void* self) {
    auto* warnings = static_cast<Warnings*>(self);
    const std::lock_guard lock(warnings->mutex);
    warnings->texts.emplace_back(text);
  }
};

TEST(Warning, NamesTheRanksThatHaveNotBegunOnceAndBeforeTheTimeIsUp) {
  std::barrier late(4);
  std::array<Warnings, 4> warnings;
  const auto adjust = [&](dt_options& options) {
    options.warn_timeout_ms = 100;
    options.warn = &Warnings::add;
    options.warn_context = &warnings[static_cast<std::size_t>(options.rank)];
  };
  run_ranks(4, {}, adjust, [&](dt_comm* comm, int rank) {
    std::vector<float> values(100);
    if (rank == 1 || rank == 3) late.arrive_and_wait();
    dt_work work = 0;
    ASSERT_EQ(dt_allreduce(comm, values.data(), values.data(), 100, DT_F32, DT_SUM, DT_WIRE_DEFAULT,
                           4711, &work),
              DT_OK);
    if (rank == 0 || rank == 2) {
      EXPECT_EQ(dt_wait(comm, work, 450), DT_PENDING);
      late.arrive_and_wait();
    }
    EXPECT_EQ(dt_wait(comm, work, -1), DT_OK) << last_error(comm);
  });
  for (const std::size_t rank : {0, 2}) {
    ASSERT_EQ(warnings[rank].texts.size(), 1u) << rank;
    EXPECT_THAT(warnings[rank].texts[0],
                AllOf(HasSubstr("operation 1 (allreduce of 100 f32, sum, tag 4711)"),
                      HasSubstr("rank 1 (node01), rank 3 (node03) have not begun it")));
    EXPECT_THAT(warnings[rank].texts[0], Not(HasSubstr("\n")));
  }
}

// Ranks of one process group are on one node: dt_comm_create detects that.
std::vector<RankProcess> start_on_node(const Place& place, int world,
                                       const std::function<int(dt_comm*)>& body,
                                       const std::function<void(dt_options&)>& adjust = {}) {
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < world; ++rank) {
    dt_options options = options_for(place, rank, world);
    if (adjust) adjust(options);
    ranks.emplace_back(options, body);
  }
  return ranks;
}

bool shares_memory(dt_comm* comm) {
  std::array<char, 4096> json{};
  dt_stats_json(comm, json.data(), json.size());
  return std::string(json.data()).find("\"shared_memory\":true") != std::string::npos;
}

void report_warning(const char* text, void*) {
  RankProcess::report(std::string("[warned: ") + text + "]");
}

TEST(Warning, OfAStoppedRankComesBeforeTheTimeOutThatNamesItToo) {
  const Place place = free_place();
  auto ranks = start_on_node(
      place, 3,
      [](dt_comm* comm) {
        if (barrier(comm) != DT_OK) return 1;
        if (dt_comm_rank(comm) == 2) ::raise(SIGSTOP);
        const int status = barrier(comm, 5);
        RankProcess::report(last_error(comm));
        return -status;
      },
      [](dt_options& options) {
        options.operation_timeout_ms = 600;
        options.warn_timeout_ms = 100;
        options.warn = &report_warning;
      });
  for (const std::size_t rank : {0, 1}) {
    EXPECT_THAT(ranks[rank].wait_report(),
                AllOf(::testing::StartsWith("[warned: "),
                      HasSubstr("has waited for 100 ms: rank 2 (node02) has not begun it]"),
                      HasSubstr("is not complete after 600 ms: rank 2 (node02)")));
    EXPECT_EQ(ranks[rank].wait_status(), -DT_E_TIMEOUT);
  }
}

struct Kill {
  int world, victim;
  std::size_t count;
  bool is_shared;  // memory from dt_alloc
};
class KilledOnNode : public ::testing::TestWithParam<Kill> {};
INSTANTIATE_TEST_SUITE_P(Of, KilledOnNode,
                         ::testing::Values(Kill{2, 0, 1, false}, Kill{2, 1, 3000000, false},
                                           Kill{4, 3, 10, false}, Kill{4, 0, 1000000, false},
                                           Kill{4, 1, 1000000, true}, Kill{3, 2, 20000, true}),
                         [](const auto& tested) {
                           const Kill& kill = tested.param;
                           return "World" + std::to_string(kill.world) + "Rank" +
                                  std::to_string(kill.victim) + "Count" +
                                  std::to_string(kill.count) + (kill.is_shared ? "Shared" : "");
                         });

TEST_P(KilledOnNode, IsNamedByAllOthersWithinASecond) {
  const Kill kill = GetParam();
  const Place place = free_place();
  auto ranks = start_on_node(place, kill.world, [kill](dt_comm* comm) {
    if (!shares_memory(comm)) RankProcess::report("no shared memory: ");
    std::vector<float> own(kill.is_shared ? 0 : kill.count);
    auto* values =
        kill.is_shared ? static_cast<float*>(dt_alloc(comm, 4 * kill.count)) : own.data();
    int status = DT_OK;
    for (int i = 0; status == DT_OK; ++i) {
      if (i == 1) RankProcess::say_ready();
      dt_work work = 0;
      status =
          dt_allreduce(comm, values, values, kill.count, DT_F32, DT_SUM, DT_WIRE_DEFAULT, 0, &work);
      status = wait_for(comm, status, work);
    }
    RankProcess::report(last_error(comm));
    return -status;
  });
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
    EXPECT_THAT(reports[index], AllOf(HasSubstr("rank " + std::to_string(kill.victim) + " (node0" +
                                                std::to_string(kill.victim) + ") was lost"),
                                      Not(HasSubstr("no shared memory"))));
  }
}

TEST(Leaving, OfAProcessByExitWithoutDestroyIsNamedAndDoesNotHang) {
  const Place place = free_place();
  auto ranks = start_on_node(place, 3, [](dt_comm* comm) {
    int status = barrier(comm);
    if (dt_comm_rank(comm) == 0) std::exit(status);  // with static destructors and a running thread
    // Rank 0 may be gone before the others have seen the end of the first barrier.
    if (status == DT_OK) status = barrier(comm);
    RankProcess::report(last_error(comm));
    return -status;
  });
  EXPECT_EQ(ranks[0].wait_status(), DT_OK);
  for (const std::size_t rank : {1, 2}) {
    EXPECT_THAT(ranks[rank].wait_report(), HasSubstr("rank 0 (node00) was lost"));
    EXPECT_EQ(ranks[rank].wait_status(), -DT_E_PEER);
  }
}

TEST(Leaving, WithPendingSendsAndReceivesIsSafe) {
  for (const int per_node : {1, 2}) {
    std::vector<std::vector<float>> buffers(4, std::vector<float>(700000));
    run_nodes(2, per_node, {}, [&](dt_comm* comm, int rank) {
      std::array<dt_work, 2> works{};
      const auto place = static_cast<std::size_t>(rank);
      const int sent = dt_send(comm, buffers[place].data(), 700000, DT_F32, 1 - rank, 0, &works[0]);
      const int received = dt_recv(comm, buffers[place + 2].data(), rank == 0 ? 700000 : 10, DT_F32,
                                   1 - rank, 7, &works[1]);
      for (const int status : {sent, received}) {
        EXPECT_TRUE(status == DT_OK || status == DT_E_PEER || status == DT_E_MISMATCH) << status;
      }
    });
  }
}

std::size_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}
std::size_t descriptors() {
  return entries_of("/proc/self/fd");
}
std::size_t threads() {
  return entries_of("/proc/self/task");
}

// Mappings of this library; those of the allocator vary.
std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("memfd:dtring") != std::string::npos ? 1 : 0;
  }
  return count;
}

TEST(Leaving, LeavesNoDescriptorsMappingsOrThreads) {
  const auto cycle = [](int per_node) {
    run_nodes(4, per_node, {}, [](dt_comm* comm, int) {
      EXPECT_NE(dt_alloc(comm, 100000), nullptr);  // not freed
      EXPECT_GE(dt_completion_fd(comm), 0);
      dt_comm* part = nullptr;
      ASSERT_EQ(dt_comm_split(comm, 0, 0, &part), DT_OK);
      std::vector<float> values(10000, 1);
      EXPECT_EQ(allreduce(part, values), DT_OK);
      dt_comm_destroy(part);
    });
  };
  cycle(2);
  const std::size_t descriptors_before = descriptors();
  const std::size_t threads_before = threads();
  for (int i = 0; i < 50; ++i) cycle(i % 3 == 0 ? 4 : i % 3);
  EXPECT_EQ(descriptors(), descriptors_before);
  EXPECT_EQ(mappings(), 0u);
  for (int i = 0; threads() > threads_before && i < 5000; ++i) ::usleep(1000);  // the kernel's part
  EXPECT_EQ(threads(), threads_before);
}

TEST(Leaving, FailedMeetingsLeaveNoDescriptorsEither) {
  const auto cycle = [] {
    const Place place = free_place();
    dt_options options = options_for(place, 0, 3);
    options.connect_timeout_ms = 10;
    dt_comm* comm = nullptr;
    EXPECT_EQ(dt_comm_create(&options, &comm), DT_E_TIMEOUT);
    dt_comm_destroy(comm);
  };
  cycle();
  const std::size_t before = descriptors();
  for (int i = 0; i < 10; ++i) cycle();
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(mappings(), 0u);
}

}  // namespace
}  // namespace dtl::ring::test::fault2_test
