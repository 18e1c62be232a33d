// Chooses the level once per process. Levels are the psABI's: v3 has AVX2 and FMA, v4 AVX-512. Each
// level's table is compiled in its own file, so that no code of a higher level runs before the
// choice. On arm64, NEON is part of the base.
#include "trainer/maths/kernels.h"

#include "trainer/maths/kernels_level.h"

namespace dtl::trainer {
namespace {

enum class Level { kBase, kV3, kV4 };
#if defined(__aarch64__)
constexpr const char* kBaseName = "armv8-a";
#else
constexpr const char* kBaseName = "x86-64";
#endif

// Test the highest level first: a CPU with one level has all lower ones.
Level detect() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) return Level::kV4;
  if (__builtin_cpu_supports("x86-64-v3")) return Level::kV3;
#endif
  return Level::kBase;
}

// A function-local static: kernels() may be called from any thread.
Level level() {
  static const Level found = detect();
  return found;
}

#if defined(__x86_64__)
#define DTL_PICK(table) pick(level_base::table, level_v3::table, level_v4::table)
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
#else
#define DTL_PICK(table) level_base::table
#endif

}  // namespace

template <>
const Kernels<float>& kernels<float>() {
  return DTL_PICK(kFloatKernels);
}

template <>
const Kernels<double>& kernels<double>() {
  return DTL_PICK(kDoubleKernels);
}

const OptimizerKernels& optimizer_kernels() {
  return DTL_PICK(kOptimizer);
}

const RoundingKernels& rounding_kernels() {
  return DTL_PICK(kRounding);
}

const char* kernel_level() {
  switch (level()) {
    case Level::kBase:
      return kBaseName;
    case Level::kV3:
      return "x86-64-v3";
    case Level::kV4:
      return "x86-64-v4";
  }
  __builtin_unreachable();
}

}  // namespace dtl::trainer
