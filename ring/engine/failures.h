#pragma once
// Failures: turns any error into one failure that all ranks report in the same way. Only the first
// cause helps the user. Belongs to the engine; used with the wheel.
//
// The control lines form a tree, and each rank passes on what one of its lines brings. If a line
// closes without a goodbye, both ranks at its ends report that the other was lost. A data link that
// closes without a farewell is at first only a suspicion: its peer may be ending because of a
// failure that the lines are about to report.
//
// If a link was cut off although its rank left in order, time does not matter: data is missing if
// everything available was read and an operation still needs more.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ring/engine/departures.h"
#include "ring/engine/executor.h"
#include "ring/engine/suspicions.h"
#include "ring/meeting/control_lines.h"
#include "ring/meeting/rank_names.h"
#include "ring/queue/operation_queue.h"

namespace dtl::ring {

class Failures {
 public:
  using Clock = std::chrono::steady_clock;
  // end_data: ends the links after a failure. All references outlive this.
  Failures(int rank, const RankNames& names, ControlLines& lines, const Executor& executor,
           OperationQueue& queue, std::function<void()> end_data);

  bool has_failed() const { return has_failed_; }
  // Some bytes came from a rank that has failed or left, and may be wrong: no operation may be
  // reported as complete any more, even before has_failed() becomes true with the reason.
  bool has_read_void() const { return has_read_void_; }

  // Nothing is known that a new operation might fail of.
  bool are_none() const {
    return !has_failed_ && !has_read_void_ && broken_.empty() && suspicions_.are_none() &&
           departures_.are_none();
  }

  // News from other ranks. read() returns whether the line with this descriptor stays open.
  bool read(int fd);
  // origin_fd: the line it came from, which does not get it again. Ignores frames about ranks that
  // do not exist.
  void hear(const Frame& frame, int origin_fd);
  // A line that was made after the meeting: to a rank whose parent has left, or of such a rank.
  void add_line(int rank, Channel channel);
  // This rank's parent has left: it needs another one.
  bool is_orphaned() const { return is_orphaned_; }
  bool has_left(int rank) const { return departures_.has(rank); }
  // Findings of the links, and what they and earlier news mean for a new operation.
  void hear_of_farewell(const LinkFindings::Farewell& farewell);
  void hear_of_break(const LinkFindings::Break& found);
  void hear_of_mismatch(const LinkFindings::Mismatch& mismatch);
  // Call it when an operation has begun: departures and broken links that did not matter before may
  // now prevent its end.
  void look_at_beginner();
  // Reports ranks that seemed lost and have not explained themselves since.
  void look_at_time(Clock::time_point now);
  const Suspicions& suspicions() const { return suspicions_; }

  // The first failure counts: all ranks are told, and it ends every operation. Later calls do
  // nothing. culprit: the rank that the failure is about.
  void fail(int status, int culprit, const std::string& cause, int origin_fd = -1);
  // Leaves in order, unless something has failed; see departures.h.
  void say_goodbye(const std::vector<int>& link_fds, Executor& executor);

 private:
  void fail_if_departed();
  void lose(int rank, int error);

  const int rank_;
  const RankNames& names_;
  ControlLines& lines_;
  const Executor& executor_;
  OperationQueue& queue_;
  const std::function<void()> end_data_;
  Departures departures_;
  Suspicions suspicions_;
  std::vector<LinkFindings::Break> broken_;
  bool has_failed_ = false, has_read_void_ = false, is_orphaned_ = false;
};

}  // namespace dtl::ring
