#pragma once
// Wheel: the right to drive the engine, which one thread at a time has. A caller that submits or
// waits takes it if it is free. That avoids waking the communication thread and being woken by it:
// two such switches take as long as a short operation. Otherwise, while callers compute or wait for
// any of several operations, the thread has it.
//
// While callers use the wheel, the thread checks every tick (1 ms) whether they still do. So an
// operation that nobody waits for may pause for that long. Long ones wake the thread.
//
// It is one atomic and one table. The owner of the wheel may use the engine without a lock: moves
// are sequentially consistent, so one owner's use ends before the next one's begins.

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/fd.h"

namespace dtl::ring {

enum class WheelState : std::uint8_t {
  kThread,   // the thread drives
  kAsleep,   // nobody; the thread sleeps until something happens
  kLent,     // a caller; the thread still sleeps, and events do not wake it
  kLeft,     // nobody, and nothing is to do; the thread still sleeps
  kTicking,  // nobody; the thread checks at each tick whether callers use the wheel
  kDue,      // nobody since the last tick; the thread takes it at the next
  kUsed,     // a caller; the thread looks at the next tick
  kParked,   // a caller, and the thread has noticed; it waits to be called
  kWanted,   // a caller; the thread gets it next
  kOffered,  // nobody; the thread was called to take it
};

enum class WheelEvent : std::uint8_t {
  kTake,         // a caller wants to drive
  kLeaveIdle,    // the driver stops; nothing is in flight
  kLeaveActive,  // it stops; something is in flight that may pause for a tick
  kHandOver,     // it stops; a thread waits for more, or the operation is long
  kRecall,       // the thread drives next, whoever drives now
  kSleep,        // the thread stops
  kLook,         // the thread is awake and wants to drive
};

struct WheelMove {
  WheelState to;
  bool calls = false;  // wakes the thread
};
// nullopt if the event cannot happen in this state; for kTake: if it is refused.
std::optional<WheelMove> next_move(WheelState state, WheelEvent event);

class Wheel {
 public:
  Wheel();  // the thread has it; throws CommError

  // --- callers ---
  // The state before; nullopt: another thread drives.
  std::optional<WheelState> take() { return try_move(WheelEvent::kTake); }
  void leave(WheelEvent how) { move(how); }
  void recall() { move(WheelEvent::kRecall); }

  // --- the thread ---
  // Releases the wheel until the descriptor is readable, the timeout is over or a caller calls, and
  // callers do not use the wheel.
  void sleep(int fd, int timeout_ms);

  int call_fd() const { return call_.get(); }

 private:
  std::optional<WheelState> try_move(WheelEvent event);
  WheelState move(WheelEvent event);

  std::atomic<WheelState> state_{WheelState::kThread};
  Fd call_;  // eventfd
};

}  // namespace dtl::ring
