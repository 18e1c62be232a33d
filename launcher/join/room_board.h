#pragma once
// RoomBoard: what other threads see of a JoinRoom: which nodes are there, and where an agent may
// still run. The room's thread writes it. Any thread may call any function; only
// wait_until_all_told() blocks.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace dtl {

class RoomBoard {
 public:
  explicit RoomBoard(std::size_t places);

  // Readable once a name or leaving() has changed since the last call of changed().
  int change_descriptor() const { return changed_.get(); }
  void changed();
  std::vector<std::string> names() const;  // by place; empty: no node
  std::string name(std::size_t place) const;
  void set_name(std::size_t place, std::string name);
  std::vector<bool> leaving() const;  // by place: the node there was told to end
  void set_leaving(std::size_t place);

  // Busy: an agent started there and has not ended yet. If its node's connection is lost meanwhile,
  // the agent ends by itself within kFence.
  void set_busy(std::size_t place, bool busy);
  void note_loss(std::size_t place);
  void note_return(std::size_t place);  // of the same node, which runs no agent
  bool is_idle(std::size_t place) const;
  // The place was lost while busy less than kFence ago, whoever has joined there since.
  bool may_run_elsewhere(std::size_t place) const;

  // Every node knows the job's end.
  void note_all_told();
  void wait_until_all_told(std::chrono::milliseconds patience);

 private:
  using Clock = std::chrono::steady_clock;
  // The agent that may run at a place.
  struct Business {
    bool busy = false;
    std::optional<Clock::time_point> lost;       // while busy
    std::optional<Clock::time_point> elsewhere;  // the last such loss, also before a new agent
  };

  void tell_of_change() const;

  // An eventfd.
  Fd changed_;
  mutable std::mutex mutex_;
  std::condition_variable told_;
  std::vector<std::string> names_;
  std::vector<bool> leaving_;
  std::vector<Business> business_;
  bool all_told_ = false;
};

}  // namespace dtl
