// All moves are in one table of states and events. tests/ring/wheel_test.cc checks it, and fails
// for a state in which no thread takes remaining work.
#include "ring/engine/wheel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <cstddef>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

constexpr int kTick = 1;       // ms; see wheel.h
constexpr int kLongTick = 64;  // ms, while a caller drives, which wakes the thread when it leaves

// calls: the thread sleeps through this state; only the eventfd wakes it.
struct Cell {
  WheelState to;
  bool is_allowed = true, calls = false;
};
constexpr Cell kNo{WheelState::kThread, false};
constexpr Cell to(WheelState state) {
  return {state};
}
constexpr Cell call(WheelState state) {
  return {state, true, true};
}

struct Row {
  WheelState state;
  std::array<Cell, 7> cells;  // by event
};

// Rows: who has the wheel, and what the thread does meanwhile. Columns: events. kNo: cannot happen
// in that state; for kTake: refused. If a caller leaves kParked with a short operation active, the
// thread ticks again; otherwise the thread takes over.
const Cell& cell_of(WheelState state, WheelEvent event) {
  using enum WheelState;
  // clang-format off
  static constexpr std::array kRows{
    //               take         leave idle      active          hand over       recall          sleep        look
    Row{kThread,   {kNo,         kNo,            kNo,            kNo,            to(kThread),    to(kAsleep), kNo}},
    Row{kAsleep,   {to(kLent),   kNo,            kNo,            kNo,            to(kAsleep),    kNo,         to(kThread)}},
    Row{kLent,     {kNo,         to(kLeft),      call(kTicking), call(kTicking), call(kUsed),    kNo,         to(kParked)}},
    Row{kLeft,     {to(kLent),   kNo,            kNo,            kNo,            call(kTicking), kNo,         to(kDue)}},
    Row{kTicking,  {to(kUsed),   kNo,            kNo,            kNo,            call(kOffered), kNo,         to(kDue)}},
    Row{kDue,      {to(kUsed),   kNo,            kNo,            kNo,            call(kOffered), kNo,         to(kThread)}},
    Row{kUsed,     {kNo,         to(kTicking),   to(kTicking),   call(kOffered), to(kWanted),    kNo,         to(kParked)}},
    Row{kParked,   {kNo,         call(kOffered), call(kTicking), call(kOffered), to(kWanted),    kNo,         to(kParked)}},
    Row{kWanted,   {kNo,         call(kOffered), call(kOffered), call(kOffered), to(kWanted),    kNo,         to(kWanted)}},
    Row{kOffered,  {to(kWanted), kNo,            kNo,            kNo,            to(kOffered),   kNo,         to(kThread)}},
  };
  // clang-format on
  static_assert([] {
    std::size_t at = 0;
    for (const Row& row : kRows) {
      if (static_cast<std::size_t>(row.state) != at++) return false;
    }
    return true;
  }());
  return kRows[static_cast<std::size_t>(state)].cells[static_cast<std::size_t>(event)];
}

}  // namespace

std::optional<WheelMove> next_move(WheelState state, WheelEvent event) {
  const Cell& cell = cell_of(state, event);
  if (!cell.is_allowed) return std::nullopt;
  return WheelMove{cell.to, cell.calls};
}

Wheel::Wheel() : call_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!call_.valid()) throw CommError(DT_E_SYS, "cannot create an eventfd", errno_text(errno));
}

// Returns the state before the move. Moves and the queue's news have one total order, so one thread
// sees the other: a submitter sees that another thread drives, or the driver that stops sees the
// news.
std::optional<WheelState> Wheel::try_move(WheelEvent event) {
  WheelState state = state_.load();
  for (;;) {
    const auto move = next_move(state, event);
    if (!move) return std::nullopt;
    if (!state_.compare_exchange_weak(state, move->to)) continue;
    const std::uint64_t one = 1;
    // After the state, so that the thread sees the new state when it wakes.
    if (move->calls) (void)!::write(call_.get(), &one, sizeof one);
    return state;
  }
}

WheelState Wheel::move(WheelEvent event) {
  const auto before = try_move(event);
  assert(before);
  return next_move(*before, event)->to;
}

void Wheel::sleep(int fd, int timeout_ms) {
  move(WheelEvent::kSleep);
  std::array<pollfd, 2> entries{pollfd{call_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  std::size_t watched = entries.size();
  for (;;) {
    entries[0].revents = 0;
    (void)::poll(entries.data(), watched, timeout_ms);
    std::uint64_t count = 0;
    if (entries[0].revents != 0) (void)!::read(call_.get(), &count, sizeof count);
    const WheelState state = move(WheelEvent::kLook);
    if (state == WheelState::kThread) return;
    // Callers drive now, so they take the events. The thread only waits for a call, or for the next
    // tick.
    watched = 1;
    timeout_ms = state == WheelState::kDue ? kTick : kLongTick;
  }
}

}  // namespace dtl::ring
