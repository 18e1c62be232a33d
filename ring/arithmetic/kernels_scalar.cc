// The kernels for any CPU, using the build's baseline (SSE2 on x86-64; no vectors on
// arm64). Tests compare the others with these.
#include "ring/arithmetic/kernel_loops.h"
#include "ring/arithmetic/kernel_tables.h"

namespace dtl::ring {

constinit const Kernels kScalarKernels = make_kernels("scalar");

}  // namespace dtl::ring
