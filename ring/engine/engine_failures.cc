// What the engine hears of other ranks, and what becomes of a failure.
#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "ring/engine/engine.h"

namespace dtl::ring {
namespace {

// Longer than news take from a rank over rank 0 to another; far shorter than the promised second.
constexpr auto kSuspicionTime = std::chrono::milliseconds(200);
// How long destroy waits for the last bytes to be acknowledged. They are delivered later as well,
// unless a peer sends something that nobody reads any more.
constexpr auto kDrainTime = std::chrono::milliseconds(1000);

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
  if (has_failed_) return;
  const std::uint64_t first = queue_.first_number();
  for (const Departure& departure : departures_) {
    for (Operation* operation : executor_.active()) {
      const bool is_pair = operation->lane() == Lane::kPair;
      const bool is_over = is_pair ? operation->request().root != departure.rank
                                   : departure.completed >= first + operation->sequence();
      // What a rank has sent before it left may still be on its way.
      if (is_over || (is_pair && operation->request().is_receive)) continue;
      fail(DT_E_PEER, departure.rank,
           fmt::format("{} has left after {} operations, so operation {} ({}) cannot complete",
                       name(departure.rank),
                       departure.completed - std::min(first, departure.completed),
                       operation->sequence(), operation->description()));
      return;
    }
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
  if (departure_of(suspicion.rank) != nullptr && !misses_data_of(suspicion.rank)) return;
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
  for (std::size_t fd = 0; fd < link_of_fd_.size(); ++fd) {
    if (link_of_fd_[fd] == nullptr) continue;
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, static_cast<int>(fd), nullptr);
  }
  if (memory_ != nullptr) memory_->withdraw();
  const Operation* oldest = executor_.oldest();
  const bool says_where =
      status == DT_E_TIMEOUT || status == DT_E_MISMATCH || !oldest || oldest->request().is_own;
  queue_.fail(status, says_where ? cause
                                 : fmt::format("operation {} ({}) failed: {}", oldest->sequence(),
                                               oldest->description(), cause));
}

void Engine::tell(const Frame& frame, int origin_fd) {
  const std::string bytes = encode(frame);
  for (const ControlLine& line : control_) {
    if (line.is_open && line.fd.get() != origin_fd) send_now(line.fd.get(), bytes);
  }
}

// Tells everybody how far this rank came, so that nobody waits for more and nobody thinks it dead.
void Engine::leave() {
  if (!has_failed_) {
    // The others may still be at those before this rank restarted its numbers.
    const std::uint64_t completed = queue_.first_number() + queue_.completed();
    const auto deadline = Clock::now() + kDrainTime;
    tell({FrameKind::kBye, 0, settings_.rank, completed, {}}, -1);
    for (std::size_t fd = 0; executor_.is_idle() && fd < link_of_fd_.size(); ++fd) {
      if (link_of_fd_[fd] != nullptr) wait_until_acknowledged(static_cast<int>(fd), deadline);
    }
    for (const ControlLine& line : control_) {
      if (line.is_open) wait_until_acknowledged(line.fd.get(), deadline);
    }
  }
  if (memory_ != nullptr) memory_->withdraw();
  queue_.fail(DT_E_ABORTED, "the communicator was destroyed");
}

std::string Engine::name(int rank) const {
  const std::string& host = hosts_[static_cast<std::size_t>(rank)];
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, host);
}

}  // namespace dtl::ring
