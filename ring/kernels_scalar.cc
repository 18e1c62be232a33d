// The kernels for any CPU. What a build's baseline has (SSE2 on x86-64) is used.
#include "ring/kernel_loops.h"
#include "ring/kernel_tables.h"

namespace dtl::ring {

constinit const Kernels kScalarKernels = make_kernels("scalar");

}  // namespace dtl::ring
