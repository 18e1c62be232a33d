#pragma once
// ControlLines: those of one rank once all have met: to its parent and its children in the tree
// (control_tree.h). What one line brings goes to all others, so that every rank hears of a failure
// in a few steps. A rank whose parent leaves gets another one (LateLinks). Owned by the engine's
// progress, used with the wheel. Knows nothing of what frames mean.

#include <chrono>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "ring/meeting/control_line.h"

namespace dtl::ring {

class ControlLines {
 public:
  explicit ControlLines(std::vector<ControlLine> lines)
      : lines_(std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end())) {}

  const std::deque<ControlLine>& all() const { return lines_; }
  ControlLine& add(int rank, Channel channel);
  ControlLine* find(int fd);  // null: it is none of these
  // Tells everybody whose line is open, except the one that said it: origin_fd, or -1.
  void tell(const Frame& frame, int origin_fd);
  void tell(ControlLine& line, const Frame& frame);
  // Sends what has found no room before. False: some of it still has none.
  bool flush();
  bool has_unsent() const { return has_unsent_; }
  // Until all that was told has been acknowledged, or the deadline has come. A process that exits
  // with unread input on a socket resets the connection, and the last frame could be lost.
  void drain(std::chrono::steady_clock::time_point deadline);

 private:
  std::deque<ControlLine> lines_;  // references to them stay valid
  bool has_unsent_ = false;        // some line may
};

// Until what was sent has been acknowledged, the peer has gone, or the deadline has come.
void wait_until_acknowledged(int fd, std::chrono::steady_clock::time_point deadline);

}  // namespace dtl::ring
