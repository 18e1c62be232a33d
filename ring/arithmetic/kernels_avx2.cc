// The kernels for AVX2, with F16C. The build compiles this file alone for them
// (ring/CMakeLists.txt), so nothing but kernels may be in it.
#if defined(__x86_64__)
#include "ring/arithmetic/kernel_loops.h"
#include "ring/arithmetic/kernel_tables.h"

namespace dtl::ring {

constinit const Kernels kAvx2Kernels = make_kernels("avx2");

}  // namespace dtl::ring
#endif
