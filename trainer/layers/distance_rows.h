#pragma once
// Which row of DeBERTa's table of distances belongs to a distance. Pure; it cannot fail.

#include <cstdint>
#include <vector>

#include "trainer/families/model_config.h"

namespace dtl::trainer {

// The row of the distance i - j of a query i and a key j, in [0, 2 * span). Up to half of the
// buckets each distance has a row; larger ones share rows, on a logarithmic scale. It grows with
// the distance. Rounds in float as torch does, so that the rows are transformers'.
std::int32_t distance_row(const ModelConfig& config, std::int64_t distance);

// For all distances in texts of up to `longest` tokens. Rows count from the largest distance down,
// so that they grow with the key's position.
struct DistanceRows {
  std::int64_t longest = 0;
  std::int32_t highest = 0;  // the table's row of the largest distance
  std::int64_t count = 0;    // rows from there down that these distances need
  std::vector<std::int32_t>
      rows;  // [2 * longest - 1], of the distances longest - 1, .., 1 - longest

  // Of a query at `position`: the row for each key, from the first one on.
  const std::int32_t* of_query(std::int64_t position) const {
    return rows.data() + (longest - 1 - position);
  }
};

DistanceRows distance_rows(const ModelConfig& config, std::int64_t longest);

}  // namespace dtl::trainer
