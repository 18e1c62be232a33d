// The kernels for AVX2 with F16C. The build compiles only this file for them (ring/CMakeLists.txt),
// so it may contain nothing but kernels.
#if defined(__x86_64__)
#include "ring/arithmetic/kernel_loops.h"
#include "ring/arithmetic/kernel_tables.h"

namespace dtl::ring {

constinit const Kernels kAvx2Kernels = make_kernels("avx2");

}  // namespace dtl::ring
#endif
