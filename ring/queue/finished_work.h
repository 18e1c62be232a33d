#pragma once
// FinishedWork: the operations whose end dt_wait_any reports next, in the order in which they
// ended, and the descriptor that says whether there are any. dt_wait may report them as well, so
// ids whose slot is free again are skipped. Owned by the OperationQueue; used with its mutex. Does
// not know why a communicator failed, only that it did.

#include <deque>

#include "base/fd.h"
#include "ring/queue/operation_slots.h"

namespace dtl::ring {

class FinishedWork {
 public:
  explicit FinishedWork(OperationSlots& slots) : slots_(slots) {}

  void add(dt_work work) { works_.push_back(work); }
  OperationSlot* take();  // the first one; null: there is none
  bool has_any() const;
  void drop_released();  // forgets those that dt_wait has reported meanwhile

  int open();  // makes the descriptor; negative: a dt_status
  bool is_open() const { return readable_.valid(); }
  // Makes the descriptor say whether there are any, or everything has failed. After each change.
  void show(bool has_failed);

 private:
  OperationSlots& slots_;
  std::deque<dt_work> works_;  // released ones may be among them
  Fd readable_;                // eventfd
  bool is_readable_ = false;
};

}  // namespace dtl::ring
