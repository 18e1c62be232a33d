#pragma once
// Wheel: the right to drive the engine, which one thread at a time has. A caller that submits or
// waits takes it when nobody has it. That saves waking the communication thread and being woken by
// it: two such switches take as long as a short operation. Otherwise, while callers compute or wait
// for any of several operations, the thread has it.
//
// Where callers make use of the wheel, the thread looks every tick (1 ms) whether they still do. An
// operation that nobody waits for may therefore lie still for that long. Long ones call for the
// thread.
//
// It is one atomic and one table. The owner of the wheel may use the engine without a lock: moves
// are sequentially consistent, so that one owner's use is over before the next one's begins.

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/fd.h"

namespace dtl::ring {

enum class WheelState : std::uint8_t {
  kThread,   // the thread drives
  kAsleep,   // nobody; the thread sleeps until something happens
  kLent,     // a caller; the thread sleeps on, though nobody wakes it over what happens
  kLeft,     // nobody, and nothing is to be done; the thread sleeps on
  kTicking,  // nobody; the thread looks at each tick whether callers make use of the wheel
  kDue,      // nobody since the last tick; the thread takes it at the next
  kUsed,     // a caller; the thread looks at the next tick
  kParked,   // a caller, as the thread has seen; it waits to be called
  kWanted,   // a caller; the thread is to have it next
  kOffered,  // nobody; the thread has been called to take it
};

enum class WheelEvent : std::uint8_t {
  kTake,         // a caller wants to drive
  kLeaveIdle,    // it stops; nothing is in flight
  kLeaveActive,  // it stops; something is that may lie still for a tick
  kHandOver,     // it stops; somebody waits for more, or it takes long
  kRecall,       // whoever drives, the thread is to do it next
  kSleep,        // the thread stops
  kLook,         // the thread is awake and wants to drive
};

struct WheelMove {
  WheelState to;
  bool calls = false;  // wakes the thread
};
// Nothing where the event must not happen; of kTake: where it is refused.
std::optional<WheelMove> next_move(WheelState state, WheelEvent event);

class Wheel {
 public:
  Wheel();  // the thread has it; throws CommError

  // --- callers ---
  // Who had to do with it before; nothing: another thread drives.
  std::optional<WheelState> take() { return try_move(WheelEvent::kTake); }
  void leave(WheelEvent how) { move(how); }
  void recall() { move(WheelEvent::kRecall); }

  // --- the thread ---
  // Lets go until the descriptor is readable, the time is over or somebody calls, and callers make
  // no use of the wheel.
  void sleep(int fd, int timeout_ms);

  int call_fd() const { return call_.get(); }

 private:
  std::optional<WheelState> try_move(WheelEvent event);
  WheelState move(WheelEvent event);

  std::atomic<WheelState> state_{WheelState::kThread};
  Fd call_;  // eventfd
};

}  // namespace dtl::ring
