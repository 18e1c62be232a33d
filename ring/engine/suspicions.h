#pragma once
// Suspicions: ranks that seem to be lost, for the moment that they have to explain themselves: a
// rank that ends over a failure closes its links, and rank 0 names the true cause a little later.
// Owned by Failures. Knows nothing of why, nor of what becomes of them.

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

  void add(int rank, int error);  // once for each rank
  std::vector<Suspicion> take_due(Clock::time_point now);
  bool are_none() const { return all_.empty(); }
  Clock::time_point next_deadline() const;

 private:
  std::vector<Suspicion> all_;
};

}  // namespace dtl::ring
