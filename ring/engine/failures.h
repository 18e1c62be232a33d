#pragma once
// Failures: turns everything that can go wrong into one failure that all ranks hear of and name
// alike. Only the first cause helps the reader of an error. Belongs to the engine; used with the
// wheel.
//
// Every rank has a control line to rank 0, which passes news on to all. A rank whose line to rank 0
// ends without a word says that rank 0 was lost, and rank 0 says so of the others. A data link that
// ends without a word is only a suspicion for a moment: its peer may be ending over a failure that
// rank 0 is about to name.
//
// If a link was cut off although its rank left in order, time decides nothing: data is missing when
// all that there is was read and an operation still lacks some.

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
  // end_data: what ends the links when something has failed. All references outlive this.
  Failures(int rank, const RankNames& names, ControlLines& lines, const Executor& executor,
           OperationQueue& queue, std::function<void()> end_data);

  bool has_failed() const { return has_failed_; }
  // Bytes came from a rank that has failed or left, and may be anything: no operation may be
  // reported as complete any more, although has_failed() comes only with the reason.
  bool has_read_void() const { return has_read_void_; }

  // News of other ranks. read() says whether the line that has this descriptor stays open.
  bool read(int fd);
  // origin_fd: the line that it came by, which is not told again. Frames about ranks that do not
  // exist are ignored.
  void hear(const Frame& frame, int origin_fd);
  // What the links found out, and what that and earlier news mean for an operation that begins.
  void hear_of_farewell(const LinkFindings::Farewell& farewell);
  void hear_of_break(const LinkFindings::Break& found);
  void hear_of_mismatch(const LinkFindings::Mismatch& mismatch);
  // An operation has begun: departures and broken links that mattered to none before may stop this
  // one.
  void look_at_beginner();
  // Of ranks that seemed to be lost, those that have not explained themselves meanwhile.
  void look_at_time(Clock::time_point now);
  const Suspicions& suspicions() const { return suspicions_; }

  // The first failure counts: everybody hears of it, and every operation ends with it. Later calls
  // do nothing. culprit: the rank whom it is about.
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
  bool has_failed_ = false, has_read_void_ = false;
};

}  // namespace dtl::ring
