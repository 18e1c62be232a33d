#include "ring/engine/failures.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"

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

std::string how_it_ended(int error) {
  if (error == EPROTO) return "it sent garbage";
  return error == 0 ? "connection closed" : errno_text(error);
}

}  // namespace

Failures::Failures(int rank, std::vector<std::string> hosts, std::vector<ControlLine> lines,
                   const Executor& executor, OperationQueue& queue, std::function<void()> end_data)
    : rank_(rank),
      hosts_(std::move(hosts)),
      lines_(std::move(lines)),
      executor_(executor),
      queue_(queue),
      end_data_(std::move(end_data)) {}

std::string Failures::name(int rank) const {
  const std::string& host = hosts_[static_cast<std::size_t>(rank)];
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, host);
}

bool Failures::read(int fd) {
  const auto line = std::find_if(lines_.begin(), lines_.end(),
                                 [fd](const ControlLine& each) { return each.channel.fd() == fd; });
  if (line == lines_.end()) return true;
  std::vector<Frame> frames;
  const LineState state = line->reader.read(line->channel, frames);
  for (const Frame& frame : frames) hear(frame, fd);
  if (state == LineState::kOpen) return true;
  line->is_open = false;
  if (state == LineState::kGarbled) {
    lose(line->rank, EPROTO);
  } else if (!has_departed(line->rank) || line->reader.closing_error() == kAltered) {
    lose(line->rank, line->reader.closing_error());
  }
  return false;
}

void Failures::hear(const Frame& frame, int origin_fd) {
  if (frame.rank < 0 || static_cast<std::size_t>(frame.rank) >= hosts_.size()) return;
  if (frame.kind == FrameKind::kFail) {
    fail(frame.status, frame.rank, frame.text, origin_fd);
  } else if (frame.kind == FrameKind::kBye) {
    if (rank_ == 0) tell(frame, origin_fd);
    if (has_departed(frame.rank)) return;
    departures_.push_back({frame.rank, frame.completed});
    fail_if_departed();
  }
}

// Rank 0 need not pass it on: the rank has told it, too, and tells the others by its own links.
void Failures::hear_of_farewell(const LinkFindings::Farewell& farewell) {
  if (has_departed(farewell.peer)) return;
  departures_.push_back({farewell.peer, farewell.completed});
  fail_if_departed();
}

void Failures::hear_of_break(const LinkFindings::Break& found) {
  if (found.error == EPROTO || found.error == kAltered) return lose(found.peer, found.error);
  broken_.push_back(found);
  has_read_void_ = has_read_void_ || found.error == ECANCELED;
  if (!has_departed(found.peer) || misses_data_of(found.peer)) suspect(found.peer, found.error);
}

void Failures::hear_of_mismatch(const LinkFindings::Mismatch& mismatch) {
  const auto& [peer, mine, theirs] = mismatch;
  const std::string cause =
      is_header(theirs) ? fmt::format("{} calls {} as operation {}, {} calls {} as operation {}",
                                      name(rank_), describe(mine), mine.sequence, name(peer),
                                      describe(theirs), theirs.sequence)
                        : fmt::format("{} sent bytes that do not begin an operation", name(peer));
  fail(DT_E_MISMATCH, peer, cause);
}

void Failures::look_at_beginner() {
  fail_if_departed();
  for (const auto& each : broken_) suspect(each.peer, each.error);
}

bool Failures::has_departed(int rank) const {
  return std::any_of(departures_.begin(), departures_.end(),
                     [rank](const Departure& departure) { return departure.rank == rank; });
}

bool Failures::misses_data_of(int rank) const {
  for (ActiveOperation* active : executor_.active().all()) {
    const Flow* flow = active->schedule.find_flow(rank);
    if (flow != nullptr && !(flow->is_received() && flow->is_sent())) return true;
  }
  return false;
}

// An operation that a rank will never take part in cannot complete.
void Failures::fail_if_departed() {
  if (has_failed_) return;
  const std::uint64_t first = queue_.numbers().first_number();
  for (const Departure& departure : departures_) {
    for (const ActiveOperation* active : executor_.active().all()) {
      const Operation& operation = active->operation();
      const bool is_pair = operation.lane() == Lane::kPair;
      const bool is_over = is_pair ? operation.request().root != departure.rank
                                   : departure.completed >= first + operation.sequence();
      // What a rank has sent before it left may still be on its way.
      if (is_over || (is_pair && operation.request().is_receive)) continue;
      if (active->schedule.is_done()) continue;  // of this very turn
      fail(DT_E_PEER, departure.rank,
           fmt::format("{} has left after {} operations, so operation {} ({}) cannot complete",
                       name(departure.rank),
                       departure.completed - std::min(first, departure.completed),
                       operation.sequence(), operation.description()));
      return;
    }
  }
}

void Failures::suspect(int rank, int error) {
  const auto is_it = [rank](const Suspicion& suspicion) { return suspicion.rank == rank; };
  const auto at = std::find_if(suspicions_.begin(), suspicions_.end(), is_it);
  if (at != suspicions_.end() && error == kRejected) at->error = error;  // says more
  if (has_failed_ || at != suspicions_.end()) return;
  suspicions_.push_back({rank, error, Clock::now() + kSuspicionTime});
}

void Failures::look_at_time(Clock::time_point now) {
  if (has_failed_ || suspicions_.empty()) return;
  const auto suspicions = suspicions_;
  for (const Suspicion& suspicion : suspicions) {
    if (now >= suspicion.deadline) settle(suspicion);
  }
}

void Failures::settle(const Suspicion& suspicion) {
  std::erase_if(suspicions_, [&](const Suspicion& s) { return s.rank == suspicion.rank; });
  if (has_departed(suspicion.rank)) {
    // It has sent everything before, unless the network lost it.
    if (!misses_data_of(suspicion.rank)) return;
    if (!executor_.has_read_all(suspicion.rank)) return suspect(suspicion.rank, suspicion.error);
  }
  lose(suspicion.rank, suspicion.error);
}

Failures::Clock::time_point Failures::next_deadline() const {
  auto deadline = Clock::time_point::max();
  for (const Suspicion& suspicion : suspicions_) deadline = std::min(deadline, suspicion.deadline);
  return deadline;
}

// Of what was changed on its way both ends say the same, whichever is heard.
void Failures::lose(int rank, int error) {
  if (error == kAltered || error == kRejected) {
    const int from = error == kAltered ? rank : rank_, to = error == kAltered ? rank_ : rank;
    return fail(DT_E_AUTH, rank,
                fmt::format("what {} sent to {} was changed on its way: TLS refuses it", name(from),
                            name(to)));
  }
  fail(DT_E_PEER, rank, fmt::format("{} was lost: {}", name(rank), how_it_ended(error)));
}

void Failures::fail(int status, int culprit, const std::string& cause, int origin_fd) {
  if (has_failed_) return;
  has_failed_ = true;
  tell({FrameKind::kFail, status, culprit, 0, cause}, origin_fd);
  end_data_();
  const Operation* oldest = executor_.active().oldest();
  const bool says_where =
      status == DT_E_TIMEOUT || status == DT_E_MISMATCH || !oldest || oldest->request().is_own;
  queue_.fail(status, says_where ? cause
                                 : fmt::format("operation {} ({}) failed: {}", oldest->sequence(),
                                               oldest->description(), cause));
}

void Failures::tell(const Frame& frame, int origin_fd) {
  const std::string bytes = encode(frame);
  for (ControlLine& line : lines_) {
    if (line.is_open && line.channel.fd() != origin_fd) send_now(line.channel, bytes);
  }
}

void Failures::say_goodbye(const std::vector<int>& link_fds, Executor& executor) {
  if (has_failed_) return;
  // The others may still be at those before this rank restarted its numbers.
  const std::uint64_t completed = queue_.numbers().first_number() + queue_.numbers().completed();
  const auto deadline = Clock::now() + kDrainTime;
  tell({FrameKind::kBye, 0, rank_, completed, {}}, -1);
  if (executor.active().is_empty()) {
    while (!executor.say_farewell(completed) && Clock::now() < deadline) ::poll(nullptr, 0, 1);
    for (const int fd : link_fds) wait_until_acknowledged(fd, deadline);
  }
  for (const ControlLine& line : lines_) {
    if (line.is_open) wait_until_acknowledged(line.channel.fd(), deadline);
  }
}

}  // namespace dtl::ring
