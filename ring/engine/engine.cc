#include "ring/engine/engine.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

std::thread start_quiet_thread(auto body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are not for this thread
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

// A wish: where a cpuset forbids these CPUs, the thread stays where it is.
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
    : rank_(settings.rank),
      queue_(queue),
      map_(links.map),
      memory_(map_.has_several_per_node() ? memory : nullptr),
      executor_(map_),
      failures_(rank_, std::move(links.hosts), std::move(links.control), executor_, queue_,
                [this] {
                  // Nobody looks at them from here on; their events would only wake the thread.
                  watch_.drop_links();
                  if (memory_ != nullptr) memory_->withdraw();
                }),
      patience_(rank_, settings.patience, executor_, failures_),
      lookout_(settings.active_spin),
      fork_guard_(descriptors(links)) {
  watch_.add(orders_.wake_fd());
  if (memory_ != nullptr) watch_.add(memory_->wake_fd());
  for (const ControlLine& line : failures_.lines()) watch_.add(line.channel.fd());
  for (std::size_t peer = 0; peer < links.links.size(); ++peer) {
    if (!links.links[peer]) continue;
    watch_.add_link(*links.links[peer]);
    executor_.add_link(static_cast<int>(peer), std::move(links.links[peer]));
  }
  const auto& locals = map_.locals();
  for (std::size_t local = 0; memory_ != nullptr && local < locals.size(); ++local) {
    if (locals[local] == rank_) continue;
    executor_.add_link(locals[local], memory_->make_link(static_cast<int>(local), locals[local]));
  }
  for (const Frame& frame : links.early) {
    failures_.hear(frame, failures_.lines().front().channel.fd());
  }
  thread_ = start_quiet_thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "dtring");
  keep_on_cpus(thread_.native_handle(), settings.cpus);
}

Engine::~Engine() {
  stop();
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

std::vector<int> Engine::descriptors(const Links& links) const {
  std::vector<int> all{watch_.fd(), wheel_.call_fd(), orders_.wake_fd()};
  for (const auto& link : links.links) {
    if (!link) continue;
    const auto of_link = link->descriptors();
    all.insert(all.end(), of_link.begin(), of_link.end());
  }
  for (const ControlLine& line : failures_.lines()) all.push_back(line.channel.fd());
  const int note_fd = queue_.numbers().note().fd();
  if (note_fd >= 0) all.push_back(note_fd);
  if (memory_ != nullptr) {
    const auto of_memory = memory_->descriptors();
    all.insert(all.end(), of_memory.begin(), of_memory.end());
  }
  return all;
}

Engine::Counters Engine::counters() const {
  const std::lock_guard lock(counters_mutex_);
  Counters counters = counters_;
  counters.warnings = patience_.warnings();
  return counters;
}

// True when something moved or ended.
bool Engine::turn() {
  if (orders_.has_news()) take_orders();
  if (stops_ || failures_.has_failed()) return false;
  bool moved = false;
  try {
    start_submitted();
    moved = !failures_.has_failed() && executor_.step();
    look_at_links();
    // Also of what moved before this turn; and there is room for others now.
    moved = finish_operations() || moved;
  } catch (const std::exception& error) {
    failures_.fail(DT_E_NOMEM, rank_, error.what());
  }
  if (moved) {
    const auto [sent, received] = executor_.traffic();
    queue_.numbers().note().move(sent + received);
    if (lookout_.is_waiting()) lookout_.note_move(Clock::now());
  }
  return moved;
}

void Engine::take_orders() {
  const EngineOrders::Orders orders = orders_.take();
  has_backlog_ = true;
  stops_ = stops_ || orders.stop;
  if (orders.abort) {
    failures_.fail(DT_E_ABORTED, rank_,
                   fmt::format("{} aborted: {}", failures_.name(rank_), orders.why));
  }
}

void Engine::start_submitted() {
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
      failures_.look_at_beginner();
    }
    is_empty = is_empty && executor_.active().has_room(lane);
  }
  has_backlog_ = !is_empty;
}

// What the last step found out about the links.
void Engine::look_at_links() {
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
bool Engine::finish_operations() {
  if (failures_.has_failed() || failures_.has_read_void()) return false;
  bool has_any = false;
  ActiveOperations& active = executor_.active();
  for (OperationSlot* done = active.take_finished(); done; done = active.take_finished()) {
    {
      const std::lock_guard lock(counters_mutex_);  // before anybody hears of it
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

void Engine::look_at_time() {
  if (failures_.has_failed()) return;
  if (failures_.suspects_nobody() && executor_.active().is_empty()) return;
  const auto now = Clock::now();
  failures_.look_at_time(now);
  if (!failures_.has_failed()) patience_.look_at_time(now);
}

int Engine::take_events(int timeout_ms) {
  return watch_.take(timeout_ms, [this](int fd) { handle_event(fd); });
}

void Engine::handle_event(int fd) {
  if (fd == orders_.wake_fd()) {
    std::uint64_t count = 0;
    (void)!::read(fd, &count, sizeof count);
  } else if (memory_ != nullptr && fd == memory_->wake_fd()) {
    memory_->clear_wake();
  } else if (!failures_.read(fd)) {
    watch_.drop(fd);
  }
}

// The end of the thread, which keeps the wheel.
void Engine::leave() {
  failures_.say_goodbye(watch_.link_fds(), executor_);
  if (memory_ != nullptr) memory_->withdraw();
  queue_.fail(DT_E_ABORTED, "the communicator was destroyed");
}

}  // namespace dtl::ring
