// All reports end in lose() or fail(), and only fail() ends operations. So its order of
// notifications holds for every failure.
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
  // Its listener is open as long as its communicator (LateLinks).
  if (error == ECONNREFUSED) return "it takes no connections (" + errno_text(error) + ")";
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
  is_orphaned_ = is_orphaned_ || line->rank < rank_;
  // Garbage is a fault even of a rank that has left, as it has proved the secret. Its line may
  // close after a goodbye, but if bytes were altered, they may have been the goodbye.
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
    const bool is_news = departures_.add(frame.rank, frame.completed);
    // It may be known from a link already.
    if (departures_.take_untold(frame.rank)) lines_.tell(frame, origin_fd);
    if (is_news) fail_if_departed();
  }
}

// Both ends may have missed news of those who left while this one had no parent.
void Failures::add_line(int rank, Channel channel) {
  if (rank < rank_) is_orphaned_ = false;
  ControlLine& line = lines_.add(rank, std::move(channel));
  for (const Frame& frame : departures_.as_news()) lines_.tell(line, frame);
}

// It need not be passed on: the rank also tells the others, through its own links and lines.
void Failures::hear_of_farewell(const LinkFindings::Farewell& farewell) {
  if (departures_.add(farewell.peer, farewell.completed)) fail_if_departed();
}

void Failures::hear_of_break(const LinkFindings::Break& found) {
  // Not just a suspicion: other failures do not cause garbage or altered bytes.
  if (found.error == EPROTO || found.error == kAltered) return lose(found.peer, found.error);
  // Kept for operations that begin later.
  broken_.push_back(found);
  has_read_void_ = has_read_void_ || found.error == ECANCELED;
  if (departures_.has(found.peer) && !executor_.active().has_open_flow(found.peer)) return;
  suspicions_.add(found.peer, found.error);
}

void Failures::hear_of_mismatch(const LinkFindings::Mismatch& mismatch) {
  // Names both calls, since either may be the wrong one.
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
      // It has already sent everything, unless the network lost it.
      if (!executor_.active().has_open_flow(rank)) continue;
      // A socket may hold its last bytes unread; check again after the same time.
      if (!executor_.has_read_all(rank)) {
        suspicions_.add(rank, error);
        continue;
      }
    }
    lose(rank, error);
  }
}

// Both ends of altered data report the same, whichever is heard first: the receiver detected it
// (kAltered), the sender got its alert (kRejected).
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
  // The other ranks first: this rank's links end next, which must not look like the cause. Then the
  // data, so that no peer reads buffers that callers get back in the last step.
  lines_.tell({FrameKind::kFail, status, culprit, 0, cause}, origin_fd);
  end_data_();
  const Operation* oldest = executor_.active().oldest();
  // Some causes already name the operation. Callers do not know the library's own operations.
  const bool says_where =
      status == DT_E_TIMEOUT || status == DT_E_MISMATCH || !oldest || oldest->request().is_own;
  queue_.fail(status, says_where ? cause
                                 : fmt::format("operation {} ({}) failed: {}", oldest->sequence(),
                                               oldest->description(), cause));
}

void Failures::say_goodbye(const std::vector<int>& link_fds, Executor& executor) {
  if (has_failed_) return;
  // The other ranks may still count from before this rank restarted its numbers.
  const std::uint64_t completed = queue_.numbers().first_number() + queue_.numbers().completed();
  ring::say_goodbye(rank_, completed, lines_, link_fds, executor);
}

}  // namespace dtl::ring
