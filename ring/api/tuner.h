#pragma once
// Tuner: finds the quickest algorithm for each size of an allreduce when the ranks have met. Few
// ranks try them; many measure latency and bandwidth, and the cost model chooses. All ranks take
// part and use the times of the slowest one, so they compute the same table. Does not know the
// communicator: a Trial runs the measurements, and tests supply their own times.

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
  // Replaces each value by its maximum over all ranks.
  std::function<void(std::span<float> values)> take_slowest;
};
// Measures with operations that `carry_out` waits for.
Trial trial_of(std::function<void(const Request& request)> carry_out);

struct Tuned {
  AlgorithmTable table;
  LinkCosts costs;
};

class Tuner {
 public:
  Tuner(int world, std::size_t nodes, Trial trial);
  // guess: of few ranks, used for long sums, unless a ring is quicker.
  Tuned measure(const AlgorithmTable& guess);

 private:
  AlgorithmTable try_algorithms(const AlgorithmTable& guess);
  LinkCosts measure_links();
  double time_of(Algorithm algorithm, std::uint64_t bytes);
  std::uint64_t border_of(Algorithm quick, Algorithm large);
  bool is_quicker(Algorithm one, Algorithm other, std::uint64_t bytes);

  const int world_;
  const std::size_t nodes_;
  const Trial trial_;
  double spent_ = 0;  // seconds
};

}  // namespace dtl::ring
