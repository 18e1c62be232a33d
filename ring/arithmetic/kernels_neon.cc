// The kernels for arm64, where every CPU has NEON. The build vectorises no other loops there
// (ring/CMakeLists.txt).
#if defined(__aarch64__)
#define DTL_NEON  // kernels_scalar.cc has the same instruction set and does without
#include "ring/arithmetic/kernel_loops.h"
#include "ring/arithmetic/kernel_tables.h"

namespace dtl::ring {

constinit const Kernels kNeonKernels = make_kernels("neon");

}  // namespace dtl::ring
#endif
