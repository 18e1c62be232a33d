#pragma once
// The values that dtring-perf gives the ranks, and the expected result of every operation. Both are
// computed without the library, since a fault in its arithmetic would hide itself. The results are
// exact in every element type, in every order of summation and in every wire format, so one wrong
// bit is one wrong element. Pure.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dtl::ring {

struct PerfType {
  int dtype;
  std::string_view name;     // "f32"
  std::string_view synonym;  // nccl-tests' spelling, or empty
  std::size_t bytes;
};
const PerfType* find_type(std::string_view name);  // nullptr: unknown
const PerfType& type_of(int dtype);

constexpr int kOps = 8;
const char* perf_op_name(int op);
int find_op(std::string_view name);  // -1: unknown
bool is_combinable(int dtype, int op);

// The parameters of a reduction.
struct Reduction {
  int dtype = 0, op = 0, wire = 0;
  int world = 1;
};

// Writes one element: that of `rank` at index x, and the result of all ranks there.
void put_value(const Reduction& reduction, int rank, std::uint64_t x, std::byte* out);
void put_result(const Reduction& reduction, std::uint64_t x, std::byte* out);

// For operations that only move data: any bits, including NaNs.
void put_bits(int dtype, int rank, std::uint64_t x, std::byte* out);

// A number that looks random (SplitMix64's finalizer over both).
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace dtl::ring
