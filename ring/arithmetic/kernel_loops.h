#pragma once
// The common source of all Kernels tables. A .cc file per instruction set includes it, compiled
// with that set's flags. Plain loops for the compiler to vectorize; only binary16 uses intrinsics.
//
// Everything here has internal linkage and nothing comes from the standard library's templates: a
// weak function compiled for AVX-512 could replace its namesake in the whole program, which would
// then crash on other CPUs.

#include "ring/arithmetic/kernel_f16.h"
#include "ring/arithmetic/kernel_ops.h"
#include "ring/arithmetic/kernels.h"

namespace dtl::ring {
namespace {

template <std::size_t... I>
struct Indices {};

// Pointers to Memory are declared as such: `auto` would forget that they need no alignment.

// `ivdep`: out is an operand or overlaps none, so no element depends on an earlier one.
template <class E, class Op, std::size_t... I>
void combine_loop(void* out_memory, const void* const* in, std::size_t count, Indices<0, I...>) {
  using Memory = typename E::Memory;
  Memory* const out = static_cast<Memory*>(out_memory);
  const Memory* const p[] = {static_cast<const Memory*>(in[0]),
                             static_cast<const Memory*>(in[I])...};
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    typename E::Value value = Op::load(p[0][i]);
    ((value = Op::apply(value, Op::load(p[I][i]))), ...);
    out[i] = Op::finish(value);
  }
}

template <class E, class Op>
void combine_kernel(void* out, const void* const* in, std::size_t n, std::size_t count) {
  switch (n) {
    case 2:
      return combine_loop<E, Op>(out, in, count, Indices<0, 1>());
    case 3:
      return combine_loop<E, Op>(out, in, count, Indices<0, 1, 2>());
    case 4:
      return combine_loop<E, Op>(out, in, count, Indices<0, 1, 2, 3>());
    default:
      return combine_loop<E, Op>(out, in, count, Indices<0, 1, 2, 3, 4, 5, 6, 7>());
  }
}

template <class Format, std::size_t... I>
void add_loop(void* out_memory, const void* first_memory, const void* const* in, std::size_t count,
              Indices<I...>) {
  F32::Memory* const out = static_cast<F32::Memory*>(out_memory);
  const F32::Memory* const first = static_cast<const F32::Memory*>(first_memory);
  const U16::Memory* const p[] = {static_cast<const U16::Memory*>(in[I])...};
  const std::size_t done = ByHand<Format>::add(out, first, p, count);
#pragma GCC ivdep
  for (std::size_t i = done; i < count; ++i) {
    float value = first[i];
    ((value += Format::widen(p[I][i])), ...);
    out[i] = canonical(value);
  }
}

template <class Format>
void add_kernel(void* out, const void* first, const void* const* in, std::size_t n,
                std::size_t count) {
  switch (n) {
    case 1:
      return add_loop<Format>(out, first, in, count, Indices<0>());
    case 2:
      return add_loop<Format>(out, first, in, count, Indices<0, 1>());
    case 3:
      return add_loop<Format>(out, first, in, count, Indices<0, 1, 2>());
    default:
      return add_loop<Format>(out, first, in, count, Indices<0, 1, 2, 3>());
  }
}

template <class Format>
void narrow_kernel(void* out_memory, const void* in_memory, std::size_t count) {
  U16::Memory* const out = static_cast<U16::Memory*>(out_memory);
  const F32::Memory* const in = static_cast<const F32::Memory*>(in_memory);
  const std::size_t done = ByHand<Format>::narrow(out, in, count);
#pragma GCC ivdep
  for (std::size_t i = done; i < count; ++i) out[i] = Format::narrow(in[i]);
}

template <class Format>
void widen_kernel(void* out_memory, const void* in_memory, std::size_t count) {
  F32::Memory* const out = static_cast<F32::Memory*>(out_memory);
  const U16::Memory* const in = static_cast<const U16::Memory*>(in_memory);
  const std::size_t done = ByHand<Format>::widen(out, in, count);
#pragma GCC ivdep
  for (std::size_t i = done; i < count; ++i) out[i] = Format::widen(in[i]);
}

template <class Format>
void round_kernel(void* out_memory, const void* in_memory, std::size_t count) {
  F32::Memory* const out = static_cast<F32::Memory*>(out_memory);
  const F32::Memory* const in = static_cast<const F32::Memory*>(in_memory);
  const std::size_t done = ByHand<Format>::round(out, in, count);
#pragma GCC ivdep
  for (std::size_t i = done; i < count; ++i) out[i] = Format::widen(Format::narrow(in[i]));
}

// Quotient is a float type that holds every E exactly. For integers the rounded quotient never
// reaches the next integer, as the true quotient differs from it by more than half a step.
template <class E, class Quotient>
void divide_kernel(void* memory, std::size_t count, std::uint64_t divisor) {
  typename E::Memory* const data = static_cast<typename E::Memory*>(memory);
  const auto by = static_cast<Quotient>(divisor);
  for (std::size_t i = 0; i < count; ++i) {
    data[i] = static_cast<typename E::Value>(static_cast<Quotient>(data[i]) / by);
  }
}

// No float type holds all 64 bits, so these are divided as integers; the unsigned divisor needs
// care with signs.
void divide_i64(void* memory, std::size_t count, std::uint64_t divisor) {
  U64::Memory* const data = static_cast<U64::Memory*>(memory);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t value = data[i];
    const bool is_negative = (value >> 63) != 0;
    const std::uint64_t quotient = (is_negative ? 0 - value : value) / divisor;
    data[i] = is_negative ? 0 - quotient : quotient;
  }
}

// Wrapping sums, products and bit operations ignore signs.
template <class Signed, class Unsigned>
constexpr void fill_integers(Kernels::Combine (&row)[DT_BXOR + 1]) {
  row[DT_SUM] = row[DT_AVG] = combine_kernel<Unsigned, Sum>;
  row[DT_MIN] = combine_kernel<Signed, Min>;
  row[DT_MAX] = combine_kernel<Signed, Max>;
  row[DT_PROD] = combine_kernel<Unsigned, Prod>;
  row[DT_BAND] = combine_kernel<Unsigned, And>;
  row[DT_BOR] = combine_kernel<Unsigned, Or>;
  row[DT_BXOR] = combine_kernel<Unsigned, Xor>;
}

template <class E>
constexpr void fill_floats(Kernels::Combine (&row)[DT_BXOR + 1]) {
  row[DT_SUM] = row[DT_AVG] = combine_kernel<E, FloatSum>;
  row[DT_MIN] = combine_kernel<E, FloatMin>;
  row[DT_MAX] = combine_kernel<E, FloatMax>;
  row[DT_PROD] = combine_kernel<E, FloatProd>;
}

// Ops that mean the same for booleans share a kernel.
constexpr void fill_bool(Kernels::Combine (&row)[DT_BXOR + 1]) {
  row[DT_SUM] = row[DT_MAX] = row[DT_BOR] = combine_kernel<U8, BoolOr>;
  row[DT_PROD] = row[DT_MIN] = row[DT_BAND] = combine_kernel<U8, BoolAnd>;
  row[DT_BXOR] = combine_kernel<U8, BoolXor>;
}

constexpr Kernels make_kernels(const char* name) {
  Kernels kernels{};
  kernels.name = name;
  fill_integers<U8, U8>(kernels.combine[DT_U8]);
  fill_integers<I8, U8>(kernels.combine[DT_I8]);
  fill_integers<I32, U32>(kernels.combine[DT_I32]);
  fill_integers<I64, U64>(kernels.combine[DT_I64]);
  fill_floats<F32>(kernels.combine[DT_F32]);
  fill_floats<F64>(kernels.combine[DT_F64]);
  fill_bool(kernels.combine[DT_BOOL]);
  kernels.divide[DT_U8] = divide_kernel<U8, float>;
  kernels.divide[DT_I8] = divide_kernel<I8, float>;
  kernels.divide[DT_I32] = divide_kernel<I32, double>;
  kernels.divide[DT_I64] = divide_i64;
  kernels.divide[DT_F32] = divide_kernel<F32, float>;
  kernels.divide[DT_F64] = divide_kernel<F64, double>;
  kernels.bf16 = {add_kernel<Bf16>, narrow_kernel<Bf16>, widen_kernel<Bf16>, round_kernel<Bf16>};
  kernels.f16 = {add_kernel<F16>, narrow_kernel<F16>, widen_kernel<F16>, round_kernel<F16>};
  return kernels;
}

}  // namespace
}  // namespace dtl::ring
