#pragma once
// The tables behind ring/arithmetic/kernels.cc, which knows which of them this CPU can run. Only
// that file may choose: a kernel of another table may be an illegal instruction.

#include "ring/arithmetic/kernels.h"

namespace dtl::ring {

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

}  // namespace dtl::ring
