#pragma once
// The loops below ring/arithmetic/reduce.h, compiled once per instruction set from
// ring/arithmetic/kernel_loops.h. Any alignment; `out` may be one of the inputs. They assume the
// default floating-point mode, which ring/arithmetic/reduce.cc sets. Constant tables; any thread.
//
// All sets give the same bits: there are no fused multiply-adds, and where IEEE 754 leaves the bits
// of a NaN open, combining gives the positive quiet one.

#include <cstddef>
#include <cstdint>

#include "ring/arithmetic/reduce.h"
#include "ring/dtring.h"

namespace dtl::ring {

struct Kernels {
  // out[i] = (in[0][i] op in[1][i]) op ..., of n = 2, 3, 4 or 8 operands in the type's own format.
  using Combine = void (*)(void* out, const void* const* in, std::size_t n, std::size_t count);
  // out[i] = (first[i] + in[0][i]) + ..., of n = 1 to 4 operands in wire format; others floats.
  using AddWire = void (*)(void* out, const void* first, const void* const* in, std::size_t n,
                           std::size_t count);
  using Convert = void (*)(void* out, const void* in, std::size_t count);
  using Divide = void (*)(void* data, std::size_t count, std::uint64_t divisor);

  // The conversions of one wire format. round: from floats to floats, in place.
  struct Format {
    AddWire add;
    Convert narrow, widen, round;
  };

  const char* name;
  // By dtype and op; nullptr: not offered. DT_F16 and DT_BF16 are widened to DT_F32, so they have
  // none; DT_AVG uses DT_SUM.
  Combine combine[DT_BOOL + 1][DT_BXOR + 1];
  Divide divide[DT_BOOL + 1];
  Format bf16, f16;

  [[nodiscard]] const Format& format(Wire wire) const { return wire == Wire::kBf16 ? bf16 : f16; }
};

// The kernels with this name ("scalar", "avx2", "avx512", on arm64 "scalar", "neon"); nullptr if
// this CPU or this build lacks them.
const Kernels* kernels_named(const char* name);
// The kernels with this name, else the best ones: an unsupported name must not end a job. nullptr:
// the best ones.
const Kernels& kernels_or_best(const char* name);

// ring/arithmetic/reduce.h with given kernels, for tests and benchmarks.
void combine_with(const Kernels& kernels, int dtype, int op, std::byte* out,
                  const Operand* operands, std::size_t n, std::size_t count);
void divide_with(const Kernels& kernels, int dtype, std::byte* data, std::size_t count,
                 std::uint64_t divisor);
void to_wire_with(const Kernels& kernels, Wire wire, std::byte* out, const float* in,
                  std::size_t count);
void from_wire_with(const Kernels& kernels, Wire wire, float* out, const std::byte* in,
                    std::size_t count);
void round_to_wire_with(const Kernels& kernels, Wire wire, float* values, std::size_t count);

}  // namespace dtl::ring
