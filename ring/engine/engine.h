#pragma once
// Engine: who drives a communicator's EngineProgress, and when it sleeps. One thread at a time
// does, whoever has the Wheel: the engine's own communication thread or a caller. Owned by the
// communicator's calls (OperationCalls). Knows nothing of how operations move and of what goes
// wrong: see EngineProgress.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "ring/engine/engine_events.h"
#include "ring/engine/engine_orders.h"
#include "ring/engine/engine_progress.h"
#include "ring/engine/fork_guard.h"
#include "ring/engine/wheel.h"
#include "ring/meeting/rendezvous.h"

namespace dtl::ring {

class Engine {
 public:
  using Clock = std::chrono::steady_clock;
  using Counters = EngineProgress::Counters;
  struct Settings : EngineProgress::Settings {
    std::vector<int> cpus;  // where the thread runs; empty: where the caller does
  };
  // Starts the thread. queue must outlive the engine. Throws CommError.
  Engine(const Settings& settings, Links links, ShmNode* memory, OperationQueue& queue);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Something was submitted, and is in the queue already. Starts it here, or, if it is urgent, has
  // the thread do it: the caller is then back at once, and computes while the thread moves bytes.
  void note_submission(bool is_urgent);
  // Runs the engine until is_over() or the deadline is over. Returns earlier when another thread
  // runs it, or the communicator is destroyed, so the caller has to wait in the queue afterwards.
  // With a deadline that has passed it still moves what has arrived once: a program that only calls
  // dt_test gets ahead by that.
  template <typename IsOver>
  void drive(Clock::time_point deadline, const IsOver& is_over) {
    if (!take_wheel()) return;
    for (bool is_late = false; !progress_.stops() && !is_over() && !is_late;) {
      is_late = Clock::now() >= deadline;
      if (progress_.turn() || is_over()) continue;
      if (is_late) {
        if (progress_.take_events(0) > 0) (void)progress_.turn();
      } else if (!progress_.poll_a_little()) {
        sleep_until(deadline);
      }
      progress_.look_at_time();
    }
    leave_wheel(how_to_leave());
  }
  // Whoever drives, the thread is to do it next: the caller does not mean to come back soon.
  void recall() { wheel_.recall(); }
  // Has everything fail with DT_E_ABORTED, soon; harmless when something has failed before.
  void abort(const std::string& why);
  void stop();  // ends the thread; pending operations fail with DT_E_ABORTED

  Counters counters() const { return progress_.counters(); }  // from any thread

 private:
  void run();
  bool take_wheel();
  void leave_wheel(WheelEvent how);
  WheelEvent how_to_leave() const;
  void sleep_until(Clock::time_point deadline);
  void sleep_without_wheel();
  std::vector<int> descriptors() const;

  // In this order: what is below uses what is above, and the thread comes last and goes first.
  OperationQueue& queue_;
  EngineOrders orders_;
  ShmNode* const memory_;  // null: ranks of a node are reached as others are
  Wheel wheel_;            // the right to use all that follows
  EngineEvents events_;
  EngineProgress progress_;  // its counters are anybody's
  ForkGuard fork_guard_;
  std::thread thread_;
};

}  // namespace dtl::ring
