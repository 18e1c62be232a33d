#pragma once
// ControlLines: those of one rank once all have met: rank 0 has one to every other rank, the others
// have one to rank 0. A star, so that every rank hears of a failure in two steps at most, and rank
// 0 decides which of several comes first. Owned by the engine's progress, used with the wheel.
// Knows nothing of what frames mean.

#include <chrono>
#include <utility>
#include <vector>

#include "ring/meeting/control_line.h"

namespace dtl::ring {

class ControlLines {
 public:
  explicit ControlLines(std::vector<ControlLine> lines) : lines_(std::move(lines)) {}

  const std::vector<ControlLine>& all() const { return lines_; }
  ControlLine* find(int fd);  // null: it is none of these
  // Tells everybody whose line is open, except the one that said it: origin_fd, or -1.
  void tell(const Frame& frame, int origin_fd);
  // Until all that was told has been acknowledged, or the deadline has come. A process that exits
  // with unread input on a socket resets the connection, and the last frame could be lost.
  void drain(std::chrono::steady_clock::time_point deadline) const;

 private:
  std::vector<ControlLine> lines_;
};

// Until what was sent has been acknowledged, the peer has gone, or the deadline has come.
void wait_until_acknowledged(int fd, std::chrono::steady_clock::time_point deadline);

}  // namespace dtl::ring
