// Prints checksums of what the kernels compute, one line for each kind: arm64_kernels.sh compares
// those of this machine's build with those of a build for arm64. Inputs are pseudo-random, with
// denormals, infinities and NaNs. Ends with status 1 if kernels of one build differ, or if the
// instruction for checksums gives another result than the table.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "ring/arithmetic/kernels.h"
#include "trainer/maths/kernels_level.h"

namespace dtl::kernel_bits {
namespace {

using ring::Kernels, ring::Operand, ring::Wire;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kCount = 10'007;  // elements; vectors do not divide it
constexpr std::size_t kOperands = 5;

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Any bits, of which every fourth element has an exponent near those of 0 or infinity.
Bytes random_operand(std::size_t bytes, std::mt19937_64& random) {
  Bytes operand(kCount * bytes);
  for (std::size_t i = 0; i < kCount; ++i) {
    std::uint64_t bits = random();
    if (bits % 4 == 0) bits |= std::uint64_t{0x7f80} << (8 * bytes - 16);
    if (bits % 4 == 1) bits &= ~(std::uint64_t{0x7f80} << (8 * bytes - 16));
    std::memcpy(operand.data() + i * bytes, &bits, bytes);
  }
  return operand;
}

std::uint32_t sums(const Kernels& kernels, int dtype) {
  std::mt19937_64 random(static_cast<unsigned>(dtype) + 1);
  const std::size_t bytes = ring::element_bytes(dtype);
  std::vector<Bytes> values;
  std::vector<Operand> operands;
  for (std::size_t k = 0; k < kOperands; ++k) values.push_back(random_operand(bytes, random));
  for (const Bytes& value : values) operands.push_back({value.data(), Wire::kExact});
  std::uint32_t checksum = 0;
  Bytes out(kCount * bytes);
  for (int op = DT_SUM; op <= DT_BXOR; ++op) {
    if (!ring::can_combine(dtype, op)) continue;
    combine_with(kernels, dtype, op, out.data(), operands.data(), kOperands, kCount);
    checksum = crc32c(bytes_of(out), checksum);
  }
  if (ring::can_combine(dtype, DT_AVG)) {
    divide_with(kernels, dtype, out.data(), kCount, 3);
    checksum = crc32c(bytes_of(out), checksum);
  }
  return checksum;
}

std::uint32_t on_the_wire(const Kernels& kernels, Wire wire) {
  std::mt19937_64 random(100);
  const Bytes bits = random_operand(sizeof(float), random);
  std::vector<float> floats(kCount);
  std::memcpy(floats.data(), bits.data(), bits.size());
  Bytes halves(kCount * 2);
  to_wire_with(kernels, wire, halves.data(), floats.data(), kCount);
  const std::uint32_t checksum = crc32c(bytes_of(halves));
  std::vector<float> sum(kCount);
  const Operand operands[] = {{bits.data(), Wire::kExact}, {halves.data(), wire}};
  combine_with(kernels, DT_F32, DT_SUM, reinterpret_cast<std::byte*>(sum.data()), operands, 2,
               kCount);
  round_to_wire_with(kernels, wire, sum.data(), kCount);
  return crc32c(bytes_of(sum), checksum);
}

// Values of a usual size, as weights and gradients have.
std::vector<float> random_floats(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(kCount);
  for (float& value : values) value = static_cast<float>(random() >> 40) * 0x1p-23F - 1.0F;
  return values;
}

std::uint32_t updates() {
  const trainer::OptimizerKernels& kernels = trainer::level_base::kOptimizer;
  std::vector<float> parameter = random_floats(1), m = random_floats(2), v(kCount, 0.25F);
  const std::vector<float> gradient = random_floats(3);
  kernels.adamw(kCount, {0.999F, 1e-3F, 0.9F, 0.999F, 0.1F, 0.001F, 1e-8F, 0.03F, 0.7F},
                gradient.data(), parameter.data(), m.data(), v.data());
  kernels.sgd(kCount, {0.01F, 0.1F, 0.9F, 0.9F, 0.1F, true, 0.7F}, gradient.data(),
              parameter.data(), m.data());
  kernels.lion(kCount, {1e-3F, 0.9F, 0.99F, 0.1F, 0.01F, 0.999F, 0.7F}, gradient.data(),
               parameter.data(), m.data());
  const double squares = kernels.sum_squares(kCount, parameter.data());
  std::uint32_t checksum = crc32c(bytes_of(parameter), crc32c(bytes_of(m), crc32c(bytes_of(v))));
  checksum = crc32c({reinterpret_cast<const char*>(&squares), sizeof squares}, checksum);
  std::vector<std::uint8_t> mask(kCount);
  const std::uint32_t key[2] = {1, 2}, stream[3] = {3, 4, 5};
  kernels.dropout_mask(kCount, 6554, key, stream, mask.data());
  std::vector<std::uint16_t> halves(kCount);
  trainer::level_base::kRounding.to_bf16(kCount, parameter.data(), halves.data());
  return crc32c(bytes_of(halves), crc32c(bytes_of(mask), checksum));
}

// Prints a line, and returns whether all kernels of this build agree.
template <class Compute>
bool report(const char* what, const Compute& compute) {
  const std::uint32_t checksum = compute(*ring::kernels_named("scalar"));
  std::printf("%s %08x\n", what, checksum);
  for (const char* name : {"avx2", "avx512", "neon"}) {
    const Kernels* kernels = ring::kernels_named(name);
    if (kernels == nullptr || compute(*kernels) == checksum) continue;
    std::printf("%s: %s differs from scalar\n", what, name);
    return false;
  }
  return true;
}

}  // namespace
}  // namespace dtl::kernel_bits

int main() {
  using namespace dtl;
  using namespace dtl::kernel_bits;
  bool equal = true;
  for (int dtype = DT_U8; dtype <= DT_BOOL; ++dtype) {
    equal &= report(ring::dtype_name(dtype), [&](const auto& k) { return sums(k, dtype); });
  }
  equal &= report("wire bf16", [](const auto& k) { return on_the_wire(k, Wire::kBf16); });
  equal &= report("wire f16", [](const auto& k) { return on_the_wire(k, Wire::kF16); });
  std::printf("updates %08x\n", updates());
  const auto floats = random_floats(4);
  equal &= crc32c(bytes_of(floats)) == crc32c_by_table(bytes_of(floats), 0);
  return equal ? 0 : 1;
}
