#pragma once
// ActiveOperation: an operation while it moves: where it came from, what has been laid out for it,
// and until when others are waited for. Reused, so that later ones find their memory there.

#include <chrono>

#include "ring/operation/arena.h"
#include "ring/operation/operation.h"
#include "ring/operation/schedule.h"
#include "ring/queue/operation_slots.h"

namespace dtl::ring {

struct OperationTimer {
  std::chrono::steady_clock::time_point deadline{}, warning{};
  bool has_warned = false;
};

struct ActiveOperation {
  OperationSlot* slot = nullptr;
  Schedule schedule;
  Arena scratch;
  OperationTimer timer;

  const Operation& operation() const { return slot->operation; }
};

}  // namespace dtl::ring
