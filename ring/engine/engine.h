#pragma once
// Engine: runs the active operations of one rank over the data links and listens to the control
// lines. One thread at a time runs it: whoever has the Wheel, its own communication thread or a
// caller. What goes wrong is for Failures, who is late for Patience.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ring/engine/engine_orders.h"
#include "ring/engine/event_watch.h"
#include "ring/engine/executor.h"
#include "ring/engine/failures.h"
#include "ring/engine/fork_guard.h"
#include "ring/engine/lookout.h"
#include "ring/engine/patience.h"
#include "ring/engine/wheel.h"
#include "ring/meeting/rendezvous.h"
#include "ring/queue/operation_queue.h"

namespace dtl::ring {

class Engine {
 public:
  using Clock = std::chrono::steady_clock;
  struct Settings {
    int rank = 0;
    Patience::Settings patience;
    std::vector<int> cpus;  // where the thread runs; empty: where the caller does
    // How long to look for news before sleeping, while operations are active; zero: a few looks.
    std::chrono::microseconds active_spin{0};
  };
  // Starts the thread. queue must outlive the engine. Throws CommError.
  Engine(const Settings& settings, Links links, ShmNode* memory, OperationQueue& queue);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- callers ---
  // Something was submitted. Starts it here, or, if it is urgent, has the thread do it.
  void note_submission(bool is_urgent);
  // Runs the engine until the operation is settled or the deadline is over; returns earlier when
  // another thread runs it, or the communicator is destroyed.
  void drive(dt_work work, Clock::time_point deadline);
  void drive_to_announcement(int from, Clock::time_point deadline);  // likewise
  void recall() { wheel_.recall(); }  // callers leave it to the thread now
  // Has everything fail with DT_E_ABORTED, soon; harmless when something has failed before.
  void abort(const std::string& why);
  void stop();  // ends the thread; pending operations fail with DT_E_ABORTED

  struct Counters {
    std::uint64_t bytes_sent = 0, bytes_received = 0, scratch_bytes = 0, warnings = 0;
  };
  Counters counters() const;  // from any thread

 private:
  // Who drives.
  void run();
  bool take_wheel();
  template <class IsOver>
  void drive_until(const IsOver& is_over, Clock::time_point deadline);
  void leave_wheel(WheelEvent how);
  WheelEvent how_to_leave() const;
  // Until something happens.
  bool begin_sleep();
  void end_sleep();
  int time_to_sleep_ms() const;
  void sleep_until(Clock::time_point deadline);
  void sleep_without_wheel();
  // The work.
  bool turn();
  bool has_work() const { return has_backlog_ || !executor_.active().is_empty(); }
  bool poll_a_little();
  void take_orders();
  void start_submitted();
  void look_at_links();
  bool finish_operations();
  void look_at_time();
  int take_events(int timeout_ms);
  void handle_event(int fd);
  void leave();
  std::vector<int> descriptors(const Links& links) const;

  const int rank_;
  OperationQueue& queue_;
  EngineOrders orders_;
  const NodeMap map_;
  ShmNode* const memory_;  // null: ranks of a node are reached as others are
  Wheel wheel_;            // the right to use all that follows but the counters
  EventWatch watch_;
  Executor executor_;
  Failures failures_;
  Patience patience_;
  Lookout lookout_;
  bool has_backlog_ = false;
  bool stops_ = false;
  mutable std::mutex counters_mutex_;
  Counters counters_;
  ForkGuard fork_guard_;
  std::thread thread_;
};

}  // namespace dtl::ring
