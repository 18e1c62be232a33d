// The kernels for any CPU. What a build's baseline has (SSE2 on x86-64) is used. The others are
// tested against these.
#include "ring/arithmetic/kernel_loops.h"
#include "ring/arithmetic/kernel_tables.h"

namespace dtl::ring {

constinit const Kernels kScalarKernels = make_kernels("scalar");

}  // namespace dtl::ring
