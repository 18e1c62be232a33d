#pragma once
// StateNote: writes the StatePage of one communicator (base/state_page.h), from which the node's
// agent sees who keeps the others waiting. The agent does not ask: the process may be stopped.
// Stores are relaxed and no clock is read, so that short operations take as long as without it.
// Owned by its queue; begin() with the queue's mutex, the others by whoever drives the engine.
// Where the page cannot be shared nobody sees it, and nothing fails.

#include <cstdint>

#include "base/fd.h"
#include "base/state_page.h"
#include "ring/links/operation_header.h"
#include "ring/links/shm_segment.h"

namespace dtl::ring {

class StateNote {
 public:
  StateNote() = default;
  StateNote(const StateNote&) = delete;
  StateNote& operator=(const StateNote&) = delete;

  // Before the first operation, once the ranks have met.
  void show(std::uint64_t id, int rank, int world);
  int fd() const { return fd_.get(); }  // negative: nobody sees it

  void begin(std::uint64_t sequence, Opcode opcode) {
    page_->begun.store(sequence << 8 | static_cast<std::uint64_t>(opcode),
                       std::memory_order_relaxed);
  }
  void complete(std::uint64_t sequence) {
    page_->completed.store(sequence, std::memory_order_relaxed);
  }
  void move(std::uint64_t bytes) { page_->bytes.store(bytes, std::memory_order_relaxed); }
  // Nobody waits in it any more, so it keeps nobody waiting.
  void end() { page_->is_over.store(1, std::memory_order_relaxed); }
  void restart() {
    page_->completed.store(0, std::memory_order_relaxed);
    page_->begun.store(0, std::memory_order_relaxed);
  }

 private:
  StatePage own_;  // until it is shared
  StatePage* page_ = &own_;
  Mapping mapping_;
  Fd fd_;
};

}  // namespace dtl::ring
