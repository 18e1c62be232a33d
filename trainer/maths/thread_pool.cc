// Training runs thousands of short loops, so each must start fast. Workers poll for a while between
// loops, and one atomic word holds a round's state.
#include "trainer/maths/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace dtl::trainer {
namespace {

// About 20 us of polling: the usual gap between two loops of a step. In longer gaps
// (communication), workers sleep.
constexpr int kPolls = 400;

constexpr std::uint64_t kInside = 0xFFFF;       // gate: workers inside
constexpr std::uint64_t kOpen = 1U << 16;       // gate: more may enter
constexpr std::uint64_t kRoundStep = 1U << 17;  // gate: number of the round above this

// The CPUs that this process inherited from dtlaunch or taskset. Empty if there are more than
// cpu_set_t can hold (1024).
std::vector<int> inherited_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void pin_this_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);  // failure affects only speed
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

// Read the mask before pinning any thread: the caller's pin would shrink it.
ThreadPool::ThreadPool(int threads, bool pin) {
  const std::vector<int> cpus = inherited_cpus();
  // Two threads on one CPU would be worse than no pinning.
  const bool bind = pin && threads > 1 && cpus.size() >= static_cast<std::size_t>(threads);
  for (int i = 1; i < threads; ++i) {
    workers_.emplace_back([this, i, bind, cpus] {
      if (bind) pin_this_thread(cpus[static_cast<std::size_t>(i)]);
      work(i);
    });
  }
  // Pin the caller last: threads inherit its mask.
  if (bind) pin_this_thread(cpus[0]);
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// A round: publish the task, open the gate, work, close the gate, wait for the workers inside. It
// does not wait for workers that never entered.
void ThreadPool::run_erased(bool alone, std::int64_t count, const void* task, Call call) {
  if (alone) {
    for (std::int64_t i = 0; i < count; ++i) call(task, i, 0);
    return;
  }
  task_ = task;
  call_ = call;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);  // pairs with the wait in work()
    const std::uint64_t round = gate_.load(std::memory_order_relaxed) / kRoundStep + 1;
    gate_.store(round * kRoundStep | kOpen, std::memory_order_release);
  }
  wake_.notify_all();
  take_tasks(0);
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int poll = 0; (gate_.load(std::memory_order_acquire) & kInside) != 0; ++poll) {
    // A worker inside may have lost its CPU and must run to leave. Without yielding, this delayed
    // every loop: a demonstration of 10 s took 61.
    if (poll < kPolls) {
      pause_cpu();
    } else {
      sched_yield();  // a worker may be waiting for this CPU
    }
  }
}

// Each thread takes tasks until next_ passes count_.
void ThreadPool::take_tasks(int thread) {
  for (;;) {
    const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count_) return;
    call_(task_, index, thread);
  }
}

// True if the worker entered a round that it has not seen yet. The exchange succeeds only while the
// gate is open, so no worker enters a closed round.
bool ThreadPool::enter(std::uint64_t& seen) {
  std::uint64_t gate = gate_.load(std::memory_order_acquire);
  while ((gate & kOpen) != 0 && gate / kRoundStep != seen) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) {
      seen = gate / kRoundStep;
      return true;
    }
  }
  return false;
}

void ThreadPool::work(int thread) {
  std::uint64_t seen = 0;
  while (!stop_) {
    bool inside = false;
    for (int poll = 0; poll < kPolls && !(inside = enter(seen)); ++poll) pause_cpu();
    if (!inside) {
      std::unique_lock lock(mutex_);
      // enter() holds the lock that run_erased() holds to open the gate, so no round is missed.
      wake_.wait(lock, [&] { return stop_ || (inside = enter(seen)); });
    }
    // Only stop_ wakes a worker without a round.
    if (!inside) return;
    take_tasks(thread);
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

int default_threads() {
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  if (wanted) {
    if (const auto threads = parse_integer(wanted, 1, 1024)) return static_cast<int>(*threads);
  }
  return std::max(1, static_cast<int>(inherited_cpus().size()));
}

}  // namespace dtl::trainer
