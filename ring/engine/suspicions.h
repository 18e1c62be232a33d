#pragma once
// Suspicions: ranks that seem lost, for the short time in which they may explain themselves: a rank
// that ends because of a failure closes its links, and rank 0 reports the true cause a little
// later. Owned by Failures, which decides what follows.

#include <chrono>
#include <vector>

namespace dtl::ring {

struct Suspicion {
  int rank, error;
  std::chrono::steady_clock::time_point deadline;
};

class Suspicions {
 public:
  using Clock = std::chrono::steady_clock;

  void add(int rank, int error);  // only the first call for a rank counts
  std::vector<Suspicion> take_due(Clock::time_point now);
  bool are_none() const { return all_.empty(); }
  Clock::time_point next_deadline() const;

 private:
  std::vector<Suspicion> all_;
};

}  // namespace dtl::ring
