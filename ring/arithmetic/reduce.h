#pragma once
// The arithmetic of the collectives: element types, operations, and the formats in which floats
// travel. For the CPU at hand (AVX-512, AVX2 with F16C, else plain C++), chosen once; all of them
// give the same bits, so that hosts of different kinds can sum together. Pure; no allocation. Knows
// nothing of ranks.

#include <cstddef>
#include <cstdint>

#include "ring/dtring.h"

namespace dtl::ring {

// 0 for a type that does not exist.
std::size_t element_bytes(int dtype);
const char* dtype_name(int dtype);  // "f32"
const char* op_name(int op);        // "sum"; nullptr for one that does not exist
// Whether dtring.h offers this operation for this type.
bool can_combine(int dtype, int op);

// The format of an operand: its dtype's own, or that of DT_F32 values as they travel.
enum class Wire : std::uint8_t { kExact = 0, kBf16 = 2, kF16 = 3 };  // as dt_wire

struct Operand {
  const std::byte* data = nullptr;
  Wire wire = Wire::kExact;  // others for DT_F32 with DT_SUM or DT_AVG only
};

// out[i] = ((a[i] op b[i]) op c[i]) ..., of n >= 1 operands in this order, for `count` elements.
// DT_AVG only sums: see divide(). f16 and bf16 are summed in float and rounded once. out is in the
// type's own format, may be the data of any exact operand, and overlaps nothing else.
void combine(int dtype, int op, std::byte* out, const Operand* operands, std::size_t n,
             std::size_t count);

// The end of DT_AVG.
void divide(int dtype, std::byte* data, std::size_t count, std::uint64_t divisor);

// Bytes of an element as it travels.
std::size_t wire_bytes(int dtype, Wire wire);
// To nearest, ties to even; NaN stays NaN, infinity infinity, denormals are kept; beyond the
// format's range: infinity. bf16's and f16's largest finite values and denormals are exact.
void to_wire(Wire wire, std::byte* out, const float* in, std::size_t count);
void from_wire(Wire wire, float* out, const std::byte* in, std::size_t count);
// values = from_wire(to_wire(values)): what the owner of a sum keeps, so that all ranks agree.
void round_to_wire(Wire wire, float* values, std::size_t count);

}  // namespace dtl::ring
