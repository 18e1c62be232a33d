#pragma once
// ControlLines: those of one rank once all have met: rank 0 has one to every other rank, the others
// have one to rank 0. Owned by the engine's progress, used with the wheel. Knows nothing of what
// frames mean.

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
  // Everybody whose line is open, but not who said it: origin_fd, or -1.
  void tell(const Frame& frame, int origin_fd);
  // Until all that was told has been acknowledged.
  void drain(std::chrono::steady_clock::time_point deadline) const;

 private:
  std::vector<ControlLine> lines_;
};

// Until what was sent has been acknowledged, the peer has gone, or the deadline has come.
void wait_until_acknowledged(int fd, std::chrono::steady_clock::time_point deadline);

}  // namespace dtl::ring
