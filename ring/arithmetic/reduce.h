#pragma once
// The arithmetic of the collectives: element types, operations, and the wire formats of floats.
// Chosen once for the CPU (AVX-512, AVX2 with F16C, NEON, else plain C++); all give the same bits,
// so that different kinds of hosts can sum together. Pure; no allocation. Knows nothing of ranks.

#include <cstddef>
#include <cstdint>

#include "ring/dtring.h"

namespace dtl::ring {

// 0 for an unknown type.
std::size_t element_bytes(int dtype);
const char* dtype_name(int dtype);  // "f32"
const char* op_name(int op);        // "sum"; nullptr for an unknown one
// Whether dtring.h offers this operation for this type.
bool can_combine(int dtype, int op);

// The format of an operand: its dtype's own, or the wire format of DT_F32 values.
enum class Wire : std::uint8_t { kExact = 0, kBf16 = 2, kF16 = 3 };  // as dt_wire

struct Operand {
  const std::byte* data = nullptr;
  Wire wire = Wire::kExact;  // others only for DT_F32 with DT_SUM or DT_AVG
};

// out[i] = ((a[i] op b[i]) op c[i]) ..., of n >= 1 operands in this order, for `count` elements.
// DT_AVG only sums: see divide(). f16 and bf16 are summed in float and rounded once. out is in the
// type's own format; it may be the data of any exact operand, and overlaps nothing else.
void combine(int dtype, int op, std::byte* out, const Operand* operands, std::size_t n,
             std::size_t count);

// The final division of DT_AVG.
void divide(int dtype, std::byte* data, std::size_t count, std::uint64_t divisor);

// Bytes of an element in wire format.
std::size_t wire_bytes(int dtype, Wire wire);
// Rounds to nearest, ties to even; NaN stays NaN, infinity infinity, denormals are kept; values
// beyond the format's range become infinity. bf16's and f16's largest finite values and denormals
// are exact.
void to_wire(Wire wire, std::byte* out, const float* in, std::size_t count);
void from_wire(Wire wire, float* out, const std::byte* in, std::size_t count);
// values = from_wire(to_wire(values)): applied by the owner of a sum, so that all ranks agree.
void round_to_wire(Wire wire, float* values, std::size_t count);

}  // namespace dtl::ring
