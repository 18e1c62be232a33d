#pragma once
// NaN as people expect to read it. A pure function.

#include <cmath>
#include <limits>

namespace dtl::trainer {

// x86 gives the NaN of 0/0 or inf - inf a minus sign, and it would be printed as "-nan".
inline double plain_nan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace dtl::trainer
