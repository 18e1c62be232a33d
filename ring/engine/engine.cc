// Both drivers run EngineProgress in the same way, but sleep differently: a caller keeps the wheel,
// since it needs it again soon; the thread gives it up.
#include "ring/engine/engine.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "ring/arithmetic/reduce.h"
#include "ring/common/comm_error.h"
#include "ring/engine/lookout.h"

namespace dtl::ring {
namespace {

// From this many bytes on, wake the thread at once. Shorter operations end before it is awake.
constexpr std::uint64_t kWorthWaking = 1 << 20;

// Blocks all signals in the thread, so that the program's handlers run on the program's own
// threads. The thread inherits the mask, so it never runs without it.
std::thread start_quiet_thread(auto body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(body);
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw CommError(DT_E_SYS, "cannot start the communication thread", errno_text(EAGAIN));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

// Best effort: if a cpuset forbids these CPUs, the thread keeps its affinity. The set is allocated,
// since a cpu_set_t ends at CPU 1023.
void keep_on_cpus(pthread_t thread, const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const int most = *std::max_element(cpus.begin(), cpus.end()) + 1;
  const std::unique_ptr<cpu_set_t, decltype(&std::free)> set(CPU_ALLOC(most), &std::free);
  const std::size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<unsigned>(cpu), bytes, set.get());
  pthread_setaffinity_np(thread, bytes, set.get());
}

}  // namespace

Engine::Engine(const Settings& settings, Links links, ShmNode* memory, OperationQueue& queue)
    : queue_(queue),
      // If no two ranks share a node, polling memory would only cost time.
      memory_(links.map.has_several_per_node() ? memory : nullptr),
      events_(orders_, memory_),
      progress_(settings, std::move(links), memory_, orders_, events_, queue_) {
  guard_descriptors();
  thread_ = start_quiet_thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "dtring");
  keep_on_cpus(thread_.native_handle(), settings.cpus);
}

Engine::~Engine() {
  stop();
  // Before the members close their descriptors.
  events_.release_guard();
}

void Engine::stop() {
  if (!thread_.joinable()) return;
  orders_.stop();
  recall();
  thread_.join();
}

void Engine::abort(const std::string& why) {
  orders_.abort(why);
  recall();
}

void Engine::guard_descriptors() {
  events_.guard({wheel_.call_fd()});
  const int note_fd = queue_.numbers().note().fd();
  if (note_fd >= 0) events_.guard({note_fd});
  if (memory_ != nullptr) events_.guard(memory_->descriptors());
}

// Runs in the thread. It has the wheel at the beginning and keeps it at the end: no other thread
// calls leave(), and no caller drives afterwards.
void Engine::run() {
  while (!progress_.stops()) {
    const bool moved = progress_.turn();
    if (!moved && !progress_.stops() && !progress_.poll_a_little()) sleep_without_wheel();
    progress_.look_at_time();
  }
  progress_.leave();
}

// Called by a caller.
bool Engine::take_wheel() {
  const auto before = wheel_.take();
  // The thread has announced its sleep, so other ranks would keep sending wake-ups for it.
  if (before == WheelState::kAsleep) events_.end_sleep();
  return before.has_value();
}

// A caller that submitted meanwhile did not get the wheel, and relies on this thread. So check for
// news after releasing the wheel, not before.
void Engine::leave_wheel(WheelEvent how) {
  wheel_.leave(how);
  if (orders_.has_news()) wheel_.recall();
}

// The caller will wait for what is active, or submit more.
void Engine::leave_wheel_soon_back() {
  const bool is_idle = progress_.load() == EngineProgress::Load::kNone;
  leave_wheel(is_idle ? WheelEvent::kLeaveIdle : WheelEvent::kLeaveActive);
}

int Engine::submit(const Request& request, const Choice& choice, dt_work* work) {
  const bool is_long = request.count * element_bytes(request.dtype) > kWorthWaking;
  // A thread that polls a completion descriptor makes no call that could drive, so the
  // communication thread must.
  const bool is_urgent = is_long || queue_.has_completion_fd();
  if (choice.way == Way::kBoard && !is_urgent && take_wheel()) {
    return submit_with_wheel(request, choice, work);
  }
  const int status = queue_.submit(request, choice, work);
  if (status == DT_OK) note_submission(is_urgent);
  return status;
}

int Engine::submit_with_wheel(const Request& request, const Choice& choice, dt_work* work) {
  const auto leave = [](Engine* engine) { engine->leave_wheel_soon_back(); };
  const std::unique_ptr<Engine, decltype(leave)> leaver(this, leave);  // submit() may throw
  OperationSlot* own = nullptr;
  const bool is_at_rest = progress_.is_at_rest();
  const int status = queue_.submit(request, choice, work, is_at_rest ? &own : nullptr);
  if (own != nullptr) {
    progress_.run_on_board(*own);
  } else if (status == DT_OK) {
    orders_.note_submission();
    progress_.start_operations();
  }
  return status;
}

void Engine::note_submission(bool is_urgent) {
  // Before taking the wheel: if another thread has it, that one now sees the news.
  orders_.note_submission();
  if (!is_urgent && take_wheel()) {
    progress_.start_operations();
    return leave_wheel_soon_back();
  }
  orders_.wake_sleeper();
  if (is_urgent) recall();
}

// The thread must not sleep while an operation is active that nobody waits for: callers may compute
// for minutes. Short ones may pause for a tick, long ones wake the thread at once.
WheelEvent Engine::how_to_leave() const {
  switch (progress_.load()) {
    case EngineProgress::Load::kNone:
      return WheelEvent::kLeaveIdle;
    case EngineProgress::Load::kLong:
    case EngineProgress::Load::kVoid:
      return WheelEvent::kHandOver;
    case EngineProgress::Load::kShort:
      break;
  }
  const bool has_waiters = queue_.waiters().any() || queue_.announcements().has_waiters();
  return has_waiters ? WheelEvent::kHandOver : WheelEvent::kLeaveActive;
}

// Called by a caller, which keeps the wheel. Returns at its deadline or the engine's next one.
void Engine::sleep_until(Clock::time_point deadline) {
  int timeout_ms = progress_.ms_to_deadline();
  if (deadline != Clock::time_point::max()) {
    const int own_ms = ms_until(deadline);
    timeout_ms = timeout_ms < 0 ? own_ms : std::min(timeout_ms, own_ms);
  }
  if (!events_.begin_sleep()) return;
  progress_.take_events(timeout_ms);
  events_.end_sleep();
}

// Called by the thread, which leaves the wheel to any caller. It takes no events before it has the
// wheel again: links are edge-triggered, so each event is reported once, and a caller may need it.
void Engine::sleep_without_wheel() {
  const int timeout_ms = progress_.ms_to_deadline();
  if (!events_.begin_sleep()) return;
  wheel_.sleep(events_.fd(), timeout_ms);
  events_.end_sleep();
  progress_.take_events(0);
}

}  // namespace dtl::ring
