#include "agent/cores/core_claims.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "agent/cores/abstract_socket.h"
#include "agent/cores/core_owner.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/agent/own_network.h"
#include "wire/field_kinds.h"

namespace dtl::core_claims_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

CpuSet range(int first, int last) {
  CpuSet cpus;
  for (int cpu = first; cpu <= last; ++cpu) cpus.add(cpu);
  return cpus;
}

// Ids of this test alone: other tests run beside it, in the same network namespace.
std::string new_id() {
  return to_hex(random_bytes(8, "draw an id"));
}

CpuSet own_cpus() {
  cpu_set_t set;
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  CpuSet cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.add(cpu);
  }
  return cpus;
}

// A process of its own, which does `act`, says so and lives until the object ends.
class Other {
 public:
  explicit Other(const std::function<void()>& act) : ready_(make_pipe()), end_(make_pipe()) {
    pid_ = ::fork();
    if (pid_ != 0) {
      char byte = 0;
      EXPECT_EQ(::read(ready_.read_end.get(), &byte, 1), 1);
      return;
    }
    act();
    char byte = 'r';
    if (::write(ready_.write_end.get(), &byte, 1) != 1) ::_exit(1);
    end_.write_end.reset();
    (void)!::read(end_.read_end.get(), &byte, 1);
    ::_exit(0);
  }
  ~Other() { end(); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  void end() {
    end_.write_end.reset();
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  Pipe ready_, end_;
  pid_t pid_ = -1;
};

// Only the claims of these jobs; others may run on this machine.
std::vector<CoreClaim> of_jobs(const std::vector<CoreClaim>& claims,
                               const std::vector<std::string>& jobs) {
  std::vector<CoreClaim> found;
  for (const CoreClaim& claim : claims) {
    if (std::find(jobs.begin(), jobs.end(), claim.job_id) != jobs.end()) found.push_back(claim);
  }
  return found;
}

// Claims of this machine's own cores: one such test at a time, also of those in other processes.
class CoreOwners : public testing::Test {
 public:
  void SetUp() override { ASSERT_EQ(::flock(program_.get(), LOCK_EX), 0); }

 private:
  const test::OwnNetwork alone_;
  Fd program_{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
};

TEST(ClaimName, ReadsWhatItWrote) {
  const ClaimName claim{"00112233aabbccdd", milliseconds(123456), true, 0xabc, range(3, 9)};
  EXPECT_THAT(write_claim_names(claim),
              ElementsAre("dtlaunch-cores/1/00112233aabbccdd/123456/s/00000abc/3-9"));
  EXPECT_EQ(read_claim_name(write_claim_names(claim)[0]), claim);
}

TEST(ClaimName, TakesSeveralNamesForManyPieces) {
  ClaimName claim{"00112233aabbccdd", milliseconds(123456), false, 7, {}};
  for (int cpu = 0; cpu < 4096; cpu += 2) claim.cpus.add(cpu);
  CpuSet joined;
  for (const std::string& name : write_claim_names(claim)) {
    ASSERT_LE(name.size(), kMaxSocketName);
    const auto read = read_claim_name(name);
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->job_id, claim.job_id);
    joined = joined | read->cpus;
  }
  EXPECT_EQ(joined, claim.cpus);
}

TEST(ClaimName, RefusesAnyOtherSpelling) {
  const std::string good = "dtlaunch-cores/1/00112233aabbccdd/5/x/00000001/0-3,8";
  ASSERT_TRUE(read_claim_name(good));
  for (const char* bad :
       {"", "dtlaunch-cores/1/", "dtlaunch-cores/2/00112233aabbccdd/5/x/00000001/0",
        "dtlaunch-cores/1//5/x/00000001/0", "dtlaunch-cores/1/00112233aabbccdd/5/y/00000001/0",
        "dtlaunch-cores/1/00112233aabbccdd/-5/x/00000001/0",
        "dtlaunch-cores/1/00112233aabbccdd/05/x/00000001/0",
        "dtlaunch-cores/1/00112233aabbccdd/5/x/1/0",
        "dtlaunch-cores/1/00112233aabbccdd/5/x/0000000G/0",
        "dtlaunch-cores/1/00112233aabbccdd/5/x/00000001/",
        "dtlaunch-cores/1/00112233aabbccdd/5/x/00000001/3-0",
        "dtlaunch-cores/1/00112233aabbccdd/5/x/00000001/0,1,2,3,8",
        "dtlaunch-cores/1/00112233aabbccdd/5/x/00000001/0-99999999",
        "dtlaunch-cores/1/00112233aabbccdd/5/x/00000001/0-3,8 ",
        "dtlaunch-cores/1/00112233aabbccdd0/5/x/00000001/0"}) {
    EXPECT_FALSE(read_claim_name(bad)) << bad;
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    text[random() % text.size()] = static_cast<char>(random() % 256);
    if (const auto read = read_claim_name(text)) {
      EXPECT_THAT(write_claim_names(*read), ElementsAre(text));
    }
  }
}

TEST(ClaimName, LeavesOutCpusThatDoNotMatter) {
  const auto read = read_claim_name("dtlaunch-cores/1/00112233aabbccdd/5/x/00000001/0-65535", 3);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cpus, range(0, 3));
}

TEST(ClaimsIn, ReadsTheKernelsList) {
  const auto found = job_sockets_in(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "000000008a6cd1d3: 00000002 00000000 00010000 0001 01 20771 /run/systemd/private\n"
      "000000003f2b8b5c: 00000003 00000000 00000000 0001 03 20770\n"
      "00000000e2f2f5a3: 00000002 00000000 00010000 0001 01 21 @dtlaunch-cores/1/a/1/x/00000001/0\n"
      "00000000e2f2f5a4: 00000002 00000000 00000000 0001 01 22 @dtlaunch-cores/1/b/1/x/00000001/1\n"
      "00000000e2f2f5a5: 00000002 00000000 00000000 0001 01 23 @/tmp/.X11-unix/X0\n"
      "00000000e2f2f5a6: 00000002 00000000 00000000 0001 02 0 "
      "@dtlaunch-cores/1/a/1/x/00000001/0\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "dtlaunch-cores/1/a/1/x/00000001/0");
  EXPECT_TRUE(found[0].listens);
  EXPECT_EQ(found[0].inode, 21U);
  EXPECT_FALSE(found[1].listens);
}

TEST_F(CoreOwners, GivesEachCoreToOneJob) {
  const CpuSet cpus = own_cpus();
  const std::string first = new_id(), second = new_id();
  CoreOwner one(first, cpus);
  CoreOwner two(second, cpus);
  // Other jobs of this machine may have the cores.
  if (one.claim({cpus, false, {}}).taken) GTEST_SKIP() << "another job has cores of this machine";
  const CoresClaimed refused = two.claim({cpus, false, {}});
  EXPECT_TRUE(refused.taken);
  const auto seen = of_jobs(refused.claims, {first});
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].cpus, cpus);
  EXPECT_EQ(seen[0].user_id, ::getuid());
  EXPECT_FALSE(seen[0].shared);
  EXPECT_THAT(of_jobs(one.of_others(), {second}), IsEmpty()) << "a refused job claims nothing";

  // Beside it, or inside of it.
  EXPECT_FALSE(two.claim({cpus, true, {}}).taken);
  EXPECT_TRUE(of_jobs(one.of_others(), {second}).at(0).shared);
  EXPECT_FALSE(two.claim({cpus, false, {first}}).taken);
  EXPECT_FALSE(of_jobs(one.of_others(), {second}).at(0).shared);
  two.release();

  one.release();
  EXPECT_FALSE(two.claim({cpus, false, {}}).taken);
}

TEST_F(CoreOwners, IsSeenByNoAgentOfItsOwnJob) {
  const CpuSet cpus = own_cpus();
  const std::string job = new_id();
  CoreOwner one(job, cpus);
  CoreOwner other(job, cpus);
  if (one.claim({cpus, false, {}}).taken) GTEST_SKIP() << "another job has cores of this machine";
  EXPECT_FALSE(other.claim({cpus, false, {}}).taken);
}

TEST_F(CoreOwners, LosesItsClaimWithItsProcessHoweverThatEnds) {
  const CpuSet cpus = own_cpus();
  const std::string job = new_id();
  Other holder([&] {
    static CoreOwner owner(job, cpus);
    owner.claim({cpus, true, {}});
  });
  CoreOwner viewer(new_id(), cpus);
  EXPECT_EQ(of_jobs(viewer.of_others(), {job}).size(), 1U);
  holder.end();
  EXPECT_THAT(of_jobs(viewer.of_others(), {job}), IsEmpty());
}

// Many jobs at once, again and again: never two owners of a core, and always one.
TEST_F(CoreOwners, IsOneOfManyThatClaimAtTheSameMoment) {
  const CpuSet cpus({own_cpus().first()});
  constexpr int kJobs = 8, kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<CoreOwner>> owners;
    for (int job = 0; job < kJobs; ++job) {
      owners.push_back(std::make_unique<CoreOwner>(new_id(), cpus));
    }
    std::atomic<int> waiting{kJobs}, winners{0};
    std::vector<std::jthread> threads;
    for (auto& owner : owners) {
      threads.emplace_back([&] {
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        winners += owner->claim({cpus, false, {}}).taken ? 0 : 1;
      });
    }
    threads.clear();
    ASSERT_LE(winners, 1) << "round " << round;
    if (winners == 0) GTEST_SKIP() << "another job has cores of this machine";
  }
}

// Anybody may bind any name.
TEST_F(CoreOwners, IgnoresAnIntentionThatStays) {
  const CpuSet cpus({own_cpus().first()});
  const Fd intention = bind_abstract(
      write_claim_names({"0000000000000000", milliseconds(0), false, RandomNumbers()(), cpus})[0]);
  CoreOwner owner(new_id(), cpus);
  const CoresClaimed claimed = owner.claim({cpus, false, {}});
  for (const CoreClaim& other : claimed.claims) {
    if (!other.shared) GTEST_SKIP() << "another job has cores of this machine";
  }
  EXPECT_FALSE(claimed.taken);
}

// The kernel writes names as they are.
TEST_F(CoreOwners, IgnoresAClaimThatANameWithALineEndMakesUp) {
  const CpuSet cpus = own_cpus();
  const std::string job = new_id();
  const Fd liar = bind_abstract("x\n0: 2 0 00010000 1 1 5 @" +
                                write_claim_names({job, milliseconds(0), false, 1, cpus})[0]);
  EXPECT_THAT(of_jobs(CoreOwner(new_id(), cpus).of_others(), {job}), IsEmpty());
}

TEST_F(CoreOwners, CountsOnlyCpusThatTheHolderCouldUse) {
  const CpuSet cpus = own_cpus();
  const std::string job = new_id();
  CpuSet more = cpus;
  for (int cpu = 0; cpu < 2048; ++cpu) more.add(cpu);
  CoreOwner greedy(job, more);
  greedy.claim({more, true, {}});
  const auto seen = of_jobs(CoreOwner(new_id(), more).of_others(), {job});
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].cpus, cpus);
}

// Nobody takes these connections: the queue of the claim fills.
TEST_F(CoreOwners, KeepsItsClaimUnderAFloodOfConnections) {
  const CpuSet cpus = own_cpus();
  const std::string job = new_id();
  const std::string name =
      write_claim_names({job, milliseconds(1), true, RandomNumbers()(), cpus})[0];
  const Fd claim = bind_abstract(name);
  listen_abstract(claim);
  std::vector<Fd> flood;
  for (int count = 0; count < 800; ++count) {
    Fd connection = connect_abstract(name);
    if (!connection.valid()) break;
    flood.push_back(std::move(connection));
  }
  EXPECT_EQ(of_jobs(CoreOwner(new_id(), cpus).of_others(), {job}).size(), 1U);
  accept_waiting(claim);
  EXPECT_EQ(of_jobs(CoreOwner(new_id(), cpus).of_others(), {job}).at(0).user_id, ::getuid());
}

TEST_F(CoreOwners, AreNamedThoughTheQueueIsFull) {
  const CpuSet cpus = own_cpus();
  const std::string job = new_id();
  const std::string name =
      write_claim_names({job, milliseconds(1), true, RandomNumbers()(), cpus})[0];
  const Fd claim = bind_abstract(name);
  ASSERT_EQ(::listen(claim.get(), 0), 0);
  std::vector<Fd> flood;
  do flood.push_back(connect_abstract(name));
  while (flood.back().valid());
  const auto seen = of_jobs(CoreOwner(new_id(), cpus).of_others(), {job});
  ASSERT_EQ(seen.size(), 1U);
  if (seen[0].user_id == UINT32_MAX) GTEST_SKIP() << "this kernel does not say whose a socket is";
  EXPECT_EQ(seen[0].user_id, ::getuid());
}

// Otherwise others could keep an agent from its ranks.
TEST(AbstractSocket, TakesNoMoreConnectionsThanMayWait) {
  const std::string name = "dtl-test-" + new_id();
  const Fd socket = bind_abstract(name);
  listen_abstract(socket);
  std::atomic<bool> over = false;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      while (!over) connect_abstract(name);
    });
  }
  for (int times = 0; times < 20; ++times) accept_waiting(socket);
  over = true;
}

SeenClaim seen(const std::string& job, int since, CpuSet cpus, std::optional<uid_t> user = 1000) {
  return {{job, milliseconds(since), false, 1, std::move(cpus)}, false, user, {}, {}};
}

TEST(Summarize, JoinsThePartsOfAClaimAndPutsTheOldestFirst) {
  const auto claims = summarize({seen("b", 9000, range(4, 5)), seen("a", 2000, range(0, 1)),
                                 seen("a", 2000, range(8, 9)), seen("c", 1000, range(6, 6), {})},
                                milliseconds(12'500));
  ASSERT_EQ(claims.size(), 3U);
  EXPECT_EQ(claims[0].job_id, "c");
  EXPECT_EQ(claims[0].user_id, UINT32_MAX);
  EXPECT_EQ(claims[1].job_id, "a");
  EXPECT_EQ(claims[1].cpus.to_list(), "0-1,8-9");
  EXPECT_EQ(claims[1].age_s, 10U);
  EXPECT_EQ(claims[2].job_id, "b");
}

// A clock that jumps, or a job that says it began later than now.
TEST(Summarize, HasNoNegativeAge) {
  EXPECT_EQ(summarize({seen("a", 9000, range(0, 0))}, milliseconds(1)).at(0).age_s, 0U);
}

TEST(Summarize, StaysShortHoweverMuchAUserClaims) {
  std::vector<SeenClaim> claims;
  for (int job = 0; job < 5000; ++job) {
    claims.push_back(seen(std::to_string(job), job + 10, range(0, 63)));
  }
  claims.push_back(seen("other", 9000, range(0, 3), 1001));
  const auto listed = summarize(claims, milliseconds(10'000));
  ASSERT_EQ(listed.size(), 2 + kMaxAround);
  EXPECT_EQ(listed.back().job_id, "other");
  EXPECT_EQ(listed.back().cpus, range(0, 3));
}

TEST(Summarize, HasAJobInsideOfAnother) {
  const auto claims =
      summarize({seen("outer", 10, range(0, 7)), seen("inner", 20, range(2, 3))}, milliseconds(30));
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[1].job_id, "inner");
  EXPECT_EQ(claims[1].cpus, range(2, 3));
}

}  // namespace
}  // namespace dtl::core_claims_test
