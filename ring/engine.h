#pragma once
// Engine: the communication thread of one rank. Runs the active operations over the data links,
// listens to the control lines, and turns everything that can go wrong into one failure that all
// ranks hear of and name alike.
//
// Who tells whom: every rank has a control line to rank 0, which passes news on to all; besides,
// news run against the ring, from each rank to its previous one. A rank whose line to rank 0 ends
// without a word says that rank 0 was lost, and rank 0 says so of the others. A data link that ends
// without a word is only a suspicion for a moment, because its peer may itself be ending over a
// failure that rank 0 is about to name.

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "ring/board.h"
#include "ring/control.h"
#include "ring/fork_guard.h"
#include "ring/rendezvous.h"
#include "ring/transfer.h"

namespace dtl::ring {

class Engine {
 public:
  struct Settings {
    int rank = 0, world = 1;
    std::chrono::milliseconds operation_timeout{600000};
    std::size_t gather_bytes = 0;
    std::vector<int> cpus;  // where the thread runs; empty: where the caller does
  };
  // Starts the thread. board must outlive the engine. Throws CommError.
  Engine(const Settings& settings, Links links, Board& board);
  // The board must have been told to stop.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

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

  std::vector<int> descriptors() const;
  void watch(int fd, std::uint32_t events);
  void run();
  void take_orders();
  void start_submitted();
  void look_at_links();
  void finish_operations();
  void look_at_time();
  bool poll_a_little();
  void sleep();
  void handle_event(int fd, std::uint32_t events);

  void read_line(ControlLine& line);
  void read_next();
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
  int next() const { return (settings_.rank + 1) % settings_.world; }
  int previous() const { return (settings_.rank + settings_.world - 1) % settings_.world; }
  const Departure* departure_of(int rank) const;
  Clock::time_point next_deadline() const;
  Clock::time_point deadline_of(const Operation& operation) const;
  void give_up(const Operation& operation);

  const Settings settings_;
  Board& board_;
  std::vector<std::string> hosts_;
  std::vector<ControlLine> control_;
  FrameReader next_reader_;  // news from the next rank, against the ring
  Transfer transfer_;
  Fd epoll_;
  std::vector<Frame> early_;
  std::vector<Departure> departures_;
  std::vector<Suspicion> suspicions_;
  bool has_backlog_ = false;
  bool has_failed_ = false;
  bool stops_ = false;
  ForkGuard fork_guard_;
  std::thread thread_;
};

}  // namespace dtl::ring
