#pragma once
// --label_weights: "balanced", or "NAME=X,NAME=X". A plain value. Pure.

#include <string>
#include <utility>
#include <vector>

namespace dtl::trainer {

struct LabelWeightList {
  bool balanced = false;
  std::vector<std::pair<std::string, double>> named;  // above 0, finite; each name once
};

// A name may contain commas: what precedes an '=' belongs to it. Throws Error(kUsage) for a weight
// that is not a number above 0, a missing one, and a name that occurs twice.
LabelWeightList parse_label_weights(const std::string& text);

}  // namespace dtl::trainer
