#pragma once
// FinishedWork: the operations whose end dt_wait_any will report, in the order of their end, and
// the descriptor that says whether there are any. dt_wait may report them too, so ids with a free
// slot are skipped. Owned by the OperationQueue; used with its mutex. Does not know why a
// communicator failed, only that it did.

#include <deque>

#include "base/fd.h"
#include "ring/queue/operation_slots.h"

namespace dtl::ring {

class FinishedWork {
 public:
  explicit FinishedWork(OperationSlots& slots) : slots_(slots) {}

  void add(dt_work work) { works_.push_back(work); }
  OperationSlot* take();  // the first one; null: none
  bool has_any() const;
  void drop_released();  // drops those that dt_wait has reported

  int open();  // creates the descriptor; negative: a dt_status
  bool is_open() const { return readable_.valid(); }
  // Makes the descriptor readable if there are any, or all failed. Call it after each change.
  void show(bool has_failed);

 private:
  OperationSlots& slots_;
  std::deque<dt_work> works_;  // released ones may be among them
  Fd readable_;                // eventfd
  bool is_readable_ = false;
};

}  // namespace dtl::ring
