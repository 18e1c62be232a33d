#pragma once
// The tables behind ring/arithmetic/kernels.cc. Only that file may choose between them, as it knows
// what this CPU supports: kernels of another table may contain illegal instructions.

#include "ring/arithmetic/kernels.h"

namespace dtl::ring {

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;
#endif

}  // namespace dtl::ring
