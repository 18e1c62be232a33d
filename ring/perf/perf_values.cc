// Rounding would allow many results, and a check with a tolerance would miss a lost element among
// many. So floats are integers and powers of two, as small as the format and the number of ranks
// require. Integers may have any value, since they wrap around.
#include "ring/perf/perf_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ring/dtring.h"

namespace dtl::ring {
namespace {

constexpr std::array<PerfType, 9> kTypes{{{DT_U8, "u8", "uint8", 1},
                                          {DT_I8, "i8", "int8", 1},
                                          {DT_I32, "i32", "int32", 4},
                                          {DT_I64, "i64", "int64", 8},
                                          {DT_F16, "f16", "half", 2},
                                          {DT_BF16, "bf16", "bfloat16", 2},
                                          {DT_F32, "f32", "float", 4},
                                          {DT_F64, "f64", "double", 8},
                                          {DT_BOOL, "bool", "", 1}}};

constexpr std::array<const char*, kOps> kOpNames{"sum",  "avg",  "min", "max",
                                                 "prod", "band", "bor", "bxor"};

bool is_float(int dtype) {
  return dtype == DT_F16 || dtype == DT_BF16 || dtype == DT_F32 || dtype == DT_F64;
}

bool is_signed(int dtype) {
  return dtype == DT_I8 || dtype == DT_I32 || dtype == DT_I64;
}

bool sums(int op) {
  return op == DT_SUM || op == DT_AVG;
}

// Up to this limit every integer is exact in the type and in its wire format. Sums of all ranks
// must stay below it.
std::int64_t exact_limit(const Reduction& r) {
  constexpr std::int64_t kBf16 = 1 << 8, kF16 = 1 << 11, kF32 = 1 << 24;
  if (r.dtype == DT_BF16) return kBf16;
  if (r.dtype == DT_F16) return kF16;
  if (r.dtype == DT_F64) return std::int64_t{1} << 53;
  if (!sums(r.op) || r.wire == DT_WIRE_EXACT) return kF32;
  return r.wire == DT_WIRE_F16 ? kF16 : kBf16;  // the default may be any
}

// Whether the rank is one of the `few` that matter at x. The chosen ranks differ between places, so
// that each rank matters somewhere.
bool is_chosen(const Reduction& r, int rank, std::uint64_t x, std::int64_t few) {
  const auto world = static_cast<std::uint64_t>(r.world);
  return (static_cast<std::uint64_t>(rank) + mix(x, 1) % world) % world <
         static_cast<std::uint64_t>(few);
}

std::uint64_t random_of(int rank, std::uint64_t x) {
  return mix(x, static_cast<std::uint64_t>(rank) + 2);
}

std::int64_t below(std::uint64_t random, std::int64_t end) {
  return static_cast<std::int64_t>(random % static_cast<std::uint64_t>(end));
}

// In -most..most. With more ranks than that, only that many values are not 0.
std::int64_t addend(const Reduction& r, int rank, std::uint64_t x, std::int64_t limit) {
  const std::int64_t most = limit / r.world;
  const std::uint64_t random = random_of(rank, x);
  if (most > 0) return below(random, 2 * most + 1) - most;
  if (!is_chosen(r, rank, x, limit)) return 0;
  return random % 2 == 0 ? 1 : -1;
}

// Makes the sum the number of ranks times an integer, so that the average is exact: ranks 2k and
// 2k+1 have mean + d, mean - d.
std::int64_t part_of_average(const Reduction& r, int rank, std::uint64_t x, std::int64_t limit) {
  const std::int64_t most = limit / r.world;
  const int pair = rank / 2, sign = rank % 2 == 0 ? 1 : -1;
  const bool is_alone = rank == r.world - 1 && r.world % 2 == 1;
  if (most == 0) {
    if (is_alone || 2 * pair >= limit - 1) return 0;
    return mix(x, static_cast<std::uint64_t>(pair) + 2) % 2 == 0 ? sign : -sign;
  }
  const std::int64_t spread = most / 2;
  const std::int64_t mean = below(mix(x, 1), most - spread + 1);
  return is_alone ? mean : mean + sign * below(random_of(pair, x), spread + 1);
}

// Signs and powers of two, mostly 1, and one odd number: 2^8 * 15 is exact in f16.
double factor(const Reduction& r, int rank, std::uint64_t x) {
  const std::uint64_t random = random_of(rank, x);
  double value = random % 2 == 0 ? 1 : -1;
  if (is_chosen(r, rank, x, 8)) value = std::ldexp(value, static_cast<int>(random / 2 % 3) - 1);
  if (is_chosen(r, rank, x, 1)) value *= static_cast<double>(random / 8 % 8 * 2 + 1);
  return value;
}

double real_value(const Reduction& r, int rank, std::uint64_t x) {
  if (r.op == DT_PROD) return factor(r, rank, x);
  const std::int64_t limit = exact_limit(r);
  if (r.op == DT_SUM) return static_cast<double>(addend(r, rank, x, limit));
  if (r.op == DT_AVG) return static_cast<double>(part_of_average(r, rank, x, limit));
  return static_cast<double>(below(random_of(rank, x), 2 * limit + 1) - limit);
}

// In double, which is exact for all values above, for every type.
double real_result(const Reduction& r, std::uint64_t x) {
  double result = real_value(r, 0, x);
  for (int rank = 1; rank < r.world; ++rank) {
    const double value = real_value(r, rank, x);
    if (sums(r.op)) result += value;
    if (r.op == DT_PROD) result *= value;
    if (r.op == DT_MIN) result = std::min(result, value);
    if (r.op == DT_MAX) result = std::max(result, value);
  }
  return r.op == DT_AVG ? result / r.world : result;
}

// Except for xor, one rank decides and all others have the neutral element. With random booleans on
// many ranks "or" would nearly always be true, and hide a lost one.
bool truth(const Reduction& r, int rank, std::uint64_t x) {
  const bool random = random_of(rank, x) % 2 != 0;
  if (r.op == DT_BXOR || is_chosen(r, rank, x, 1)) return random;
  return r.op == DT_PROD || r.op == DT_MIN || r.op == DT_BAND;  // the neutral element
}

bool true_result(const Reduction& r, std::uint64_t x) {
  bool any = false, all = true, odd = false;
  for (int rank = 0; rank < r.world; ++rank) {
    const bool value = truth(r, rank, x);
    any |= value;
    all &= value;
    odd ^= value;
  }
  if (r.op == DT_BXOR) return odd;
  return r.op == DT_PROD || r.op == DT_MIN || r.op == DT_BAND ? all : any;
}

// The low bits of `bits`, interpreted as the type.
std::int64_t as_number(int dtype, std::uint64_t bits) {
  if (dtype == DT_U8) return static_cast<std::uint8_t>(bits);
  if (dtype == DT_I8) return static_cast<std::int8_t>(bits);
  if (dtype == DT_I32) return static_cast<std::int32_t>(bits);
  return static_cast<std::int64_t>(bits);
}

// Sums and products wrap around, in the same way for every order of operands. Averages do not,
// since wrapping and dividing do not combine.
std::uint64_t integer_value(const Reduction& r, int rank, std::uint64_t x) {
  const std::uint64_t random = random_of(rank, x);
  if (r.op == DT_PROD) return random | 1;  // products of even numbers soon become 0
  if (r.op == DT_BAND) return is_chosen(r, rank, x, 2) ? random : ~std::uint64_t{0};
  if (r.op == DT_BOR) return is_chosen(r, rank, x, 2) ? random : 0;
  if (r.op != DT_AVG) return random;
  const std::size_t bits = 8 * type_of(r.dtype).bytes;
  const std::int64_t limit = std::int64_t{1} << std::min<std::size_t>(bits - 2, 53);
  const std::int64_t value = addend(r, rank, x, limit);
  return static_cast<std::uint64_t>(is_signed(r.dtype) ? value : std::abs(value));
}

std::uint64_t combined(const Reduction& r, std::uint64_t a, std::uint64_t b) {
  switch (r.op) {
    case DT_MIN:
      return as_number(r.dtype, a) < as_number(r.dtype, b) ? a : b;
    case DT_MAX:
      return as_number(r.dtype, a) > as_number(r.dtype, b) ? a : b;
    case DT_PROD:
      return a * b;
    case DT_BAND:
      return a & b;
    case DT_BOR:
      return a | b;
    case DT_BXOR:
      return a ^ b;
    default:
      return a + b;
  }
}

std::uint64_t integer_result(const Reduction& r, std::uint64_t x) {
  std::uint64_t result = integer_value(r, 0, x);
  for (int rank = 1; rank < r.world; ++rank) {
    result = combined(r, result, integer_value(r, rank, x));
  }
  if (r.op != DT_AVG) return result;
  return static_cast<std::uint64_t>(as_number(r.dtype, result) / r.world);
}

// IEEE binary16 of 0 or of a value that is a normal number there.
std::uint16_t f16_bits(double value) {
  constexpr int kBias = 15, kFraction = 10;
  const unsigned sign = std::signbit(value) ? 0x8000U : 0;
  if (value == 0) return static_cast<std::uint16_t>(sign);
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // 0.5 to 1
  const auto digits = static_cast<unsigned>(std::ldexp(fraction, kFraction + 1));
  return static_cast<std::uint16_t>(
      sign | static_cast<unsigned>(exponent - 1 + kBias) << kFraction | (digits & 0x3ffU));
}

template <typename T>
void put(T value, std::byte* out) {
  std::memcpy(out, &value, sizeof value);
}

void put_real(int dtype, double value, std::byte* out) {
  if (dtype == DT_F64) return put(value, out);
  const auto single = static_cast<float>(value);
  if (dtype == DT_F32) return put(single, out);
  if (dtype == DT_F16) return put(f16_bits(value), out);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  put(static_cast<std::uint16_t>(bits >> 16), out);
}

void put_low_bytes(int dtype, std::uint64_t bits, std::byte* out) {
  std::memcpy(out, &bits, type_of(dtype).bytes);  // of a little-endian machine
}

}  // namespace

const PerfType* find_type(std::string_view name) {
  for (const PerfType& type : kTypes) {
    if (!name.empty() && (name == type.name || name == type.synonym)) return &type;
  }
  return nullptr;
}

const PerfType& type_of(int dtype) {
  return *std::find_if(kTypes.begin(), kTypes.end(),
                       [&](const PerfType& type) { return type.dtype == dtype; });
}

const char* perf_op_name(int op) {
  return kOpNames[static_cast<std::size_t>(op)];
}

int find_op(std::string_view name) {
  const auto found = std::find(kOpNames.begin(), kOpNames.end(), name);
  return found == kOpNames.end() ? -1 : static_cast<int>(found - kOpNames.begin());
}

bool is_combinable(int dtype, int op) {
  if (op == DT_BAND || op == DT_BOR || op == DT_BXOR) return !is_float(dtype);
  return op != DT_AVG || dtype != DT_BOOL;
}

void put_value(const Reduction& r, int rank, std::uint64_t x, std::byte* out) {
  if (r.dtype == DT_BOOL) {
    const std::uint64_t nonzero = 1 + random_of(rank, x) / 2 % 255;  // every one of them means true
    return put_low_bytes(r.dtype, truth(r, rank, x) ? nonzero : 0, out);
  }
  if (is_float(r.dtype)) return put_real(r.dtype, real_value(r, rank, x), out);
  put_low_bytes(r.dtype, integer_value(r, rank, x), out);
}

void put_result(const Reduction& r, std::uint64_t x, std::byte* out) {
  if (r.dtype == DT_BOOL) return put_low_bytes(r.dtype, true_result(r, x) ? 1 : 0, out);
  if (is_float(r.dtype)) return put_real(r.dtype, real_result(r, x), out);
  put_low_bytes(r.dtype, integer_result(r, x), out);
}

void put_bits(int dtype, int rank, std::uint64_t x, std::byte* out) {
  const std::uint64_t random = random_of(rank, x);
  put_low_bytes(dtype, dtype == DT_BOOL ? random % 2 : random, out);
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15 + b * 0xd1342543de82ef95 + 0x2545f4914f6cdd1d;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace dtl::ring
