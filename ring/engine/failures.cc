// Whatever is heard ends in lose() or fail(), and fail() is the only place that ends operations. So
// the order in it, who is told first, holds for every failure.
#include "ring/engine/failures.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.h"

namespace dtl::ring {
namespace {

std::string how_it_ended(int error) {
  if (error == EPROTO) return "it sent garbage";
  return error == 0 ? "connection closed" : errno_text(error);
}

}  // namespace

Failures::Failures(int rank, const RankNames& names, ControlLines& lines, const Executor& executor,
                   OperationQueue& queue, std::function<void()> end_data)
    : rank_(rank),
      names_(names),
      lines_(lines),
      executor_(executor),
      queue_(queue),
      end_data_(std::move(end_data)) {}

bool Failures::read(int fd) {
  ControlLine* const line = lines_.find(fd);
  if (line == nullptr) return true;
  std::vector<Frame> frames;
  const LineState state = line->reader.read(line->channel, frames);
  for (const Frame& frame : frames) hear(frame, fd);
  if (state == LineState::kOpen) return true;
  line->is_open = false;
  // Garbage is a fault even of a rank that has left: it has proved the secret. A rank that said
  // goodbye may close its line, but what was altered may have been the goodbye.
  if (state == LineState::kGarbled) {
    lose(line->rank, EPROTO);
  } else if (!departures_.has(line->rank) || line->reader.closing_error() == kAltered) {
    lose(line->rank, line->reader.closing_error());
  }
  return false;
}

void Failures::hear(const Frame& frame, int origin_fd) {
  if (!names_.has(frame.rank)) return;
  if (frame.kind == FrameKind::kFail) {
    fail(frame.status, frame.rank, frame.text, origin_fd);
  } else if (frame.kind == FrameKind::kBye) {
    // Only rank 0 has lines to all.
    if (rank_ == 0) lines_.tell(frame, origin_fd);
    if (departures_.add(frame.rank, frame.completed)) fail_if_departed();
  }
}

// Rank 0 need not pass it on: the rank has told it, too, and tells the others by its own links.
void Failures::hear_of_farewell(const LinkFindings::Farewell& farewell) {
  if (departures_.add(farewell.peer, farewell.completed)) fail_if_departed();
}

void Failures::hear_of_break(const LinkFindings::Break& found) {
  // Not a suspicion: another failure does not cause garbage or altered bytes.
  if (found.error == EPROTO || found.error == kAltered) return lose(found.peer, found.error);
  // Remembered for operations that begin later.
  broken_.push_back(found);
  has_read_void_ = has_read_void_ || found.error == ECANCELED;
  if (departures_.has(found.peer) && !executor_.active().has_open_flow(found.peer)) return;
  suspicions_.add(found.peer, found.error);
}

void Failures::hear_of_mismatch(const LinkFindings::Mismatch& mismatch) {
  // Both calls are named, since either may be the wrong one.
  const auto& [peer, mine, theirs] = mismatch;
  const std::string cause =
      is_header(theirs)
          ? fmt::format("{} calls {} as operation {}, {} calls {} as operation {}",
                        names_.of(rank_), describe(mine), mine.sequence, names_.of(peer),
                        describe(theirs), theirs.sequence)
          : fmt::format("{} sent bytes that do not begin an operation", names_.of(peer));
  fail(DT_E_MISMATCH, peer, cause);
}

void Failures::look_at_beginner() {
  fail_if_departed();
  for (const auto& each : broken_) suspicions_.add(each.peer, each.error);
}

void Failures::fail_if_departed() {
  if (has_failed_) return;
  const auto obstacle =
      departures_.find_obstacle(executor_.active(), queue_.numbers().first_number(), names_);
  if (obstacle) fail(DT_E_PEER, obstacle->rank, obstacle->cause);
}

void Failures::look_at_time(Clock::time_point now) {
  if (has_failed_) return;
  for (const auto& [rank, error, deadline] : suspicions_.take_due(now)) {
    if (departures_.has(rank)) {
      // It has sent everything before, unless the network lost it.
      if (!executor_.active().has_open_flow(rank)) continue;
      // Its last bytes may be in a socket that was not read yet; look again after as long a time.
      if (!executor_.has_read_all(rank)) {
        suspicions_.add(rank, error);
        continue;
      }
    }
    lose(rank, error);
  }
}

// Of what was changed on its way both ends say the same, whichever is heard: the receiver has seen
// it itself (kAltered), the sender has an alert from it (kRejected).
void Failures::lose(int rank, int error) {
  if (error == kAltered || error == kRejected) {
    const int from = error == kAltered ? rank : rank_, to = error == kAltered ? rank_ : rank;
    return fail(DT_E_AUTH, rank,
                fmt::format("what {} sent to {} was changed on its way: TLS refuses it",
                            names_.of(from), names_.of(to)));
  }
  fail(DT_E_PEER, rank, fmt::format("{} was lost: {}", names_.of(rank), how_it_ended(error)));
}

void Failures::fail(int status, int culprit, const std::string& cause, int origin_fd) {
  if (has_failed_) return;
  has_failed_ = true;
  // The others first: this rank's links end next, and to them that must not look like the cause.
  // Then the data, so that no peer reads from buffers that callers get back by the last step.
  lines_.tell({FrameKind::kFail, status, culprit, 0, cause}, origin_fd);
  end_data_();
  const Operation* oldest = executor_.active().oldest();
  // Some causes name the operation already. The library's own are not the caller's to know of.
  const bool says_where =
      status == DT_E_TIMEOUT || status == DT_E_MISMATCH || !oldest || oldest->request().is_own;
  queue_.fail(status, says_where ? cause
                                 : fmt::format("operation {} ({}) failed: {}", oldest->sequence(),
                                               oldest->description(), cause));
}

void Failures::say_goodbye(const std::vector<int>& link_fds, Executor& executor) {
  if (has_failed_) return;
  // The others may still be at those before this rank restarted its numbers.
  const std::uint64_t completed = queue_.numbers().first_number() + queue_.numbers().completed();
  ring::say_goodbye(rank_, completed, lines_, link_fds, executor);
}

}  // namespace dtl::ring
