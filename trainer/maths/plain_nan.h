#pragma once
// NaN without a sign. A pure function.

#include <cmath>
#include <limits>

namespace dtl::trainer {

// On x86, 0/0 and inf - inf give NaN with a sign, which would print as "-nan".
inline double plain_nan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace dtl::trainer
