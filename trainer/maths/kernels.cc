// Chooses the level once per process. Levels are the psABI's: v3 has AVX2 and FMA, v4 AVX-512. Each
// level's table is compiled in its own file, so that no code of a higher level runs before the
// choice.
#include "trainer/maths/kernels.h"

#include "trainer/maths/kernels_level.h"

namespace dtl::trainer {
namespace {

enum class Level { kBase, kV3, kV4 };

// Test the highest level first: a CPU with one level has all lower ones.
Level detect() {
  if (__builtin_cpu_supports("x86-64-v4")) return Level::kV4;
  if (__builtin_cpu_supports("x86-64-v3")) return Level::kV3;
  return Level::kBase;
}

// A function-local static: kernels() may be called from any thread.
Level level() {
  static const Level found = detect();
  return found;
}

template <class Table>
const Table& pick(const Table& base, const Table& v3, const Table& v4) {
  switch (level()) {
    case Level::kBase:
      return base;
    case Level::kV3:
      return v3;
    case Level::kV4:
      return v4;
  }
  __builtin_unreachable();
}

}  // namespace

template <>
const Kernels<float>& kernels<float>() {
  return pick(level_base::kFloatKernels, level_v3::kFloatKernels, level_v4::kFloatKernels);
}

template <>
const Kernels<double>& kernels<double>() {
  return pick(level_base::kDoubleKernels, level_v3::kDoubleKernels, level_v4::kDoubleKernels);
}

const OptimizerKernels& optimizer_kernels() {
  return pick(level_base::kOptimizer, level_v3::kOptimizer, level_v4::kOptimizer);
}

const RoundingKernels& rounding_kernels() {
  return pick(level_base::kRounding, level_v3::kRounding, level_v4::kRounding);
}

const char* kernel_level() {
  switch (level()) {
    case Level::kBase:
      return "x86-64";
    case Level::kV3:
      return "x86-64-v3";
    case Level::kV4:
      return "x86-64-v4";
  }
  __builtin_unreachable();
}

}  // namespace dtl::trainer
