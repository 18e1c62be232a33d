// Facts about types, and the choice of kernels. reduce_blocks.cc converts operands to kernel calls.
#include "ring/arithmetic/reduce.h"

#include <cstdlib>

#include "ring/arithmetic/kernels.h"

namespace dtl::ring {
namespace {

struct Dtype {
  std::size_t bytes;
  const char* name;
};
constexpr Dtype kDtypes[] = {{1, "u8"}, {4, "i32"}, {8, "i64"},  {4, "f32"}, {8, "f64"},
                             {1, "i8"}, {2, "f16"}, {2, "bf16"}, {1, "bool"}};
constexpr const char* kOps[] = {"sum", "avg", "min", "max", "prod", "band", "bor", "bxor"};

bool is_dtype(int dtype) {
  return dtype >= DT_U8 && dtype <= DT_BOOL;
}
bool is_op(int op) {
  return op >= DT_SUM && op <= DT_BXOR;
}
bool is_float(int dtype) {
  return dtype == DT_F16 || dtype == DT_BF16 || dtype == DT_F32 || dtype == DT_F64;
}

// DTRING_KERNELS=scalar, avx2, avx512 or neon selects others than the best, for comparison. Read
// once, at the first use.
const Kernels& kernels() {
  static const Kernels& chosen = kernels_or_best(std::getenv("DTRING_KERNELS"));
  return chosen;
}

}  // namespace

std::size_t element_bytes(int dtype) {
  return is_dtype(dtype) ? kDtypes[dtype].bytes : 0;
}

const char* dtype_name(int dtype) {
  return is_dtype(dtype) ? kDtypes[dtype].name : "unknown type";
}

const char* op_name(int op) {
  return is_op(op) ? kOps[op] : nullptr;
}

bool can_combine(int dtype, int op) {
  if (!is_dtype(dtype) || !is_op(op)) return false;
  if (op == DT_AVG) return dtype != DT_BOOL;
  // DT_BAND is the first of the bit operations.
  return op < DT_BAND || !is_float(dtype);
}

std::size_t wire_bytes(int dtype, Wire wire) {
  return wire == Wire::kExact ? element_bytes(dtype) : 2;
}

void combine(int dtype, int op, std::byte* out, const Operand* operands, std::size_t n,
             std::size_t count) {
  combine_with(kernels(), dtype, op, out, operands, n, count);
}

void divide(int dtype, std::byte* data, std::size_t count, std::uint64_t divisor) {
  divide_with(kernels(), dtype, data, count, divisor);
}

void to_wire(Wire wire, std::byte* out, const float* in, std::size_t count) {
  to_wire_with(kernels(), wire, out, in, count);
}

void from_wire(Wire wire, float* out, const std::byte* in, std::size_t count) {
  from_wire_with(kernels(), wire, out, in, count);
}

void round_to_wire(Wire wire, float* values, std::size_t count) {
  round_to_wire_with(kernels(), wire, values, count);
}

}  // namespace dtl::ring
