// The eventfd follows the list only after somebody has asked for it: otherwise each operation would
// cost a useless system call.
#include "ring/queue/finished_work.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace dtl::ring {

OperationSlot* FinishedWork::take() {
  while (!works_.empty()) {
    OperationSlot* slot = slots_.find(works_.front());
    works_.pop_front();
    if (slot != nullptr) return slot;
  }
  return nullptr;
}

// Not only works_.empty(): released ones stay in the list until they reach its front.
bool FinishedWork::has_any() const {
  const auto is_there = [this](dt_work work) { return slots_.find(work) != nullptr; };
  return std::any_of(works_.begin(), works_.end(), is_there);
}

void FinishedWork::drop_released() {
  while (!works_.empty() && slots_.find(works_.front()) == nullptr) works_.pop_front();
}

int FinishedWork::open() {
  if (!is_open()) readable_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return is_open() ? readable_.get() : DT_E_SYS;
}

// A system call only if the state changes.
void FinishedWork::show(bool has_failed) {
  if (!is_open()) return;
  const bool has = has_failed || has_any();
  if (has == is_readable_) return;
  is_readable_ = has;
  std::uint64_t number = 1;
  if (has) {
    (void)!::write(readable_.get(), &number, sizeof number);
  } else {
    (void)!::read(readable_.get(), &number, sizeof number);
  }
}

}  // namespace dtl::ring
