#include "ring/engine/operation_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

// A work id is the operation's number in order of submission, with its slot in the low bits.
constexpr unsigned kSlotBits = 20;
constexpr std::size_t kMaxSlots = (1u << kSlotBits) - 1;

constexpr int kPauses = 8;  // between two looks at an operation

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

dt_work make_work(std::uint64_t number, int slot) {
  return number << kSlotBits | static_cast<std::uint64_t>(slot);
}

}  // namespace

OperationQueue::OperationQueue(int world)
    : world_(world),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      sent_to_(static_cast<std::size_t>(world)),
      received_from_(static_cast<std::size_t>(world)) {
  if (!wake_.valid()) throw CommError(DT_E_SYS, "cannot create an eventfd", errno_text(errno));
}

OperationSlot& OperationQueue::free_slot() {
  if (free_.empty()) {
    if (slots_.size() >= kMaxSlots) {
      throw CommError(DT_E_NOMEM, "cannot take another operation",
                      "too many were never waited for");
    }
    const auto index = static_cast<int>(slots_.size());
    slots_.emplace_back().index = index;
    free_.push_back(index);
  }
  Slot& slot = slots_[static_cast<std::size_t>(free_.back())];
  free_.pop_back();
  return slot;
}

std::uint64_t OperationQueue::next_sequence(const Request& request) {
  if (request.opcode != Opcode::kPair) return next_collective_++;
  const auto peer = static_cast<std::size_t>(request.root);
  return ++(request.is_receive ? received_from_ : sent_to_)[peer];
}

int OperationQueue::submit(const Request& request, const Choice& choice, dt_work* work) {
  const std::lock_guard lock(mutex_);
  if (status_ != DT_OK) return status_;
  Slot& slot = free_slot();
  slot.operation.prepare(request, choice, world_, next_sequence(request));
  slot.work = make_work(next_number_++, slot.index);
  if (request.opcode != Opcode::kPair) {
    state_.begin(slot.operation.sequence(), request.opcode);
  }
  slot.state = State::kPending;
  *work = slot.work;
  if (world_ == 1) {
    slot.operation.finish_alone();
    slot.state = State::kDone;
    finished_.push_back(slot.work);
    show_any();
    return DT_OK;
  }
  submitted_[static_cast<std::size_t>(slot.operation.lane())].push_back(&slot);
  post_news();
  return DT_OK;
}

OperationSlot* OperationQueue::find(dt_work work) {
  const std::size_t index = work & kMaxSlots;
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  return slot.state != State::kFree && slot.work == work ? &slot : nullptr;
}

void OperationQueue::spin(const Slot& slot) const {
  const auto end = std::chrono::steady_clock::now() + spin_time_.load();
  while (slot.state.load(std::memory_order_acquire) == State::kPending && !has_failed_.load() &&
         std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < kPauses; ++i) pause_core();
    std::this_thread::yield();  // the communication thread may be on this core
  }
}

// With the mutex: how the operation ended; its id is free again.
int OperationQueue::release(Slot& slot) {
  const int result = slot.state == State::kDone ? DT_OK : status_;
  slot.state = State::kFree;
  free_.push_back(slot.index);
  drop_released();
  show_any();
  return result;
}

OperationQueue::User::User(OperationQueue& queue) : queue_(queue) {
  const std::lock_guard lock(queue_.mutex_);
  ++queue_.users_;
}

OperationQueue::User::~User() {
  const std::lock_guard lock(queue_.mutex_);
  if (--queue_.users_ == 0 && queue_.stopped_) queue_.changed_.notify_all();
}

bool OperationQueue::is_settled(dt_work work) const {
  const std::lock_guard lock(mutex_);
  const Slot* slot = find(work);
  return slot == nullptr || is_over(*slot);
}

bool OperationQueue::has_completion_fd() const {
  const std::lock_guard lock(mutex_);
  return completion_.valid();
}

int OperationQueue::wait(dt_work work, int timeout_ms) {
  std::unique_lock lock(mutex_);
  Slot* slot = find(work);
  if (slot == nullptr) return DT_E_INVAL;
  // Another thread may have it reported meanwhile.
  const auto is_settled = [&] { return find(work) == nullptr || is_over(*slot); };
  ++waiters_;
  if (spin_time_.load().count() > 0 && timeout_ms != 0 && !is_settled()) {
    lock.unlock();
    spin(*slot);
    lock.lock();
  }
  if (timeout_ms < 0) {
    changed_.wait(lock, is_settled);
  } else if (timeout_ms > 0) {
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_settled);
  }
  --waiters_;
  slot = find(work);
  if (slot == nullptr) return DT_E_INVAL;
  return is_over(*slot) ? release(*slot) : DT_PENDING;
}

// Ids that were reported already are no longer found.
void OperationQueue::drop_released() {
  while (!finished_.empty() && find(finished_.front()) == nullptr) finished_.pop_front();
}

// Of those that wait_any reports.
bool OperationQueue::is_pending(const Slot& slot) {
  return slot.state == State::kPending && !slot.operation.request().is_own;
}

bool OperationQueue::has_any() const {
  const auto is_there = [this](dt_work work) { return find(work) != nullptr; };
  if (std::any_of(finished_.begin(), finished_.end(), is_there)) return true;
  return status_ != DT_OK && std::any_of(slots_.begin(), slots_.end(), is_pending);
}

int OperationQueue::wait_any(dt_work* works, std::int32_t* statuses, std::uint32_t max,
                             std::uint32_t* count, int timeout_ms) {
  std::unique_lock lock(mutex_);
  *count = 0;
  const auto is_ready = [&] { return has_any() || status_ != DT_OK; };
  ++waiters_;
  if (timeout_ms < 0) {
    changed_.wait(lock, is_ready);
  } else if (timeout_ms > 0) {
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_ready);
  }
  --waiters_;
  const auto report = [&](Slot& slot) {
    works[*count] = slot.work;
    statuses[(*count)++] = release(slot);
  };
  while (!finished_.empty() && *count < max) {
    Slot* slot = find(finished_.front());
    finished_.pop_front();
    if (slot != nullptr) report(*slot);
  }
  if (status_ != DT_OK) {
    for (Slot& slot : slots_) {
      if (*count < max && is_pending(slot)) report(slot);
    }
    if (*count == 0) return status_;
  }
  return *count > 0 ? DT_OK : DT_PENDING;
}

OperationQueue::Announced::const_iterator OperationQueue::announced(int from) const {
  return from < 0 ? announced_.begin() : announced_.find(from);
}

bool OperationQueue::is_announced(int from) const {
  const std::lock_guard lock(mutex_);
  return status_ != DT_OK || announced(from) != announced_.end();
}

void OperationQueue::announce(int from, const std::optional<OperationHeader>& header) {
  const std::lock_guard lock(mutex_);
  if (header) {
    announced_[from] = *header;
    changed_.notify_all();
  } else {
    announced_.erase(from);
  }
}

int OperationQueue::probe(int from, int timeout_ms, int* source, OperationHeader* header) {
  std::unique_lock lock(mutex_);
  ++waiters_;
  changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                    [&] { return status_ != DT_OK || announced(from) != announced_.end(); });
  --waiters_;
  if (status_ != DT_OK) return status_;
  const auto found = announced(from);
  if (found == announced_.end()) return DT_PENDING;
  *source = found->first;
  *header = found->second;
  return DT_OK;
}

int OperationQueue::completion_fd() {
  const std::lock_guard lock(mutex_);
  if (!completion_.valid()) {
    completion_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!completion_.valid()) return DT_E_SYS;
    show_any();
  }
  return completion_.get();
}

// Makes the descriptor say whether wait_any has something.
void OperationQueue::show_any() {
  if (!completion_.valid()) return;
  const bool has = has_any() || status_ != DT_OK;
  if (has == completion_is_set_) return;
  completion_is_set_ = has;
  std::uint64_t number = 1;
  if (has) {
    (void)!::write(completion_.get(), &number, sizeof number);
  } else {
    (void)!::read(completion_.get(), &number, sizeof number);
  }
}

void OperationQueue::request_abort(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (status_ != DT_OK) return;
    orders_.abort = true;
    orders_.why = why;
    post_news();
  }
  wake_sleeper();
}

void OperationQueue::wait_until_failed() {
  const User user(*this);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return status_ != DT_OK; });
}

void OperationQueue::request_stop() {
  {
    const std::lock_guard lock(mutex_);
    orders_.stop = true;
    post_news();
  }
  wake_sleeper();
}

void OperationQueue::wait_until_unused() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  changed_.wait(lock, [&] { return users_ == 0; });
}

std::string OperationQueue::error_text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

void OperationQueue::set_error(int status, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (status_ == DT_OK) {
    status_ = status;
    text_ = text;
  }
}

void OperationQueue::restart_numbers() {
  const std::lock_guard lock(mutex_);
  first_number_.store(next_collective_ - 1);
  next_collective_ = 1;
  completed_.store(0);
  state_.restart();
}

OperationSlot* OperationQueue::take_submitted(Lane lane) {
  const std::lock_guard lock(mutex_);
  auto& queue = submitted_[static_cast<std::size_t>(lane)];
  if (queue.empty()) return nullptr;
  Slot* slot = queue.front();
  queue.pop_front();
  return slot;
}

void OperationQueue::complete(OperationSlot& slot) {
  {
    const std::lock_guard lock(mutex_);
    const Operation& operation = slot.operation;
    if (operation.lane() != Lane::kPair) {
      completed_early_.push_back(operation.sequence());
      std::uint64_t completed = completed_.load(std::memory_order_relaxed);
      const auto is_next = [&](std::uint64_t sequence) { return sequence == completed + 1; };
      for (auto at = completed_early_.end();
           (at = std::find_if(completed_early_.begin(), completed_early_.end(), is_next)) !=
           completed_early_.end();) {
        completed_early_.erase(at);
        ++completed;
      }
      completed_.store(completed, std::memory_order_relaxed);
      state_.complete(completed);
    }
    if (!operation.request().is_own) finished_.push_back(slot.work);
    slot.state.store(State::kDone, std::memory_order_release);
    show_any();
  }
  changed_.notify_all();
}

void OperationQueue::fail(int status, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (status_ == DT_OK) {
      status_ = status;
      text_ = text;
    }
    has_failed_.store(true);
    state_.end();
    for (auto& queue : submitted_) queue.clear();
    show_any();
  }
  changed_.notify_all();
}

OperationQueue::Orders OperationQueue::take_orders() {
  const std::lock_guard lock(mutex_);
  news_.store(false, std::memory_order_release);
  return std::exchange(orders_, {});
}

bool OperationQueue::begin_sleep() {
  const std::lock_guard lock(mutex_);
  if (news_.load(std::memory_order_relaxed)) return false;
  sleeping_ = true;
  return true;
}

void OperationQueue::end_sleep() {
  const std::lock_guard lock(mutex_);
  sleeping_ = false;
}

void OperationQueue::post_news() {
  news_.store(true);  // in order with the wheel's moves: see Wheel
}

// Only a sleeping thread is worth a system call.
void OperationQueue::wake_sleeper() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(sleeping_, false)) return;
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

}  // namespace dtl::ring
