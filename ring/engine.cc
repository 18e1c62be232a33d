#include "ring/engine.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "ring/comm_error.h"

namespace dtl::ring {
namespace {

// Longer than news take from a rank over rank 0 to another; far shorter than the promised second.
constexpr auto kSuspicionTime = std::chrono::milliseconds(200);
constexpr auto kVerdictDelay = std::chrono::milliseconds(250);  // the time news take, generously
// Looks at the sockets that cost about 1 us each and often save the 10 us of a sleep; more would
// take the core away from ranks that compute.
constexpr int kPolls = 20;
// How long destroy waits for the last bytes to be acknowledged. They are delivered later as well,
// unless a peer sends something that nobody reads any more.
constexpr auto kDrainTime = std::chrono::milliseconds(1000);
constexpr std::uint32_t kDataEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;

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

void wait_until_acknowledged(int fd, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    int unsent = 0;
    if (::ioctl(fd, SIOCOUTQ, &unsent) != 0 || unsent == 0) return;
    if (std::chrono::steady_clock::now() >= deadline) return;
    pollfd entry{fd, 0, 0};
    if (::poll(&entry, 1, 1) > 0) return;  // reset or hung up: the peer has gone as well
  }
}

}  // namespace

Engine::Engine(const Settings& settings, Links links, Board& board)
    : settings_(settings),
      board_(board),
      hosts_(std::move(links.hosts)),
      control_(std::move(links.control)),
      transfer_(std::move(links.to_next), std::move(links.from_previous), settings.gather_bytes),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      early_(std::move(links.early)),
      fork_guard_(descriptors()) {
  if (!epoll_.valid()) throw CommError(DT_E_SYS, "cannot create an epoll", errno_text(errno));
  watch(board_.wake_fd(), EPOLLIN);
  watch(transfer_.from_previous(), kDataEvents);
  watch(transfer_.to_next(), kDataEvents | EPOLLOUT);
  for (const ControlLine& line : control_) watch(line.fd.get(), EPOLLIN);
  thread_ = start_quiet_thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "dtring");
  keep_on_cpus(thread_.native_handle(), settings_.cpus);
}

Engine::~Engine() {
  thread_.join();
}

std::vector<int> Engine::descriptors() const {
  std::vector<int> all{transfer_.to_next(), transfer_.from_previous(), epoll_.get(),
                       board_.wake_fd()};
  for (const ControlLine& line : control_) all.push_back(line.fd.get());
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

void Engine::run() {
  for (const Frame& frame : early_) handle(frame, control_[0].fd.get());
  for (;;) {
    if (board_.has_news()) take_orders();
    if (stops_) return leave();
    bool moved = false;
    if (!has_failed_) {
      start_submitted();
      moved = !has_failed_ && transfer_.step();
      look_at_links();
      finish_operations();
    }
    if (!moved && !poll_a_little()) sleep();
    look_at_time();
  }
}

void Engine::take_orders() {
  const Board::Orders orders = board_.take_orders();
  has_backlog_ = true;
  stops_ = stops_ || orders.stop;
  if (orders.abort) {
    fail(DT_E_ABORTED, settings_.rank,
         fmt::format("{} aborted: {}", name(settings_.rank), orders.why));
  }
}

void Engine::start_submitted() {
  while (has_backlog_ && transfer_.has_room() && !has_failed_) {
    Operation* operation = board_.take_submitted();
    has_backlog_ = operation != nullptr;
    if (operation == nullptr) return;
    operation->deadline = Clock::now() + settings_.operation_timeout;
    transfer_.start(*operation);
    fail_if_departed();
    if (transfer_.previous_closed) suspect(previous(), *transfer_.previous_closed);
  }
}

void Engine::finish_operations() {
  if (has_failed_) return;
  for (Operation* done = transfer_.take_finished(); done; done = transfer_.take_finished()) {
    board_.complete(*done);
  }
}

// What the last step found out about the links.
void Engine::look_at_links() {
  if (transfer_.mismatch) {
    const auto& [mine, theirs] = *transfer_.mismatch;
    const std::string cause =
        is_header(theirs)
            ? fmt::format("{} calls {} as operation {}, {} calls {} as operation {}",
                          name(settings_.rank), describe(mine), mine.sequence, name(previous()),
                          describe(theirs), theirs.sequence)
            : fmt::format("{} sent bytes that do not begin an operation", name(previous()));
    fail(DT_E_MISMATCH, previous(), cause);
  }
  if (transfer_.previous_left && departure_of(previous()) == nullptr) {
    note_departure(previous(), *transfer_.previous_left);
  }
  if (transfer_.previous_closed && departure_of(previous()) == nullptr) {
    suspect(previous(), *transfer_.previous_closed);
  }
  if (transfer_.next_closed && departure_of(next()) == nullptr) {
    read_next();  // it may have said why
    suspect(next(), *transfer_.next_closed);
  }
}

void Engine::look_at_time() {
  if (has_failed_ || (suspicions_.empty() && transfer_.is_idle())) return;
  const auto now = Clock::now();
  const auto suspicions = suspicions_;
  for (const Suspicion& suspicion : suspicions) {
    if (now >= suspicion.deadline) settle(suspicion);
  }
  if (transfer_.oldest() != nullptr && now >= deadline_of(*transfer_.oldest()) && !has_failed_) {
    give_up(*transfer_.oldest());
  }
}

// Who has not even heard that the previous rank began knows best whom to name, so it speaks first.
Engine::Clock::time_point Engine::deadline_of(const Operation& operation) const {
  const bool previous_began = operation.header_received > 0;
  return operation.deadline + (previous_began ? kVerdictDelay : Clock::duration::zero());
}

void Engine::give_up(const Operation& operation) {
  std::string reason = name(previous()) + " has not begun it";
  if (operation.header_received > 0) {
    reason = transfer_.has_data_to_send() ? name(next()) + " does not take data"
                                          : "waiting for data from " + name(previous());
  }
  fail(DT_E_TIMEOUT, settings_.rank,
       fmt::format("{}: operation {} ({}) is not complete after {} ms: {}", name(settings_.rank),
                   operation.sequence(), operation.description(),
                   settings_.operation_timeout.count(), reason));
}

Engine::Clock::time_point Engine::next_deadline() const {
  auto deadline = Clock::time_point::max();
  if (has_failed_) return deadline;
  for (const Suspicion& suspicion : suspicions_) deadline = std::min(deadline, suspicion.deadline);
  if (transfer_.oldest() != nullptr) {
    deadline = std::min(deadline, deadline_of(*transfer_.oldest()));
  }
  return deadline;
}

// True when something happened.
bool Engine::poll_a_little() {
  if (has_failed_) return false;
  std::array<epoll_event, 16> events;
  for (int i = 0; i < kPolls; ++i) {
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int k = 0; k < n; ++k) {
      const auto& event = events[static_cast<std::size_t>(k)];
      handle_event(event.data.fd, event.events);
    }
    if (n > 0 || board_.has_news()) return true;
  }
  return false;
}

void Engine::sleep() {
  const auto deadline = next_deadline();
  int timeout_ms = -1;
  if (deadline != Clock::time_point::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000000));
  }
  if (!board_.begin_sleep()) return;
  std::array<epoll_event, 16> events;
  const int n =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  board_.end_sleep();
  for (int k = 0; k < n; ++k) {
    const auto& event = events[static_cast<std::size_t>(k)];
    handle_event(event.data.fd, event.events);
  }
}

void Engine::handle_event(int fd, std::uint32_t events) {
  if (fd == board_.wake_fd()) {
    std::uint64_t count = 0;
    (void)!::read(fd, &count, sizeof count);
    return;
  }
  if (fd == transfer_.from_previous()) {
    transfer_.set_readable();
    return;
  }
  if (fd == transfer_.to_next()) {
    if ((events & EPOLLOUT) != 0) transfer_.set_writable();
    if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read_next();
    return;
  }
  for (ControlLine& line : control_) {
    if (line.fd.get() == fd) return read_line(line);
  }
}

void Engine::read_line(ControlLine& line) {
  std::vector<Frame> frames;
  const int fd = line.fd.get();
  const LineState state = line.reader.read(fd, frames);
  for (const Frame& frame : frames) handle(frame, fd);
  if (state == LineState::kOpen) return;
  const int error = line.reader.closing_error();
  line.is_open = false;
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  if (state == LineState::kGarbled) return lose(line.rank, "it sent garbage");
  if (departure_of(line.rank) == nullptr) {
    lose(line.rank, error == 0 ? "connection closed" : errno_text(error));
  }
}

void Engine::read_next() {
  std::vector<Frame> frames;
  const LineState state = next_reader_.read(transfer_.to_next(), frames);
  for (const Frame& frame : frames) handle(frame, transfer_.to_next());
  if (state == LineState::kGarbled) return lose(next(), "it sent garbage");
  if (state == LineState::kClosed) suspect(next(), next_reader_.closing_error());
}

void Engine::handle(const Frame& frame, int origin_fd) {
  if (frame.rank < 0 || frame.rank >= settings_.world) return;
  if (frame.kind == FrameKind::kFail) {
    fail(frame.status, frame.rank, frame.text, origin_fd);
  } else if (frame.kind == FrameKind::kBye && departure_of(frame.rank) == nullptr) {
    if (settings_.rank == 0) tell(frame, origin_fd);
    note_departure(frame.rank, frame.completed);
  }
}

const Engine::Departure* Engine::departure_of(int rank) const {
  const auto is_it = [rank](const Departure& departure) { return departure.rank == rank; };
  const auto it = std::find_if(departures_.begin(), departures_.end(), is_it);
  return it == departures_.end() ? nullptr : &*it;
}

void Engine::note_departure(int rank, std::uint64_t completed) {
  departures_.push_back({rank, completed});
  fail_if_departed();
}

// An operation that a rank will never take part in cannot complete.
void Engine::fail_if_departed() {
  const Operation* newest = transfer_.newest();
  if (newest == nullptr || has_failed_) return;
  for (const Departure& departure : departures_) {
    if (departure.completed >= newest->sequence()) continue;
    fail(DT_E_PEER, departure.rank,
         fmt::format("{} has left after {} operations, so operation {} ({}) cannot complete",
                     name(departure.rank), departure.completed, newest->sequence(),
                     newest->description()));
    return;
  }
}

void Engine::suspect(int rank, int error) {
  const auto is_it = [rank](const Suspicion& suspicion) { return suspicion.rank == rank; };
  if (has_failed_ || std::any_of(suspicions_.begin(), suspicions_.end(), is_it)) return;
  suspicions_.push_back({rank, error, Clock::now() + kSuspicionTime});
}

void Engine::settle(const Suspicion& suspicion) {
  std::erase_if(suspicions_, [&](const Suspicion& s) { return s.rank == suspicion.rank; });
  // Who has left in order has sent everything before; unless the network lost it.
  const bool breaks_operation = suspicion.rank == previous() && transfer_.previous_closed &&
                                !transfer_.previous_left && transfer_.wants_data();
  if (departure_of(suspicion.rank) != nullptr && !breaks_operation) return;
  lose(suspicion.rank, suspicion.error == 0 ? "connection closed" : errno_text(suspicion.error));
}

void Engine::lose(int rank, const std::string& how) {
  fail(DT_E_PEER, rank, fmt::format("{} was lost: {}", name(rank), how));
}

void Engine::fail(int status, int culprit, const std::string& cause, int origin_fd) {
  if (has_failed_) return;
  has_failed_ = true;
  tell({FrameKind::kFail, status, culprit, 0, cause}, origin_fd);
  // Nobody looks at the data links from here on; their events would only wake the thread.
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, transfer_.from_previous(), nullptr);
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, transfer_.to_next(), nullptr);
  const Operation* oldest = transfer_.oldest();
  const bool says_where = status == DT_E_TIMEOUT || status == DT_E_MISMATCH || !oldest;
  board_.fail(status, says_where ? cause
                                 : fmt::format("operation {} ({}) failed: {}", oldest->sequence(),
                                               oldest->description(), cause));
}

// Against the ring, and over the star.
void Engine::tell(const Frame& frame, int origin_fd) {
  const std::string bytes = encode(frame);
  for (const ControlLine& line : control_) {
    if (line.is_open && line.fd.get() != origin_fd) send_now(line.fd.get(), bytes);
  }
  if (frame.kind == FrameKind::kFail || frame.rank == settings_.rank) {
    send_now(transfer_.from_previous(), bytes);
  }
}

// Tells everybody how far this rank came, so that nobody waits for more and nobody thinks it dead.
void Engine::leave() {
  if (!has_failed_) {
    const std::uint64_t completed = board_.completed();
    const auto deadline = Clock::now() + kDrainTime;
    if (transfer_.is_between_operations()) transfer_.say_bye(completed);
    tell({FrameKind::kBye, 0, settings_.rank, completed, {}}, -1);
    if (transfer_.is_idle()) wait_until_acknowledged(transfer_.to_next(), deadline);
    for (const ControlLine& line : control_) {
      if (line.is_open) wait_until_acknowledged(line.fd.get(), deadline);
    }
  }
  board_.fail(DT_E_ABORTED, "the communicator was destroyed");
}

std::string Engine::name(int rank) const {
  const std::string& host = hosts_[static_cast<std::size_t>(rank)];
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, host);
}

}  // namespace dtl::ring
