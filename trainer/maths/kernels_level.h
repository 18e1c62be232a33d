#pragma once
// Declarations for the files that are compiled once per x86-64 level. The build defines DTL_LEVEL
// as one of the namespaces below; kernels.cc picks among them.

#include "trainer/maths/kernels.h"

#define DTL_DECLARE_LEVEL(level)               \
  namespace dtl::trainer::level {              \
  extern const OptimizerKernels kOptimizer;    \
  extern const RoundingKernels kRounding;      \
  extern const Kernels<float> kFloatKernels;   \
  extern const Kernels<double> kDoubleKernels; \
  }

DTL_DECLARE_LEVEL(level_base)
#if defined(__x86_64__)
DTL_DECLARE_LEVEL(level_v3)
DTL_DECLARE_LEVEL(level_v4)
#endif

#undef DTL_DECLARE_LEVEL
