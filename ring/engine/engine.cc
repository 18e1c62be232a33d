#include "ring/engine/engine.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

constexpr auto kVerdictDelay = std::chrono::milliseconds(250);  // the time news take, generously
constexpr std::uint32_t kDataEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

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
    : settings_(settings),
      queue_(queue),
      map_(links.map),
      memory_(map_.has_several_per_node() ? memory : nullptr),
      hosts_(std::move(links.hosts)),
      control_(std::move(links.control)),
      tcp_(links.links.size()),
      executor_(map_),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      recall_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      fork_guard_(descriptors(links)) {
  if (!epoll_.valid() || !recall_.valid()) {
    throw CommError(DT_E_SYS, "cannot create an epoll and an eventfd", errno_text(errno));
  }
  watch(queue_.wake_fd(), EPOLLIN);
  if (memory_ != nullptr) watch(memory_->wake_fd(), EPOLLIN);
  for (const ControlLine& line : control_) watch(line.fd.get(), EPOLLIN);
  for (std::size_t peer = 0; peer < links.links.size(); ++peer) {
    if (!links.links[peer]) continue;
    tcp_[peer] = links.links[peer].get();
    for (const int fd : tcp_[peer]->descriptors()) {
      const auto at = static_cast<std::size_t>(fd);
      if (link_of_fd_.size() <= at) link_of_fd_.resize(at + 1);
      link_of_fd_[at] = tcp_[peer];
      watch(fd, kDataEvents);
    }
    executor_.add_link(static_cast<int>(peer), std::move(links.links[peer]));
  }
  const auto& locals = map_.locals();
  for (std::size_t local = 0; memory_ != nullptr && local < locals.size(); ++local) {
    if (locals[local] == settings_.rank) continue;
    executor_.add_link(locals[local], memory_->make_link(static_cast<int>(local), locals[local]));
  }
  // Before any caller runs the engine, which may be earlier than the thread gets to it.
  for (const Frame& frame : links.early) handle(frame, control_[0].fd.get());
  thread_ = start_quiet_thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "dtring");
  keep_on_cpus(thread_.native_handle(), settings_.cpus);
}

Engine::~Engine() {
  join();
}

void Engine::join() {
  if (thread_.joinable()) thread_.join();
}

std::vector<int> Engine::descriptors(const Links& links) const {
  std::vector<int> all{epoll_.get(), recall_.get(), queue_.wake_fd()};
  for (const auto& link : links.links) {
    if (!link) continue;
    const auto of_link = link->descriptors();
    all.insert(all.end(), of_link.begin(), of_link.end());
  }
  for (const ControlLine& line : control_) all.push_back(line.fd.get());
  if (memory_ != nullptr) {
    const auto of_memory = memory_->descriptors();
    all.insert(all.end(), of_memory.begin(), of_memory.end());
  }
  return all;
}

void Engine::watch(int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw CommError(DT_E_SYS, "cannot watch a connection", errno_text(errno));
  }
}

void Engine::take_orders() {
  const OperationQueue::Orders orders = queue_.take_orders();
  has_backlog_ = true;
  stops_ = stops_ || orders.stop;
  if (orders.abort) {
    fail(DT_E_ABORTED, settings_.rank,
         fmt::format("{} aborted: {}", name(settings_.rank), orders.why));
  }
}

void Engine::start_submitted() {
  if (!has_backlog_) return;
  bool is_empty = true;
  for (const Lane lane : {Lane::kSmall, Lane::kBulk, Lane::kPair}) {
    while (executor_.has_room(lane) && !has_failed_) {
      Operation* operation = queue_.take_submitted(lane);
      if (operation == nullptr) break;
      operation->deadline = Clock::now() + settings_.operation_timeout;
      operation->warning = Clock::now() + settings_.warn_timeout;
      next_warning_ = std::min(next_warning_, operation->warning);
      try {
        executor_.start(*operation);
        last_wait_ = {};  // the one for its peers to begin does not say how fast links are
      } catch (const CommError& error) {
        return fail(error.dt_status(), settings_.rank, error.what());
      }
      fail_if_departed();
      for (const auto& each : broken_) suspect(each.peer, each.error);
    }
    is_empty = is_empty && executor_.has_room(lane);
  }
  has_backlog_ = !is_empty;
}

void Engine::finish_operations() {
  if (has_failed_ || has_read_void_) return;
  for (Operation* done = executor_.take_finished(); done; done = executor_.take_finished()) {
    {
      const std::lock_guard lock(counters_mutex_);  // before anybody hears of it
      counters_.bytes_sent = executor_.bytes_sent();
      counters_.bytes_received = executor_.bytes_received();
      counters_.scratch_bytes = executor_.scratch_bytes();
    }
    queue_.complete(*done);
  }
}

Engine::Counters Engine::counters() const {
  const std::lock_guard lock(counters_mutex_);
  return counters_;
}

// What the last step found out about the links.
void Engine::look_at_links() {
  if (executor_.mismatch) {
    const auto& [peer, mine, theirs] = *executor_.mismatch;
    const std::string cause =
        is_header(theirs) ? fmt::format("{} calls {} as operation {}, {} calls {} as operation {}",
                                        name(settings_.rank), describe(mine), mine.sequence,
                                        name(peer), describe(theirs), theirs.sequence)
                          : fmt::format("{} sent bytes that do not begin an operation", name(peer));
    return fail(DT_E_MISMATCH, peer, cause);
  }
  for (const auto& each : executor_.breaks) {
    if (each.error == EPROTO) return lose(each.peer, "it sent garbage");
    broken_.push_back(each);
    has_read_void_ = has_read_void_ || each.error == ECANCELED;
    if (departure_of(each.peer) == nullptr || misses_data_of(each.peer)) {
      suspect(each.peer, each.error);
    }
  }
  executor_.breaks.clear();
}

bool Engine::misses_data_of(int rank) const {
  for (Operation* operation : executor_.active()) {
    const Flow* flow = operation->find_flow(rank);
    if (flow != nullptr && !(flow->is_received() && flow->is_sent())) return true;
  }
  return false;
}

void Engine::look_at_time() {
  if (has_failed_ || (suspicions_.empty() && executor_.is_idle())) return;
  const auto now = Clock::now();
  const auto suspicions = suspicions_;
  for (const Suspicion& suspicion : suspicions) {
    if (now >= suspicion.deadline) settle(suspicion);
  }
  if (has_failed_) return;
  if (now >= next_warning_) {
    next_warning_ = Clock::time_point::max();
    for (Operation* operation : executor_.active()) {
      if (operation->has_warned) continue;
      if (now >= operation->warning) {
        warn_of(*operation);
      } else {
        next_warning_ = std::min(next_warning_, operation->warning);
      }
    }
  }
  for (Operation* operation : executor_.active()) {
    if (now >= deadline_of(*operation)) return give_up(*operation);
  }
}

// Who knows of ranks that have not even begun knows best whom to name, so it speaks first.
Engine::Clock::time_point Engine::deadline_of(const Operation& operation) const {
  return operation.deadline +
         (operation.unheard().empty() ? Clock::duration(kVerdictDelay) : Clock::duration::zero());
}

std::string Engine::whom_it_waits_for(const Operation& operation) const {
  constexpr std::size_t kMostNames = 8;
  const std::vector<int> unheard = operation.unheard();
  if (!unheard.empty()) {
    std::string names;
    for (std::size_t i = 0; i < unheard.size() && i < kMostNames; ++i) {
      names += (i > 0 ? ", " : "") + name(unheard[i]);
    }
    if (unheard.size() > kMostNames) {
      names += fmt::format(" and {} more", unheard.size() - kMostNames);
    }
    return names + (unheard.size() == 1 ? " has not begun it" : " have not begun it");
  }
  for (const Flow& flow : operation.flows) {
    if (!flow.is_received()) return "waiting for data from " + name(flow.peer);
  }
  for (const Flow& flow : operation.flows) {
    if (!flow.is_sent()) return name(flow.peer) + " does not take data";
  }
  return "it is being summed up";
}

void Engine::warn_of(Operation& operation) {
  operation.has_warned = true;
  {
    const std::lock_guard lock(counters_mutex_);
    ++counters_.warnings;
  }
  if (settings_.warn == nullptr) return;
  const std::string text = fmt::format(
      "{}: operation {} ({}) has waited for {} ms: {}", name(settings_.rank), operation.sequence(),
      operation.description(), settings_.warn_timeout.count(), whom_it_waits_for(operation));
  settings_.warn(text.c_str(), settings_.warn_context);
}

void Engine::give_up(const Operation& operation) {
  fail(DT_E_TIMEOUT, settings_.rank,
       fmt::format("{}: operation {} ({}) is not complete after {} ms: {}", name(settings_.rank),
                   operation.sequence(), operation.description(),
                   settings_.operation_timeout.count(), whom_it_waits_for(operation)));
}

Engine::Clock::time_point Engine::next_deadline() const {
  auto deadline = Clock::time_point::max();
  if (has_failed_) return deadline;
  for (const Suspicion& suspicion : suspicions_) deadline = std::min(deadline, suspicion.deadline);
  for (const Operation* operation : executor_.active()) {
    deadline = std::min(deadline, deadline_of(*operation));
  }
  return executor_.is_idle() ? deadline : std::min(deadline, next_warning_);
}

void Engine::handle_event(int fd, std::uint32_t events) {
  if (fd == queue_.wake_fd()) {
    std::uint64_t count = 0;
    (void)!::read(fd, &count, sizeof count);
    return;
  }
  if (memory_ != nullptr && fd == memory_->wake_fd()) return memory_->clear_wake();
  const auto at = static_cast<std::size_t>(fd);
  if (at < link_of_fd_.size() && link_of_fd_[at] != nullptr) {
    constexpr std::uint32_t kInput = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    link_of_fd_[at]->set_ready(fd, (events & kInput) != 0, (events & (EPOLLOUT | EPOLLERR)) != 0,
                               (events & (EPOLLRDHUP | EPOLLHUP)) != 0);
    return;
  }
  for (ControlLine& line : control_) {
    if (line.fd.get() == fd) return read_line(line);
  }
}

}  // namespace dtl::ring
