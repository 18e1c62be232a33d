// Links that are made on first use, as in large worlds.
#include "ring/meeting/late_links.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ring/common/comm_error.h"
#include "ring/common/socket.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::late_links_test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

Tuning late() {
  Tuning tuning;
  tuning.most_linked = 1;
  tuning.node = "none";
  return tuning;
}

int send(dt_comm* comm, int to, std::uint32_t value) {
  dt_work work = 0;
  const int status = dt_send(comm, &value, 1, DT_I32, to, 0, &work);
  return wait_for(comm, status, work);
}

int receive(dt_comm* comm, int from, std::uint32_t& value) {
  dt_work work = 0;
  const int status = dt_recv(comm, &value, 1, DT_I32, from, 0, &work);
  return wait_for(comm, status, work);
}

std::size_t open_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc/self/fd"), &::closedir);
  std::size_t count = 0;
  while (::readdir(all.get()) != nullptr) ++count;
  return count;
}

constexpr std::size_t kCrowd = 40;

// Of all ranks, which are threads of this process: after a barrier and a short sum.
std::size_t descriptors_of_a_sum() {
  const std::size_t before = open_descriptors();
  std::size_t after = 0;
  run_ranks(kCrowd, {}, {}, [&](dt_comm* comm, int rank) {
    std::vector<float> values(4, 1);
    EXPECT_EQ(allreduce(comm, values), DT_OK) << last_error(comm);
    EXPECT_EQ(values[0], kCrowd);
    EXPECT_EQ(barrier(comm), DT_OK) << last_error(comm);
    if (rank == 0) after = open_descriptors() - before;
    EXPECT_EQ(barrier(comm), DT_OK) << last_error(comm);
  });
  return after;
}

// In a process of its own, so that no other test opens any.
TEST(LateLinksDeathTest, ALargeWorldConnectsOnlyThoseThatTalk) {
  // Of each rank: both ends of its control line, listener, two epolls, eventfds.
  constexpr std::size_t kOwn = 10;
  // A barrier and a short sum are made by doubling: with 5 partners, and 1 of a pair beyond 32.
  constexpr std::size_t kPartners = 6;
  EXPECT_EXIT(
      {
        const std::size_t open = descriptors_of_a_sum();
        if (open > kCrowd * (kOwn + kPartners)) ::dprintf(2, "%zu descriptors\n", open);
        ::_exit(open <= kCrowd * (kOwn + kPartners) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(LateLinks, AllCollectivesOfAllPairsWork) {
  run_ranks(7, late(), {}, [](dt_comm* comm, int rank) {
    for (int round = 0; round < 3; ++round) {
      std::vector<std::int32_t> in(7 * 100, rank), out(7 * 100);
      dt_work work = 0;
      const int status = dt_alltoall(comm, in.data(), out.data(), 100, DT_I32, 0, &work);
      ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i], static_cast<std::int32_t>(i / 100));
      }
      std::vector<float> values(300000, static_cast<float>(rank));
      ASSERT_EQ(allreduce(comm, values), DT_OK) << last_error(comm);
      ASSERT_EQ(values, std::vector<float>(300000, 21.0F));
    }
  });
}

// The higher rank of a pair connects. Here it knows of nothing until it is knocked for.
TEST(LateLinks, ALowerRankReachesAHigherOneThatWaitsForNothing) {
  run_ranks(3, late(), {}, [](dt_comm* comm, int rank) {
    std::uint32_t value = 0;
    if (rank == 0) {
      EXPECT_EQ(send(comm, 2, 17), DT_OK) << last_error(comm);
    } else if (rank == 2) {
      // A message is announced without a receive, so a link was made for it.
      std::int32_t from = 0, dtype = 0;
      std::uint64_t count = 0, tag = 0;
      EXPECT_EQ(dt_probe(comm, &from, &count, &dtype, &tag, 30000), DT_OK) << last_error(comm);
      EXPECT_EQ(receive(comm, 0, value), DT_OK) << last_error(comm);
      EXPECT_EQ(value, 17U);
    }
    EXPECT_EQ(barrier(comm), DT_OK) << last_error(comm);
  });
}

TEST(LateLinks, ARankThatHasLeftIsNamedThoughNobodyWasLinkedToIt) {
  for (const int leaver : {0, 1, 2}) {
    run_ranks(3, late(), {}, [&](dt_comm* comm, int rank) {
      if (rank == leaver) return;  // run_ranks destroys it
      std::uint32_t value = 0;
      EXPECT_EQ(receive(comm, leaver, value), DT_E_PEER);
      EXPECT_THAT(last_error(comm), HasSubstr("rank " + std::to_string(leaver)));
    });
  }
}

TEST(LateLinks, AKilledRankIsNamedBeforeItsFirstUse) {
  const Place place = free_place();
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back(options_for(place, rank, 4), late(), [rank](dt_comm* comm) {
      RankProcess::say_ready();
      std::uint32_t value = 0;
      const int status = receive(comm, rank == 3 ? 0 : 3, value);
      RankProcess::report(last_error(comm));
      return status == DT_E_PEER ? 0 : 1;
    });
  }
  for (RankProcess& rank : ranks) rank.wait_ready();
  ranks[3].kill_now();
  for (int rank = 0; rank < 3; ++rank) {
    RankProcess& process = ranks[static_cast<std::size_t>(rank)];
    EXPECT_THAT(process.wait_report(), AllOf(HasSubstr("rank 3"), HasSubstr("was lost")));
    EXPECT_EQ(process.wait_status(), 0);
  }
}

TEST(LateLinks, AreEncryptedAsOthersAre) {
  Tuning tuning = late();
  tuning.encrypts_all = true;
  const auto encrypt = [](dt_options& options) { options.flags |= DT_ENCRYPT; };
  run_ranks(4, tuning, encrypt, [](dt_comm* comm, int rank) {
    std::vector<float> values(100000, static_cast<float>(rank));
    ASSERT_EQ(allreduce(comm, values), DT_OK) << last_error(comm);
    EXPECT_EQ(values, std::vector<float>(100000, 6.0F));
  });
}

TEST(LateLinks, StrangersAfterTheMeetingDisturbNobody) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(join_later(options_for(place, rank, 3), late()));
  }
  std::vector<Joined> joined;
  for (auto& rank : ranks) joined.push_back(rank.get());
  std::vector<Fd> strangers;
  for (int i = 0; i < 50; ++i) {
    strangers.push_back(connect_stranger(place));
    const std::array<char, 80> noise{};
    if (i % 2 == 0) (void)!::write(strangers.back().get(), noise.data(), noise.size());
  }
  std::vector<std::future<int>> barriers;
  for (const Joined& rank : joined) {
    ASSERT_EQ(rank.status, DT_OK) << rank.error;
    barriers.push_back(std::async(std::launch::async, [&] { return barrier(rank.comm.get()); }));
  }
  for (auto& each : barriers) EXPECT_EQ(each.get(), DT_OK);
}

// The limit of this process has room for some of the links, but not for all that are wanted at
// once.
TEST(LateLinks, TooFewDescriptorsForAllWantsAreAnErrorAtOnce) {
  constexpr int kPeers = 8;
  auto identity = std::make_unique<Identity>(
      Identity{42, kPeers + 1, kPeers, std::vector<std::uint8_t>(32, 1)});
  Acceptor acceptor(*identity, listen_on(resolve("127.0.0.1", 0).front(), 8));
  std::vector<PeerInfo> infos(kPeers + 1);
  for (PeerInfo& info : infos) info = {local_address(acceptor.fd()), "node", {}, {}};
  LateLinks links(std::move(identity), std::move(infos), std::move(acceptor), {}, {1, 200ms, 1s});
  const pid_t child = ::fork();  // a hard limit cannot be raised again
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlim_t few = open_descriptors() + kPeers / 2;
    const rlimit low{few, few};
    if (::setrlimit(RLIMIT_NOFILE, &low) != 0) ::_exit(2);
    try {
      for (int peer = 0; peer < kPeers; ++peer) links.want(peer, Lane::kSmall);
    } catch (const CommError& error) {
      ::_exit(std::string(error.what()).find("its hard limit") != std::string::npos ? 0 : 3);
    }
    ::_exit(1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Ranks 1 and 2 are the children of rank 0, 3 to 6 theirs, 7 to 14 theirs.
constexpr int kTree = 15;

Tuning of_tree() {
  Tuning tuning = late();
  tuning.fan_out = 2;
  return tuning;
}

// Each rank waits for a message that never comes, from another rank than `lost`, in vain.
int wait_in_vain(dt_comm* comm, int rank) {
  std::uint32_t value = 0;
  const int status = receive(comm, rank == 13 ? 12 : 13, value);
  RankProcess::report(last_error(comm));
  return status == DT_E_PEER ? 0 : 1;
}

TEST(ControlTree, EveryRankHearsOfALostOneWhereverItIs) {
  for (const int lost : {0, 2, 5, 14}) {
    const Place place = free_place();
    std::vector<RankProcess> ranks;
    for (int rank = 0; rank < kTree; ++rank) {
      ranks.emplace_back(options_for(place, rank, kTree), of_tree(), [rank](dt_comm* comm) {
        RankProcess::say_ready();
        return wait_in_vain(comm, rank);
      });
    }
    for (RankProcess& rank : ranks) rank.wait_ready();
    ranks[static_cast<std::size_t>(lost)].kill_now();
    for (int rank = 0; rank < kTree; ++rank) {
      if (rank == lost) continue;
      RankProcess& process = ranks[static_cast<std::size_t>(rank)];
      EXPECT_THAT(process.wait_report(),
                  AllOf(HasSubstr("rank " + std::to_string(lost) + " "), HasSubstr("was lost")));
      EXPECT_EQ(process.wait_status(), 0);
    }
  }
}

bool has_had_lines(dt_comm* comm, std::uint64_t lines) {
  const auto deadline = Clock::now() + 30s;
  while (reinterpret_cast<Comm*>(comm)->calls().counters().lines < lines) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// Rank 3 leaves, and then rank 1, to which ranks 7 and 8 have come. So these and rank 4 come to
// rank 0.
TEST(ControlTree, RanksWhoseParentsHaveLeftHearOfALostOneFromOthersAbove) {
  const Place place = free_place();
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < kTree; ++rank) {
    ranks.emplace_back(options_for(place, rank, kTree), of_tree(), [rank](dt_comm* comm) {
      if (rank == 3) return 0;
      if (rank < 2 && !has_had_lines(comm, 5)) return 2;
      if (rank == 1) return 0;
      RankProcess::say_ready();
      return wait_in_vain(comm, rank);
    });
  }
  for (const std::size_t rank : {1U, 3U}) EXPECT_EQ(ranks[rank].wait_status(), 0);
  for (std::size_t rank = 0; rank < kTree; ++rank) {
    if (rank != 1 && rank != 3) ranks[rank].wait_ready();
  }
  ranks[14].kill_now();
  for (std::size_t rank = 0; rank < 14; ++rank) {
    if (rank == 1 || rank == 3) continue;
    EXPECT_THAT(ranks[rank].wait_report(), AllOf(HasSubstr("rank 14 "), HasSubstr("was lost")))
        << "rank " << rank;
    EXPECT_EQ(ranks[rank].wait_status(), 0);
  }
}

TEST(ControlTree, AnAbortRightAfterTheMeetingReachesAll) {
  run_ranks(kTree, of_tree(), {}, [](dt_comm* comm, int rank) {
    if (rank == 11) {
      EXPECT_EQ(dt_comm_abort(comm, "enough"), DT_OK);
    }
    EXPECT_EQ(barrier(comm), DT_E_ABORTED);
    EXPECT_THAT(last_error(comm), HasSubstr("enough"));
  });
}

TEST(ControlTree, AFailureWhileRanksMeetReachesAll) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  for (int rank = 0; rank < kTree; ++rank) {
    dt_options options = options_for(place, rank, kTree);
    options.connect_timeout_ms = 1500;
    if (rank != 9) ranks.push_back(join_later(options, of_tree()));
  }
  for (auto& rank : ranks) {
    const Joined joined = rank.get();
    EXPECT_EQ(joined.status, DT_E_TIMEOUT);
    EXPECT_THAT(joined.error, HasSubstr("rank 9 did not join"));
  }
}

// Steps `links` as the engine does, until something has failed.
std::optional<LateLinks::Failure> step_until_failure(LateLinks& links) {
  const auto deadline = Clock::now() + 30s;
  while (Clock::now() < deadline) {
    if (auto news = links.step(); news.failure) return news.failure;
    const auto wait =
        std::clamp(links.due() - Clock::now(), Clock::duration(0ms), Clock::duration(1s));
    pollfd entry{links.fd(), POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count()));
  }
  return std::nullopt;
}

TEST(LateLinks, APeerThatNeverAnswersIsNamedAfterTheTimeout) {
  const Fd mute = listen_on(resolve("127.0.0.1", 0).front(), 8);
  for (const int self : {0, 1}) {
    auto identity =
        std::make_unique<Identity>(Identity{42, 2, self, std::vector<std::uint8_t>(32, 1)});
    std::vector<PeerInfo> infos(2);
    for (PeerInfo& info : infos) info = {local_address(mute.get()), "node", {}, {}};
    Acceptor acceptor(*identity, listen_on(resolve("127.0.0.1", 0).front(), 8));
    LateLinks links(std::move(identity), std::move(infos), std::move(acceptor), {}, {1, 200ms});
    links.want(1 - self, Lane::kSmall);
    const auto failure = step_until_failure(links);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->peer, 1 - self);
    EXPECT_THAT(failure->cause, AllOf(HasSubstr("no connection within 200 ms"),
                                      HasSubstr("rank " + std::to_string(1 - self) + " (node)")));
  }
}

}  // namespace
}  // namespace dtl::ring::test::late_links_test
