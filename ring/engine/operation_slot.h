#pragma once
// OperationSlot: an operation's place on the queue, from its submission until its end is reported.
// The queue owns it; work and state change with its mutex.

#include <atomic>
#include <cstdint>

#include "ring/operation/operation.h"

namespace dtl::ring {

struct OperationSlot {
  enum class State : std::uint8_t { kFree, kPending, kDone };

  Operation operation;
  int index = 0;
  dt_work work = 0;
  std::atomic<State> state{State::kFree};
};

}  // namespace dtl::ring
