// A turn never blocks. Its order matters: what is submitted may move in the same turn, what links
// found out is judged before operations are reported as done.
#include "ring/engine/engine_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

// Looks at the sockets before a sleep. They cost about 1 us each and often save the 10 us of a
// sleep; more would take the core away from ranks that compute.
constexpr int kPolls = 20;
// Looks at shared memory between two at the sockets, since they need no system call. Fewer where
// other ranks want this core: after each round it is offered to them.
constexpr int kLooksPerCall = 24, kLooksIfCrowded = 4;

}  // namespace

EngineProgress::EngineProgress(const Settings& settings, Links links, ShmNode* memory,
                               EngineOrders& orders, EngineEvents& events, OperationQueue& queue)
    : rank_(settings.rank),
      queue_(queue),
      orders_(orders),
      events_(events),
      map_(links.map),
      memory_(memory),
      executor_(map_),
      names_(std::move(links.hosts)),
      lines_(std::move(links.control)),
      failures_(rank_, names_, lines_, executor_, queue_,
                // What ends the data when something has failed. Peers hear of the memory before
                // callers have their buffers back (Failures::fail).
                [this] {
                  events_.drop_links();
                  if (memory_ != nullptr) memory_->withdraw();
                }),
      patience_(rank_, settings.patience, names_, executor_, failures_),
      lookout_(settings.active_spin) {
  for (const ControlLine& line : lines_.all()) events_.add_line(line.channel.fd());
  for (std::size_t peer = 0; peer < links.links.size(); ++peer) {
    if (!links.links[peer]) continue;
    events_.add_link(*links.links[peer]);
    executor_.add_link(static_cast<int>(peer), std::move(links.links[peer]));
  }
  const auto& locals = map_.locals();
  for (std::size_t local = 0; memory_ != nullptr && local < locals.size(); ++local) {
    if (locals[local] == rank_) continue;
    executor_.add_link(locals[local], memory_->make_link(static_cast<int>(local), locals[local]));
  }
  for (const Frame& frame : links.early) {
    failures_.hear(frame, lines_.all().front().channel.fd());
  }
}

EngineProgress::Counters EngineProgress::counters() const {
  const std::lock_guard lock(counters_mutex_);
  Counters counters = counters_;
  counters.warnings = patience_.warnings();
  return counters;
}

bool EngineProgress::turn() {
  if (orders_.has_news()) take_orders();
  // The thread still has orders to hear after a failure: stop.
  if (stops_ || failures_.has_failed()) return false;
  bool moved = false;
  try {
    start_submitted();
    moved = !failures_.has_failed() && executor_.step();
    look_at_links();
    // Also of what moved before this turn; and there is room for others now.
    moved = finish_operations() || moved;
  } catch (const std::exception& error) {
    // Only lack of memory throws here. Operations may be half done, so the communicator is over.
    failures_.fail(DT_E_NOMEM, rank_, error.what());
  }
  if (moved) {
    const auto [sent, received] = executor_.traffic();
    // For whoever watches the job from outside: bytes that no longer grow are a sign of a hang.
    queue_.numbers().note().move(sent + received);
    if (lookout_.is_waiting()) lookout_.note_move(Clock::now());
  }
  return moved;
}

void EngineProgress::take_orders() {
  const EngineOrders::Orders orders = orders_.take();
  // Take first, look afterwards: see EngineOrders::take().
  has_backlog_ = true;
  stops_ = stops_ || orders.stop;
  if (orders.abort) {
    failures_.fail(DT_E_ABORTED, rank_,
                   fmt::format("{} aborted: {}", names_.of(rank_), orders.why));
  }
}

void EngineProgress::start_submitted() {
  if (!has_backlog_) return;
  bool is_empty = true;
  for (const Lane lane : {Lane::kSmall, Lane::kBulk, Lane::kPair}) {
    while (executor_.active().has_room(lane) && !failures_.has_failed()) {
      OperationSlot* slot = queue_.take_submitted(lane);
      if (slot == nullptr) break;
      try {
        patience_.begin(executor_.active().start(*slot).timer);
      } catch (const CommError& error) {
        return failures_.fail(error.dt_status(), rank_, error.what());
      }
      lookout_.note_beginning();
      // After it is active. A rank that left or was lost while nothing needed it fails the first
      // operation that does.
      failures_.look_at_beginner();
    }
    // A lane that is full may leave operations in the queue, without any news when room comes.
    is_empty = is_empty && executor_.active().has_room(lane);
  }
  has_backlog_ = !is_empty;
}

// What the last step found out about the links. A mismatch goes first: it says more than breaks
// that came with it.
void EngineProgress::look_at_links() {
  LinkFindings& found = executor_.findings();
  if (found.mismatch) return failures_.hear_of_mismatch(*found.mismatch);
  for (const auto& each : found.farewells) failures_.hear_of_farewell(each);
  found.farewells.clear();
  for (const auto& each : found.breaks) failures_.hear_of_break(each);
  found.breaks.clear();
  for (const auto& each : found.announcements) queue_.announcements().set(each.peer, each.header);
  found.announcements.clear();
}

// True when any has ended.
bool EngineProgress::finish_operations() {
  // Bytes of a peer that had withdrawn its memory may be in any result, so nothing may be called
  // complete.
  if (failures_.has_failed() || failures_.has_read_void()) return false;
  bool has_any = false;
  ActiveOperations& active = executor_.active();
  for (OperationSlot* done = active.take_finished(); done; done = active.take_finished()) {
    {
      // Before anybody hears of it: a caller may ask for the counters next.
      const std::lock_guard lock(counters_mutex_);
      const auto [sent, received] = executor_.traffic();
      counters_.bytes_sent = sent;
      counters_.bytes_received = received;
      counters_.scratch_bytes = executor_.scratch_bytes();
    }
    queue_.complete(*done);
    has_any = true;
  }
  return has_any;
}

bool EngineProgress::poll_a_little() {
  if (failures_.has_failed() || executor_.active().is_empty()) return false;
  const auto begin = Clock::now(), end = begin + lookout_.spin();
  const bool is_hurried =
      executor_.active().has(Lane::kSmall) || executor_.active().has(Lane::kPair);
  // Links that are slower than this host: one look, then sleep.
  if (lookout_.is_in_vain(begin, is_hurried)) return orders_.has_news() || take_events(0) > 0;
  const int looks = lookout_.spin().count() > 0 ? kLooksPerCall : kLooksIfCrowded;
  for (int i = 1;; ++i) {
    if (orders_.has_news()) return true;
    // Peers of this node do not wake whoever looks, so links are stepped here. What was found has
    // to be acted on, even if nothing moved.
    if (memory_ != nullptr && (executor_.step() || executor_.findings().has_any())) return true;
    const bool yields = i % (memory_ == nullptr ? kLooksIfCrowded : looks) == 0;
    if ((memory_ == nullptr || yields) && take_events(0) > 0) return true;
    // The clock and the scheduler are asked once in a round only.
    if (!yields) continue;
    if (i >= kPolls && Clock::now() >= end) return false;
    // Somebody may want this core: the caller, or another rank, which this one waits for.
    std::this_thread::yield();
  }
}

int EngineProgress::take_events(int timeout_ms) {
  return events_.take(timeout_ms, [this](int fd) { return failures_.read(fd); });
}

void EngineProgress::look_at_time() {
  if (failures_.has_failed()) return;
  if (failures_.suspicions().are_none() && executor_.active().is_empty()) return;
  const auto now = Clock::now();
  failures_.look_at_time(now);
  if (!failures_.has_failed()) patience_.look_at_time(now);
}

int EngineProgress::ms_to_deadline() const {
  // All has ended by then, so only orders can come.
  if (failures_.has_failed()) return -1;
  const auto deadline = std::min(failures_.suspicions().next_deadline(), patience_.next_deadline());
  return deadline == Clock::time_point::max() ? -1 : ms_until(deadline);
}

EngineProgress::Load EngineProgress::load() const {
  if (stops_ || failures_.has_failed()) return Load::kVoid;
  if (!has_backlog_ && executor_.active().is_empty()) return Load::kNone;
  return executor_.active().has(Lane::kBulk) ? Load::kLong : Load::kShort;
}

void EngineProgress::leave() {
  failures_.say_goodbye(events_.link_fds(), executor_);
  if (memory_ != nullptr) memory_->withdraw();
  // Last: from here on callers have their buffers back.
  queue_.fail(DT_E_ABORTED, "the communicator was destroyed");
}

}  // namespace dtl::ring
