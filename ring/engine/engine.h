#pragma once
// Engine: decides who drives a communicator's EngineProgress, and when it sleeps. One thread at a
// time drives: the one with the Wheel, which is the engine's own communication thread or a caller.
// Owned by the communicator's calls (OperationCalls). Knows nothing of how operations move and of
// failures: see EngineProgress.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "ring/engine/engine_events.h"
#include "ring/engine/engine_orders.h"
#include "ring/engine/engine_progress.h"
#include "ring/engine/wheel.h"
#include "ring/meeting/rendezvous.h"

namespace dtl::ring {

class Engine {
 public:
  using Clock = std::chrono::steady_clock;
  using Counters = EngineProgress::Counters;
  struct Settings : EngineProgress::Settings {
    std::vector<int> cpus;  // affinity of the thread; empty: the caller's
  };
  // Starts the thread. queue must outlive the engine. Throws CommError.
  Engine(const Settings& settings, Links links, ShmNode* memory, OperationQueue& queue);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Submits to the queue, and starts the operation here. If it is long, wakes the thread for it:
  // the caller then returns at once, and computes while the thread moves bytes. A short one between
  // ranks of this host goes past the queue if nothing else is in progress. As the queue's.
  int submit(const Request& request, const Choice& choice, dt_work* work);
  // Runs the engine until is_over() or the deadline. Returns earlier if another thread runs it, or
  // the communicator is destroyed, so the caller must then wait in the queue. With an expired
  // deadline it still moves data that has arrived once, so programs that only call dt_test make
  // progress.
  template <typename IsOver>
  void drive(Clock::time_point deadline, const IsOver& is_over) {
    if (!take_wheel()) return;
    for (bool is_late = false; !progress_.stops() && !is_over() && !is_late;) {
      is_late = deadline != Clock::time_point::max() && Clock::now() >= deadline;
      if (progress_.turn() || is_over()) continue;
      if (is_late) {
        if (progress_.take_events(0) > 0) (void)progress_.turn();
      } else if (progress_.poll_a_little()) {
        continue;
      } else {
        sleep_until(deadline);
      }
      progress_.look_at_time();
    }
    leave_wheel(how_to_leave());
  }
  // The thread drives next, whoever drives now: the caller will not return soon.
  void recall() { wheel_.recall(); }
  // Makes everything fail soon with DT_E_ABORTED; harmless after an earlier failure.
  void abort(const std::string& why);
  void stop();  // ends the thread; pending operations fail with DT_E_ABORTED

  Counters counters() const { return progress_.counters(); }  // from any thread

 private:
  void run();
  void guard_descriptors();
  int submit_with_wheel(const Request& request, const Choice& choice, dt_work* work);
  void note_submission(bool is_urgent);
  bool take_wheel();
  void leave_wheel(WheelEvent how);
  void leave_wheel_soon_back();
  WheelEvent how_to_leave() const;
  void sleep_until(Clock::time_point deadline);
  void sleep_without_wheel();

  // In this order: members use those above them, and the thread is last and ends first.
  OperationQueue& queue_;
  EngineOrders orders_;
  ShmNode* const memory_;  // null: ranks of a node use TCP
  Wheel wheel_;            // the right to use all members below
  EngineEvents events_;
  EngineProgress progress_;  // any thread may read its counters
  std::thread thread_;
};

}  // namespace dtl::ring
