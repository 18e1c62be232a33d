// Waiting has two halves: drive the engine until the operation has ended or another thread drives,
// then wait in the queue for the rest of the timeout.
#include "ring/api/operation_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace dtl::ring {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point deadline_in(int timeout_ms) {
  return timeout_ms < 0 ? Clock::time_point::max()
                        : Clock::now() + std::chrono::milliseconds(timeout_ms);
}

int ms_left(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

}  // namespace

// The engine's thread first, so that nothing moves in buffers that callers have back.
OperationCalls::~OperationCalls() {
  if (engine_) engine_->stop();
  queue_.fail(DT_E_ABORTED, "the communicator was destroyed");
  callers_.wait_until_none();
}

void OperationCalls::start_engine(const Engine::Settings& settings, Links links, ShmNode* memory) {
  operation_timeout_ms_ = static_cast<int>(settings.patience.operation_timeout.count());
  engine_ = std::make_unique<Engine>(settings, std::move(links), memory, queue_);
}

int OperationCalls::submit(const Request& request, const Choice& choice, dt_work* work) {
  return engine_ ? engine_->submit(request, choice, work) : queue_.submit(request, choice, work);
}

int OperationCalls::wait(dt_work work, int timeout_ms) {
  if (!engine_) return queue_.wait(work, timeout_ms);
  const CallerCount::Guard caller(callers_);
  const OperationQueue::Awaited awaited = queue_.await(work);
  if (awaited.is_settled()) return queue_.wait(work, 0);
  const auto deadline = deadline_in(timeout_ms);
  engine_->drive(deadline, [&] { return awaited.is_settled(); });
  // 0 only checks and negative never times out: both stay as they are.
  return queue_.wait(work, timeout_ms <= 0 ? timeout_ms : ms_left(deadline));
}

// Callers of wait_any mostly compute and check now and then, so the thread drives.
int OperationCalls::wait_any(dt_work* works, std::int32_t* statuses, std::uint32_t max,
                             std::uint32_t* count, int timeout_ms) {
  const CallerCount::Guard caller(callers_);
  if (engine_) engine_->recall();
  return queue_.wait_any(works, statuses, max, count, timeout_ms);
}

// A missing message is not a failure of the communicator: the caller decides what it means.
int OperationCalls::probe(int from, int timeout_ms, int* source, OperationHeader* header) {
  const CallerCount::Guard caller(callers_);
  const auto deadline = deadline_in(timeout_ms < 0 ? operation_timeout_ms_ : timeout_ms);
  if (engine_) {
    engine_->drive(deadline, [&] { return queue_.announcements().is_settled(from); });
  }
  return queue_.announcements().probe(from, ms_left(deadline), source, header);
}

void OperationCalls::abort(const std::string& why) {
  if (!engine_) {
    queue_.fail(DT_E_ABORTED, fmt::format("rank {} aborted: {}", rank_, why));
    return;
  }
  const CallerCount::Guard caller(callers_);
  engine_->abort(why);
  queue_.error().wait();
}

}  // namespace dtl::ring
