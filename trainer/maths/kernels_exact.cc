// Compiled once per x86-64 level (DTL_LEVEL names it). Do not call inline functions of the standard
// library: the linker keeps one copy, which might be the AVX-512 one. The build disables
// contraction for this file (-ffp-contract=off): a fused multiply-add rounds once instead of twice,
// and only some levels have it.

#include "trainer/maths/kernels_level.h"

namespace dtl::trainer::DTL_LEVEL {
namespace {

// 32-bit words in an AVX-512 register. Also the number of partial sums, so it affects the bits of
// sums.
constexpr int kLanes = 16;

// ---- Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011)

struct PhiloxLanes {
  std::uint32_t word[4][kLanes];
};

inline void philox_round(PhiloxLanes& c, std::uint32_t key0, std::uint32_t key1) {
  // The multipliers, and in philox() the key increments, are the paper's.
  constexpr std::uint64_t kM0 = 0xD2511F53, kM1 = 0xCD9E8D57;
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t product0 = kM0 * c.word[0][i];
    const std::uint64_t product1 = kM1 * c.word[2][i];
    const auto high0 = static_cast<std::uint32_t>(product0 >> 32);
    const auto high1 = static_cast<std::uint32_t>(product1 >> 32);
    c.word[0][i] = high1 ^ c.word[1][i] ^ key0;
    c.word[2][i] = high0 ^ c.word[3][i] ^ key1;
    c.word[1][i] = static_cast<std::uint32_t>(product1);
    c.word[3][i] = static_cast<std::uint32_t>(product0);
  }
}

// 16 counters, first .. first + 15, each with the same three words of stream.
inline PhiloxLanes philox(std::uint32_t first, const std::uint32_t key[2],
                          const std::uint32_t stream[3]) {
  PhiloxLanes c;
  for (int i = 0; i < kLanes; ++i) {
    c.word[0][i] = first + static_cast<std::uint32_t>(i);
    c.word[1][i] = stream[0];
    c.word[2][i] = stream[1];
    c.word[3][i] = stream[2];
  }
  std::uint32_t key0 = key[0], key1 = key[1];
  for (int round = 0; round < 10; ++round) {
    philox_round(c, key0, key1);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

// Element e of a block of 128: counter e / 8, word (e % 8) / 2, half e % 2.
void dropout_mask(std::int64_t count, std::uint32_t threshold, const std::uint32_t key[2],
                  const std::uint32_t stream[3], std::uint8_t* mask) {
  for (std::int64_t done = 0; done < count; done += 8 * kLanes) {
    const PhiloxLanes c = philox(static_cast<std::uint32_t>(done / 8), key, stream);
    std::uint8_t block[8 * kLanes];
    for (int i = 0; i < kLanes; ++i) {
      for (int w = 0; w < 4; ++w) {
        block[8 * i + 2 * w] = (c.word[w][i] & 0xFFFF) < threshold;
        block[8 * i + 2 * w + 1] = (c.word[w][i] >> 16) < threshold;
      }
    }
    const std::int64_t left = count - done;
    const std::int64_t take = left < 8 * kLanes ? left : 8 * kLanes;
    __builtin_memcpy(mask + done, block, static_cast<std::size_t>(take));
  }
}

// ---- optimizer

// trainer/step/optimizer.h has the formulas.
void adamw(std::int64_t count, const AdamStep& step, const float* gradient, float* parameter,
           float* m, float* v) {
  const float scale = step.gradient_scale;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * scale;
    const float first = m[i] * step.beta1 + g * step.rest1;
    const float second = v[i] * step.beta2 + g * g * step.rest2;
    m[i] = first;
    v[i] = second;
    const float divisor = __builtin_sqrtf(second) / step.sqrt_bias_correction2 + step.epsilon;
    parameter[i] = parameter[i] * step.keep - step.rate * (first / divisor);
  }
}

void sgd(std::int64_t count, const SgdStep& step, const float* gradient, float* parameter,
         float* m) {
  const float scale = step.gradient_scale;
  if (m == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const float g = gradient[i] * scale + parameter[i] * step.weight_decay;
      parameter[i] = parameter[i] - step.learning_rate * g;
    }
    return;
  }
  // One loop for both forms: g * now + kept * ahead is kept, or with nesterov g + momentum * kept.
  const float ahead = step.nesterov ? step.momentum : 1.0F, now = step.nesterov ? 1.0F : 0.0F;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * scale + parameter[i] * step.weight_decay;
    const float kept = m[i] * step.keep + g * step.rest;
    m[i] = kept;
    parameter[i] = parameter[i] - step.learning_rate * (g * now + kept * ahead);
  }
}

void lion(std::int64_t count, const LionStep& step, const float* gradient, float* parameter,
          float* m) {
  const float scale = step.gradient_scale;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * scale;
    const float mixed = m[i] * step.beta1 + g * step.rest1;
    // 0 for 0, as in torch.sign().
    const float sign = (mixed > 0.0F ? 1.0F : 0.0F) - (mixed < 0.0F ? 1.0F : 0.0F);
    parameter[i] = parameter[i] * step.keep - step.learning_rate * sign;
    m[i] = m[i] * step.beta2 + g * step.rest2;
  }
}

// The sum of term(i). Lane j adds the terms i with i % kLanes == j; then lanes are added from first
// to last. Every level uses this order, because it affects the bits.
template <class Term>
inline double sum_in_lanes(std::int64_t count, const Term& term) {
  double lane[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lane[j] += term(i + j);
  }
  for (; i < count; ++i) lane[i % kLanes] += term(i);
  double sum = 0;
  for (int j = 0; j < kLanes; ++j) sum += lane[j];
  return sum;
}

// For the gradients' norm. In double, since a float sum of millions of squares loses digits.
double sum_squares(std::int64_t count, const float* x) {
  return sum_in_lanes(count, [x](std::int64_t i) {
    const double value = static_cast<double>(x[i]);
    return value * value;
  });
}

// Adafactor's two sums in one pass: adds column sums to `sums` and returns the row sum.
double add_squares(std::int64_t count, float scale, const float* x, double* sums) {
  return sum_in_lanes(count, [x, scale, sums](std::int64_t i) {
    const double value = static_cast<double>(x[i] * scale);
    sums[i] += value * value;
    return value * value;
  });
}

double sum_scaled_squares(std::int64_t count, float scale, const float* scales, const float* x) {
  return sum_in_lanes(count, [x, scale, scales](std::int64_t i) {
    const double value = static_cast<double>(x[i] * scale * scales[i]);
    return value * value;
  });
}

void scaled_step(std::int64_t count, float keep, float scale, const float* scales, const float* x,
                 float* parameter) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    parameter[i] = parameter[i] * keep - x[i] * scale * scales[i];
  }
}

// ---- bf16, in 32-bit words: faster than selecting between vectors of 16-bit words

inline std::uint32_t rounded_bits(float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const std::uint32_t nearest = bits + 0x7FFF + (bits >> 16 & 1);
  const std::uint32_t quiet_nan = bits | 0x400000;
  return (bits & 0x7FFFFFFF) > 0x7F800000 ? quiet_nan : nearest;
}

void to_bf16(std::int64_t count, const float* x, std::uint16_t* rounded) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    rounded[i] = static_cast<std::uint16_t>(rounded_bits(x[i]) >> 16);
  }
}

void round_to_bf16(std::int64_t count, const float* x, float* rounded) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = rounded_bits(x[i]) & 0xFFFF0000;
    __builtin_memcpy(&rounded[i], &bits, sizeof bits);
  }
}

}  // namespace

extern const RoundingKernels kRounding = {to_bf16, round_to_bf16};
extern const OptimizerKernels kOptimizer = {
    adamw, sgd, lion, add_squares, sum_scaled_squares, scaled_step, sum_squares, dropout_mask};

}  // namespace dtl::trainer::DTL_LEVEL
