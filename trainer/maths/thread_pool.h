#pragma once
// A fixed set of threads for loops of independent tasks. One owner calls run() from one thread,
// which takes part in the work. Threads take tasks dynamically, so results must not depend on which
// thread runs a task. A task must not throw.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace dtl::trainer {

class ThreadPool {
 public:
  // `threads` includes the caller. With pin, thread i (the caller is 0) is bound to the i-th CPU of
  // the inherited mask, if there is one for each.
  ThreadPool(int threads, bool pin);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(index, thread) for every index in [0, count), thread in [0, size()). Returns when
  // all are done. If `operations`, the arithmetic of all tasks together, is below kWorthSharing,
  // the caller does everything.
  template <class Task>
  void run(std::int64_t count, std::int64_t operations, const Task& task) {
    const bool alone = workers_.empty() || count <= 1 || operations < kWorthSharing;
    run_erased(alone, count, &task, [](const void* what, std::int64_t index, int thread) {
      (*static_cast<const Task*>(what))(index, thread);
    });
  }

 private:
  // Operations: about 10 us of one core, twice the cost of waking a thread and waiting for it.
  static constexpr std::int64_t kWorthSharing = 500'000;

  using Call = void (*)(const void*, std::int64_t, int);
  void run_erased(bool alone, std::int64_t count, const void* task, Call call);
  void work(int thread);
  void take_tasks(int thread);
  bool enter(std::uint64_t& seen);

  // The gate of a round: its number (from bit 17), whether workers may still enter (bit 16), and
  // how many are inside (lower bits). The caller closes it when no task is left and waits only for
  // workers inside, so a worker without a CPU delays nobody.
  std::atomic<std::uint64_t> gate_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  // State of the current round. The caller writes count_, task_ and call_ before it opens the gate
  // (release); workers read them after they enter (acquire). Only next_ changes meanwhile.
  std::atomic<std::int64_t> next_{0};
  std::int64_t count_ = 0;
  const void* task_ = nullptr;
  Call call_ = nullptr;
  std::vector<std::thread> workers_;
};

// OMP_NUM_THREADS if it is a number, else the number of CPUs in the inherited mask.
int default_threads();

}  // namespace dtl::trainer
