#include "agent/job/rank_observer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <new>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/limits.h"

namespace dtl::rank_observer_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// A page as a communicator makes it, in this process.
class Page {
 public:
  explicit Page(std::uint64_t number, int seals = F_SEAL_SHRINK)
      : fd_(::memfd_create(kStatePageName, MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(::ftruncate(fd_.get(), kStatePageBytes), 0);
    EXPECT_EQ(::fcntl(fd_.get(), F_ADD_SEALS, seals), 0);
    void* data = ::mmap(nullptr, kStatePageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    page_ = new (data) StatePage;
    page_->magic = kStatePageMagic;
    page_->rank = 1;
    page_->world = 4;
    page_->id = 77;
    page_->number = number;
  }
  ~Page() { ::munmap(page_, kStatePageBytes); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  StatePage* operator->() { return page_; }

 private:
  Fd fd_;
  StatePage* page_ = nullptr;
};

// Observes this process.
class RankObserverTest : public testing::Test {
 protected:
  RankReport report() { return observer_.report(3, scan_processes(), {}, now_ += 1s); }
  RankObserver observer_{::getpid()};
  std::chrono::milliseconds now_{5000};
};

TEST_F(RankObserverTest, TellsWhatCommunicatorsWaitForAndHowOften) {
  Page second(2), first(1);
  first->begun = 12 << 8 | 1;
  first->completed = 11;
  first->bytes = 4096;
  report();
  observer_.look();
  first->completed = 12;
  observer_.look();
  const RankReport told = report();
  EXPECT_EQ(told.rank, 3U);
  ASSERT_THAT(told.comms, SizeIs(2));
  const CommState& state = told.comms[0];  // in the order of creation
  EXPECT_EQ(state.id, 77U);
  EXPECT_EQ(state.rank, 1U);
  EXPECT_EQ(state.world, 4U);
  EXPECT_EQ(state.begun, 12U);
  EXPECT_EQ(state.opcode, 1U);
  EXPECT_EQ(state.completed, 12U);
  EXPECT_EQ(state.bytes, 4096U);
  EXPECT_EQ(state.looks, 2U);
  EXPECT_EQ(state.waits, 1U);
}

TEST_F(RankObserverTest, TellsWhatTheRankUsesAndHowFarItIs) {
  RankReport told = report();
  EXPECT_GT(told.usage.cpu_ms + told.usage.memory_kib, 0U);
  EXPECT_GE(told.usage.threads, 1U);
  EXPECT_EQ(told.progress.step, 0U);
  ASSERT_TRUE(tell_progress({3, 9, 0, 0.5}));
  told = report();
  EXPECT_EQ(told.progress.step, 3U);
  EXPECT_EQ(told.progress.total_steps, 9U);
  EXPECT_EQ(told.progress.loss, 0.5);
}

TEST_F(RankObserverTest, ForgetsCommunicatorsThatAreOverOrGone) {
  Page failed(1);
  {
    const Page gone(2);
    EXPECT_THAT(report().comms, SizeIs(2));
  }
  failed->is_over = 1;
  EXPECT_THAT(report().comms, IsEmpty());
}

TEST_F(RankObserverTest, DoesNotLookIntoAPageThatMayBeShortened) {
  const Page page(1, F_SEAL_GROW);
  EXPECT_THAT(report().comms, IsEmpty());
}

// The activity since the first report, once it equals `wanted` or after 20 s.
Activity seen(pid_t child, Activity wanted) {
  RankObserver observer(child);
  std::chrono::milliseconds now{5000};
  observer.report(0, scan_processes(), {}, now);
  const auto until = std::chrono::steady_clock::now() + 20s;
  for (;;) {
    std::this_thread::sleep_for(20ms);
    const Activity activity = observer.report(0, scan_processes(), {}, now += 20ms).activity;
    if (activity == wanted || std::chrono::steady_clock::now() > until) return activity;
  }
}

// Computes on the first core of the mask.
[[noreturn]] void compute_on_one_core() {
  cpu_set_t first;
  CPU_ZERO(&first);
  cpu_set_t allowed;
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &first);
  }
  ::sched_setaffinity(0, sizeof first, &first);
  for (volatile unsigned turns = 0;;) turns = turns + 1;
}

// Shares one core with others and gets almost none of it. Most of its waiting time is counted a
// second late.
TEST(RankObserver, WhoWaitsForACoreDoesNotSleep) {
  if (::access("/proc/self/schedstat", R_OK) != 0) GTEST_SKIP() << "the kernel does not tell";
  std::vector<pid_t> children;
  for (const bool yields : {false, false, false, true}) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    ::setsid();
    const sched_param none{};
    if (yields && ::sched_setscheduler(0, SCHED_IDLE, &none) != 0) _exit(1);
    // Where the kernel has autogroups, each session has its own share of the CPU.
    if (yields) std::ofstream("/proc/self/autogroup") << 19;
    compute_on_one_core();
  }
  while (::getsid(children.back()) != children.back()) std::this_thread::sleep_for(1ms);
  RankObserver observer(children.back());
  observer.report(0, scan_processes(), {}, 5s);
  for (std::chrono::milliseconds now{5500}; now <= 8s; now += 500ms) {
    std::this_thread::sleep_for(500ms);  // the time span that it judges
    EXPECT_EQ(observer.report(0, scan_processes(), {}, now).activity, Activity::kComputes);
  }
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

TEST(RankObserver, KnowsWhoIsStoppedWhoSleepsAndWhoComputes) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::raise(SIGSTOP);
    ::pause();
    _exit(0);
  }
  EXPECT_EQ(seen(child, Activity::kStopped), Activity::kStopped);
  ::kill(child, SIGCONT);
  EXPECT_EQ(seen(child, Activity::kSleeps), Activity::kSleeps);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const pid_t busy = ::fork();
  if (busy == 0) {
    ::setsid();
    for (volatile unsigned turns = 0;;) turns = turns + 1;
  }
  EXPECT_EQ(seen(busy, Activity::kComputes), Activity::kComputes);
  ::kill(busy, SIGKILL);
  ::waitpid(busy, nullptr, 0);
}

}  // namespace
}  // namespace dtl::rank_observer_test
