#include "ring/board.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "ring/comm_error.h"

namespace dtl::ring {
namespace {

// A work id is the operation's sequence number with its slot in the low bits.
constexpr unsigned kSlotBits = 20;
constexpr std::size_t kMaxSlots = (1u << kSlotBits) - 1;

// A caller that waits looks this long before it sleeps: longer than a short operation takes on idle
// cores, shorter than anybody would miss.
constexpr auto kSpinTime = std::chrono::microseconds(20);

bool has_several_cores() {
  cpu_set_t cores;
  return ::sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) > 1;
}

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

dt_work make_work(std::uint64_t sequence, int slot) {
  return sequence << kSlotBits | static_cast<std::uint64_t>(slot);
}

}  // namespace

Board::Board(int rank, int world, std::size_t one_shot_bytes)
    : rank_(rank),
      world_(world),
      one_shot_bytes_(one_shot_bytes),
      may_spin_(has_several_cores()),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_.valid()) throw CommError(DT_E_SYS, "cannot create an eventfd", errno_text(errno));
}

Board::Slot& Board::free_slot() {
  if (free_.empty()) {
    if (slots_.size() >= kMaxSlots) {
      throw CommError(DT_E_NOMEM, "cannot take another operation",
                      "too many were never waited for");
    }
    const auto index = static_cast<int>(slots_.size());
    slots_.emplace_back().operation.slot = index;
    free_.push_back(index);
  }
  Slot& slot = slots_[static_cast<std::size_t>(free_.back())];
  free_.pop_back();
  return slot;
}

int Board::submit(const Request& request, dt_work* work) {
  std::unique_lock lock(mutex_);
  if (status_ != DT_OK) return status_;
  Slot& slot = free_slot();
  slot.sequence = next_sequence_++;
  slot.state = State::kPending;
  slot.operation.prepare(request, rank_, world_, slot.sequence, one_shot_bytes_);
  *work = make_work(slot.sequence, slot.operation.slot);
  if (world_ == 1) {
    slot.operation.finish_alone();
    slot.state = State::kDone;
    return DT_OK;
  }
  submitted_.push_back(&slot.operation);
  const bool sleeps = post_news();
  lock.unlock();
  if (sleeps) wake();
  return DT_OK;
}

Board::Slot* Board::find(dt_work work) {
  const std::size_t index = work & kMaxSlots;
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  const bool is_it = slot.state != State::kFree && slot.sequence == work >> kSlotBits;
  return is_it ? &slot : nullptr;
}

void Board::spin_until(std::uint64_t sequence) const {
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  while (completed_.load(std::memory_order_acquire) < sequence && !has_failed_.load() &&
         std::chrono::steady_clock::now() < end) {
    pause_core();
  }
}

int Board::wait(dt_work work, int timeout_ms) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] {
    const Slot* slot = find(work);
    return slot == nullptr || slot->state == State::kDone || status_ != DT_OK;
  };
  ++users_;
  if (may_spin_ && timeout_ms != 0 && !is_over()) {
    lock.unlock();
    spin_until(work >> kSlotBits);
    lock.lock();
  }
  if (timeout_ms < 0) {
    changed_.wait(lock, is_over);
  } else if (timeout_ms > 0) {
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_over);
  }
  if (--users_ == 0 && stopped_) changed_.notify_all();
  Slot* slot = find(work);
  if (slot == nullptr) return DT_E_INVAL;
  if (slot->state != State::kDone && status_ == DT_OK) return DT_PENDING;
  const int result = slot->state == State::kDone ? DT_OK : status_;
  slot->state = State::kFree;
  free_.push_back(slot->operation.slot);
  return result;
}

void Board::abort(const std::string& why) {
  std::unique_lock lock(mutex_);
  if (status_ != DT_OK) return;
  orders_.abort = true;
  orders_.why = why;
  if (post_news()) wake();
  ++users_;
  changed_.wait(lock, [&] { return status_ != DT_OK; });
  if (--users_ == 0 && stopped_) changed_.notify_all();
}

void Board::request_stop() {
  const std::lock_guard lock(mutex_);
  orders_.stop = true;
  if (post_news()) wake();
}

void Board::wait_until_unused() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  changed_.wait(lock, [&] { return users_ == 0; });
}

std::string Board::error_text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

void Board::set_error(int status, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (status_ == DT_OK) {
    status_ = status;
    text_ = text;
  }
}

Operation* Board::take_submitted() {
  const std::lock_guard lock(mutex_);
  if (submitted_.empty()) return nullptr;
  Operation* operation = submitted_.front();
  submitted_.pop_front();
  return operation;
}

void Board::complete(Operation& operation) {
  {
    const std::lock_guard lock(mutex_);
    slots_[static_cast<std::size_t>(operation.slot)].state = State::kDone;
    completed_.store(operation.sequence(), std::memory_order_release);
  }
  changed_.notify_all();
}

void Board::fail(int status, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (status_ == DT_OK) {
      status_ = status;
      text_ = text;
    }
    has_failed_.store(true);
    submitted_.clear();
  }
  changed_.notify_all();
}

Board::Orders Board::take_orders() {
  const std::lock_guard lock(mutex_);
  news_.store(false, std::memory_order_release);
  return std::exchange(orders_, {});
}

bool Board::begin_sleep() {
  const std::lock_guard lock(mutex_);
  if (news_.load(std::memory_order_relaxed)) return false;
  sleeping_ = true;
  return true;
}

void Board::end_sleep() {
  const std::lock_guard lock(mutex_);
  sleeping_ = false;
}

// Only a sleeping thread is worth a system call.
bool Board::post_news() {
  news_.store(true, std::memory_order_release);
  return std::exchange(sleeping_, false);
}

void Board::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

}  // namespace dtl::ring
