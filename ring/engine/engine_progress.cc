// A turn never blocks. Its order matters: submitted operations may move in the same turn, and
// findings of links are handled before operations are reported as done.
#include "ring/engine/engine_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <thread>
#include <utility>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

// Polls of the sockets before sleeping. Each costs about 1 us and often saves the 10 us of a sleep;
// more would take the core away from ranks that compute.
constexpr int kPolls = 20;
constexpr int kRetry_ms = 10;  // for news that a control line had no room for
// Polls of shared memory between two of the sockets, since they need no system call. Fewer if other
// ranks need this core: it yields after each round.
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
      executor_(map_, memory_ != nullptr && map_.nodes.size() == 1 ? &memory_->board() : nullptr),
      names_(std::move(links.hosts)),
      lines_(std::move(links.control)),
      late_(std::move(links.late)),
      fan_out_(links.settings.fan_out),
      parent_(rank_ == 0 || late_ == nullptr ? -1 : parent_of(rank_, fan_out_)),
      failures_(rank_, names_, lines_, executor_, queue_,
                // Ends the data after a failure. Peers learn about the memory before callers have
                // their buffers back (Failures::fail).
                [this] {
                  events_.drop_links();
                  events_.set_late(-1);
                  if (memory_ != nullptr) memory_->withdraw();
                }),
      patience_(rank_, settings.patience, names_, executor_, failures_),
      lookout_(settings.active_spin),
      line_count_(lines_.all().size()) {
  for (const ControlLine& line : lines_.all()) events_.add_line(line.channel.fd());
  for (auto& made : links.made) add_stream(std::move(made));
  if (late_ != nullptr) {
    events_.guard({late_->listener()});
    events_.set_late(late_->fd());
  }
  const auto& locals = map_.locals();
  for (std::size_t local = 0; memory_ != nullptr && local < locals.size(); ++local) {
    if (locals[local] == rank_) continue;
    executor_.add_link(locals[local], memory_->make_link(static_cast<int>(local), locals[local]));
  }
  for (const EarlyFrame& early : links.early) failures_.hear(early.frame, early.fd);
}

EngineProgress::Counters EngineProgress::counters() const {
  return {bytes_sent_.load(), bytes_received_.load(), scratch_bytes_.load(), patience_.warnings(),
          line_count_.load()};
}

bool EngineProgress::turn() {
  if (orders_.has_news()) take_orders();
  // After a failure the thread must still receive the order to stop.
  if (stops_ || failures_.has_failed()) return false;
  bool moved = false;
  try {
    start_submitted();
    if (is_late_due_) make_links();
    moved = !failures_.has_failed() && executor_.step();
    look_at_links();
    // Also of earlier turns' data; and there is room for other operations now.
    moved = finish_operations() || moved;
  } catch (const std::exception& error) {
    // Only lack of memory throws here. Operations may be half done, so the communicator fails.
    failures_.fail(DT_E_NOMEM, rank_, error.what());
  }
  if (moved) {
    const auto [sent, received] = executor_.traffic();
    // For observers of the job: if bytes stop growing, that suggests a hang.
    queue_.numbers().note().move(sent + received);
    if (lookout_.is_waiting()) lookout_.note_move(Clock::now());
  }
  return moved;
}

// The ranks of a node often call at the same time. Then a few looks save the caller from leaving
// the wheel and taking it again.
void EngineProgress::start_operations() {
  (void)turn();
  if (executor_.waits_for_boards() && look_at_memory(kLooksIfCrowded)) {
    (void)turn();
  }
}

void EngineProgress::take_orders() {
  const EngineOrders::Orders orders = orders_.take();
  // First take, then look: see EngineOrders::take().
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
      begin(*slot, 0);
    }
    // A full lane may leave operations in the queue, and no news arrive when it has room.
    is_empty = is_empty && executor_.active().has_room(lane);
  }
  has_backlog_ = !is_empty;
}

// entry: as which the board shows it already; 0: it does not.
void EngineProgress::begin(OperationSlot& slot, std::uint64_t entry) {
  try {
    ActiveOperation& active = executor_.active().start(slot);
    active.schedule.board.number = entry;
    patience_.begin(active.timer);
    if (late_ != nullptr) want_links(active.schedule, slot.operation.lane());
  } catch (const CommError& error) {
    return failures_.fail(error.dt_status(), rank_, error.what());
  }
  lookout_.note_beginning();
  // After it is active. If a rank left or was lost while nothing needed it, the first operation
  // that needs it fails.
  failures_.look_at_beginner();
}

bool EngineProgress::is_at_rest() const {
  return !stops_ && !has_backlog_ && !is_late_due_ && !orders_.has_news() && !lines_.has_unsent() &&
         failures_.are_none() && executor_.is_at_rest();
}

void EngineProgress::run_on_board(OperationSlot& slot) {
  try {
    const std::uint64_t entry = executor_.run_on_board(slot.operation);
    if (entry != 0) return begin(slot, entry);
    report(slot);
  } catch (const std::exception& error) {  // as in turn()
    return failures_.fail(DT_E_NOMEM, rank_, error.what());
  }
  queue_.numbers().note().move(bytes_sent_.load(std::memory_order_relaxed) +
                               bytes_received_.load(std::memory_order_relaxed));
}

void EngineProgress::want_links(const Schedule& schedule, Lane lane) {
  for (const Flow& flow : schedule.flows) {
    if (!map_.is_local(flow.peer)) late_->want(flow.peer, lane);
  }
  is_late_due_ = is_late_due_ || late_->due() == Clock::time_point{};
}

void EngineProgress::add_stream(LinkBuilder::Made made) {
  const int fd = made.channel.fd();
  TcpLink& link = executor_.add_stream(made.peer, made.lane, made.number, std::move(made.channel));
  events_.add_stream(link, fd);
}

void EngineProgress::make_links() {
  is_late_due_ = false;
  // Before step() closes it: a forked child may hold it open, and then its events would go on.
  events_.set_late(-1);
  LateLinks::News news = late_->step();
  events_.set_late(late_->fd());
  for (auto& made : news.made) add_stream(std::move(made));
  for (auto& line : news.lines) {
    events_.add_line(line.channel.fd());
    failures_.add_line(line.rank, std::move(line.channel));
    ++line_count_;
  }
  if (news.uncalled) call_parent(*news.uncalled);
  for (const int peer : news.refusals) failures_.hear_of_break({peer, ECONNREFUSED});
  if (news.failure) failures_.fail(news.failure->status, news.failure->peer, news.failure->cause);
}

// The parent, or who was called instead, has left. News come to this rank again from the next one
// above it; it knows which have left only as far as it has heard.
void EngineProgress::call_parent(int after) {
  parent_ = after;
  do {
    parent_ = parent_ > 0 ? parent_of(parent_, fan_out_) : -1;
  } while (parent_ >= 0 && failures_.has_left(parent_));
  if (parent_ < 0) return;
  late_->call(parent_);
  is_late_due_ = true;
}

// Handles what the last step found out about the links. Mismatches first: they say more than breaks
// that came with them.
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

// True if any has ended.
bool EngineProgress::finish_operations() {
  // If a peer has withdrawn its memory, any result may contain wrong bytes, so nothing may be
  // reported as complete.
  if (failures_.has_failed() || failures_.has_read_void()) return false;
  bool has_any = false;
  ActiveOperations& active = executor_.active();
  for (OperationSlot* done = active.take_finished(); done; done = active.take_finished()) {
    scratch_bytes_.store(executor_.scratch_bytes(), std::memory_order_relaxed);
    report(*done);
    has_any = true;
  }
  return has_any;
}

void EngineProgress::report(OperationSlot& slot) {
  // Before callers are told: they may read the counters next.
  const auto [sent, received] = executor_.traffic();
  bytes_sent_.store(sent, std::memory_order_relaxed);
  bytes_received_.store(received, std::memory_order_relaxed);
  queue_.complete(slot);
}

// True if there are news, or something moved.
bool EngineProgress::look_at_memory(int times) {
  for (int i = 0; i < times; ++i) {
    if (orders_.has_news()) return true;
    executor_.await_entry();
    // Peers of this node do not wake a polling thread, so links are stepped here. Findings must be
    // handled even if nothing moved.
    if (executor_.step() || executor_.findings().has_any()) return true;
  }
  return false;
}

bool EngineProgress::poll_a_little() {
  if (failures_.has_failed() || executor_.active().is_empty()) return false;
  const int looks = lookout_.spin().count() > 0 ? kLooksPerCall : kLooksIfCrowded;
  // Before the clock is read, which takes as long as a peer of this node needs to answer.
  if (memory_ != nullptr && look_at_memory(looks)) return true;
  const auto begin = Clock::now(), end = begin + lookout_.spin();
  const bool is_hurried =
      executor_.active().has(Lane::kSmall) || executor_.active().has(Lane::kPair);
  // Links are slower than this host: poll once, then sleep.
  if (lookout_.is_in_vain(begin, is_hurried)) return orders_.has_news() || take_events(0) > 0;
  for (int i = 1;; ++i) {
    if (orders_.has_news()) return true;
    // Peers of this node do not wake a polling thread, so links are stepped here. Findings must be
    // handled even if nothing moved.
    if (memory_ != nullptr && (executor_.step() || executor_.findings().has_any())) return true;
    const bool yields = i % (memory_ == nullptr ? kLooksIfCrowded : looks) == 0;
    if ((memory_ == nullptr || yields) && take_events(0) > 0) return true;
    // Reads the clock and yields only once per round.
    if (!yields) continue;
    if (i >= kPolls && Clock::now() >= end) return false;
    // Another thread may need this core: the caller, or another rank that this one waits for.
    std::this_thread::yield();
  }
}

int EngineProgress::take_events(int timeout_ms) {
  return events_.take(timeout_ms, [this](int fd) {
    if (late_ != nullptr && fd == late_->fd()) {
      is_late_due_ = true;
      return true;
    }
    const bool was_orphaned = failures_.is_orphaned();
    const bool stays = failures_.read(fd);
    const bool is_new = failures_.is_orphaned() && !was_orphaned && !failures_.has_failed();
    if (is_new && late_ != nullptr) call_parent(parent_);
    return stays;
  });
}

void EngineProgress::look_at_time() {
  if (lines_.has_unsent()) lines_.flush();
  if (failures_.has_failed()) return;
  const auto late_due = late_ == nullptr ? Clock::time_point::max() : late_->due();
  const bool waits = late_due != Clock::time_point::max();
  if (!waits && failures_.suspicions().are_none() && executor_.active().is_empty()) return;
  const auto now = Clock::now();
  is_late_due_ = is_late_due_ || now >= late_due;
  failures_.look_at_time(now);
  if (!failures_.has_failed()) patience_.look_at_time(now);
}

int EngineProgress::ms_to_deadline() {
  if (is_late_due_ && !failures_.has_failed()) return 0;
  // No event tells when a control line has room again.
  if (lines_.has_unsent()) return kRetry_ms;
  // All operations have ended by then, so only orders can arrive.
  if (failures_.has_failed()) return -1;
  auto deadline = std::min(failures_.suspicions().next_deadline(), patience_.next_deadline());
  if (late_ != nullptr) deadline = std::min(deadline, late_->due());
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
