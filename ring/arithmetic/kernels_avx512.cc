// The kernels for AVX-512F, BW, DQ and VL. The build compiles only this file for them
// (ring/CMakeLists.txt), so it may contain nothing but kernels.
#if defined(__x86_64__)
#include "ring/arithmetic/kernel_loops.h"
#include "ring/arithmetic/kernel_tables.h"

namespace dtl::ring {

constinit const Kernels kAvx512Kernels = make_kernels("avx512");

}  // namespace dtl::ring
#endif
