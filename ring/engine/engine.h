#pragma once
// Engine: runs the active operations of one rank over the data links, listens to the control
// lines, and turns everything that can go wrong into one failure that all ranks hear of and name
// alike.
//
// Who runs it: one thread at a time, the one that holds the wheel. A caller who submits or waits
// takes the wheel when nobody has it, which saves waking the communication thread and being woken
// by it; the time of two such switches is that of a short operation. Otherwise, while callers
// compute or wait for any of several operations, the communication thread has it. Lent to callers,
// it looks after kTick whether they still make use of it, so an operation that nobody waits for
// may lie still for that long; long ones call for the thread at once.
//
// Who tells whom: every rank has a control line to rank 0, which passes news on to all. A rank
// whose line to rank 0 ends without a word says that rank 0 was lost, and rank 0 says so of the
// others. A data link that ends without a word is only a suspicion for a moment, because its peer
// may itself be ending over a failure that rank 0 is about to name.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "ring/engine/executor.h"
#include "ring/engine/fork_guard.h"
#include "ring/engine/operation_queue.h"
#include "ring/meeting/control_line.h"
#include "ring/meeting/rendezvous.h"

namespace dtl::ring {

class Engine {
 public:
  struct Settings {
    int rank = 0, world = 1;
    std::chrono::milliseconds operation_timeout{600000}, warn_timeout{30000};
    void (*warn)(const char* text, void* context) = nullptr;
    void* warn_context = nullptr;
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
  void drive(dt_work work, std::chrono::steady_clock::time_point deadline);
  void recall();  // callers leave it to the thread now
  // An order was given to the queue, which callers need not come to hear of.
  void note_order() { call_thread(); }
  void join();  // the queue must have been told to stop

  const NodeMap& map() const { return map_; }
  struct Counters {
    std::uint64_t bytes_sent = 0, bytes_received = 0, scratch_bytes = 0, warnings = 0;
  };
  Counters counters() const;  // from any thread

 private:
  using Clock = std::chrono::steady_clock;
  struct Suspicion {
    int rank;
    int error;
    Clock::time_point deadline;
  };
  struct Departure {
    int rank;
    std::uint64_t completed;
  };

  std::vector<int> descriptors(const Links& links) const;
  void watch(int fd, std::uint32_t events);
  void run();
  bool turn();
  void take_over();
  bool is_left_alone() const;
  void call_thread() const;
  void wait_for_wheel(std::unique_lock<std::mutex>& wheel);
  int time_to_sleep_ms() const;
  bool begin_sleep();
  void end_sleep();
  void take_orders();
  void start_submitted();
  void look_at_links();
  void finish_operations();
  void look_at_time();
  bool would_spin_in_vain();
  void warn_of(Operation& operation);
  std::string whom_it_waits_for(const Operation& operation) const;
  bool poll_a_little();
  int take_events(int timeout_ms);
  void sleep_until(Clock::time_point deadline);
  void sleep_without(std::unique_lock<std::mutex>& wheel);
  void handle_event(int fd, std::uint32_t events);

  void read_line(ControlLine& line);
  void handle(const Frame& frame, int origin_fd);
  void note_departure(int rank, std::uint64_t completed);
  void fail_if_departed();
  void suspect(int rank, int error);
  void settle(const Suspicion& suspicion);
  void lose(int rank, const std::string& how);
  void fail(int status, int culprit, const std::string& cause, int origin_fd = -1);
  void tell(const Frame& frame, int origin_fd);
  void leave();

  std::string name(int rank) const;
  bool misses_data_of(int rank) const;
  const Departure* departure_of(int rank) const;
  Clock::time_point next_deadline() const;
  Clock::time_point deadline_of(const Operation& operation) const;
  void give_up(const Operation& operation);

  const Settings settings_;
  OperationQueue& queue_;
  const NodeMap map_;
  ShmNode* const memory_;  // null: ranks of a node are reached as others are
  std::vector<std::string> hosts_;
  std::vector<ControlLine> control_;
  std::vector<TcpLink*> tcp_;  // by rank
  std::vector<TcpLink*> link_of_fd_;
  Executor executor_;
  Fd epoll_;
  std::vector<Departure> departures_;
  std::vector<Suspicion> suspicions_;
  std::vector<Executor::Break> broken_;
  bool has_backlog_ = false;
  bool has_read_void_ = false;  // from a rank that has failed or left: nothing ends well any more
  Clock::time_point next_warning_ = Clock::time_point::max();
  mutable std::mutex counters_mutex_;
  Counters counters_;
  bool has_failed_ = false;
  bool stops_ = false;
  // Since when nothing moves, if so; how long the last such time was, if an operation has not begun
  // since; and how many there have been that were not spent looking.
  std::optional<Clock::time_point> waits_since_;
  Clock::duration last_wait_{};
  int waits_asleep_ = 0;
  bool is_asleep_ = false;   // the thread, without the wheel
  bool is_ticking_ = false;  // or has been told to look whether callers make use of the wheel
  std::mutex wheel_;         // of everything above but the counters
  std::atomic<bool> is_lent_{false};
  std::atomic<bool> is_parked_{false};  // the thread wants to be told when a caller has left
  std::atomic<std::uint32_t> drives_{0};
  Fd recall_;  // eventfd
  ForkGuard fork_guard_;
  std::thread thread_;
};

}  // namespace dtl::ring
