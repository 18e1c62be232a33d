#pragma once
// StateNote: writes the StatePage of one communicator (base/pages/state_page.h), where the node's
// agent sees which rank keeps the others waiting. The agent does not ask the process, as that may
// be stopped. Stores are relaxed and no clock is read, so that short operations do not get slower.
// Owned by its queue; begin() with the queue's mutex, the others by the driving thread. If the page
// cannot be shared the agent does not see it, and nothing fails.

#include <cstdint>

#include "base/pages/shared_page.h"
#include "base/pages/state_page.h"
#include "ring/links/operation_header.h"

namespace dtl::ring {

class StateNote {
 public:
  StateNote() = default;
  StateNote(const StateNote&) = delete;
  StateNote& operator=(const StateNote&) = delete;

  // Before the first operation, once the ranks have met.
  void show(std::uint64_t id, int rank, int world);
  int fd() const { return shared_.fd(); }  // negative: not shared

  void begin(std::uint64_t sequence, Opcode opcode) {
    page_->begun.store(sequence << 8 | static_cast<std::uint64_t>(opcode),
                       std::memory_order_relaxed);
  }
  void complete(std::uint64_t sequence) {
    page_->completed.store(sequence, std::memory_order_relaxed);
  }
  void move(std::uint64_t bytes) { page_->bytes.store(bytes, std::memory_order_relaxed); }
  // No thread waits in it any more, so it keeps no rank waiting.
  void end() { page_->is_over.store(1, std::memory_order_relaxed); }
  void restart() {
    page_->completed.store(0, std::memory_order_relaxed);
    page_->begun.store(0, std::memory_order_relaxed);
  }

 private:
  StatePage own_;  // used until it is shared
  StatePage* page_ = &own_;
  SharedPage shared_;
};

}  // namespace dtl::ring
