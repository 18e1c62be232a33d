#include "trainer/layers/distance_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace dtl::trainer {
namespace {

// transformers' make_log_bucket_position, in its order of operations. The bucket of a distance d
// has d's sign.
std::int64_t log_bucket(std::int64_t distance, int buckets, int largest) {
  const int half = buckets / 2;
  const std::int64_t size = std::abs(distance);
  if (size <= half) return distance;
  const float ratio = static_cast<float>(size) / static_cast<float>(half);
  const auto most = static_cast<float>(static_cast<double>(largest - 1) / half);
  const float steps = std::log(ratio) / std::log(most) * static_cast<float>(half - 1);
  const float bucket = std::ceil(steps) + static_cast<float>(half);
  return static_cast<std::int64_t>(distance < 0 ? -bucket : bucket);
}

}  // namespace

std::int32_t distance_row(const ModelConfig& config, std::int64_t distance) {
  const DebertaConfig& deberta = config.deberta;
  const std::int64_t span = table_span(deberta, config.max_positions);
  const std::int64_t bucket =
      deberta.buckets > 0
          ? log_bucket(distance, deberta.buckets, largest_distance(deberta, config.max_positions))
          : distance;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(bucket + span, 0, 2 * span - 1));
}

DistanceRows distance_rows(const ModelConfig& config, std::int64_t longest) {
  DistanceRows result;
  result.longest = longest;
  if (longest == 0) return result;
  result.highest = distance_row(config, longest - 1);
  for (std::int64_t distance = longest - 1; distance > -longest; --distance) {
    result.rows.push_back(result.highest - distance_row(config, distance));
  }
  result.count = result.rows.back() + 1;
  return result;
}

}  // namespace dtl::trainer
