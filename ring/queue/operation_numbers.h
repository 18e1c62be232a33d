#pragma once
// OperationNumbers: numbers the operations of one communicator in the order of their submission,
// pairs by peer and direction, and counts complete collectives. All ranks submit in the same order,
// so equal numbers mean the same operation; frames find their operation by them. The StateNote
// shows both to the agent. Owned by the OperationQueue; next() and complete() with its mutex.

#include <atomic>
#include <cstdint>
#include <vector>

#include "ring/operation/operation.h"
#include "ring/queue/state_note.h"

namespace dtl::ring {

class OperationNumbers {
 public:
  explicit OperationNumbers(int world);

  std::uint64_t next(const Request& request);
  void complete(const Operation& operation);
  // Only while nothing is pending: the next operation is number one again. Called after the
  // measurements at the beginning, which errors should not count.
  void restart();

  // For any thread. Complete collectives, from the first one on without a gap.
  std::uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  // How many there were before restart().
  std::uint64_t first_number() const { return first_number_.load(std::memory_order_relaxed); }

  StateNote& note() { return note_; }  // for code that publishes it, and the driving thread

 private:
  StateNote note_;
  std::uint64_t next_collective_ = 1;
  std::vector<std::uint64_t> sent_to_, received_from_;  // sends and receives so far, by peer
  std::atomic<std::uint64_t> completed_{0}, first_number_{0};
  std::vector<std::uint64_t> completed_early_;  // after a gap
};

}  // namespace dtl::ring
