#pragma once
// Tuner: finds out which algorithm is quickest for an allreduce of which size, by trying them once
// when the ranks have met. All ranks take part and go by the same times, those of the slowest one,
// so they draw the same table. Does not know the communicator: a Trial does what is measured, and
// tests give it times of their own.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ring/operation/algorithm_table.h"
#include "ring/operation/request.h"

namespace dtl::ring {

// What a Tuner measures. Both are collective and may throw.
struct Trial {
  // Seconds of one sum of these values, on this rank.
  std::function<double(Algorithm algorithm, std::vector<float>& values)> time_once;
  // Makes each value the largest one that a rank has.
  std::function<void(std::span<float> values)> take_slowest;
};
// Measures with operations that `carry_out` waits for.
Trial trial_of(std::function<void(const Request& request)> carry_out);

class Tuner {
 public:
  Tuner(int world, std::size_t nodes, Trial trial);
  // guess: what long sums take, unless a ring is quicker.
  AlgorithmTable measure(const AlgorithmTable& guess);

 private:
  std::uint64_t border_of(Algorithm quick, Algorithm large);
  bool is_quicker(Algorithm one, Algorithm other, std::uint64_t bytes);

  const int world_;
  const std::size_t nodes_;
  const Trial trial_;
  double spent_ = 0;  // seconds
};

}  // namespace dtl::ring
