#pragma once
// The model's element-wise loops, compiled once per x86-64 level and chosen at run time, so that
// one binary uses AVX-512 where available and runs on any CPU. Matrices are row-major [rows, cols]
// without gaps unless a stride is given. All functions are pure loops over their arguments; none
// allocates or fails.
//
// The kernels of OptimizerKernels give the same bits at every level (no contraction, fixed lanes):
// ranks on different CPUs must end a step with equal parameters.

#include <cstdint>

#include "trainer/maths/activation.h"

namespace dtl::trainer {

// A dropout mask is a byte per element, 1 = kept; kept values are multiplied by `scale`. mask may
// be null: everything is kept, unscaled.
template <class S>
struct NormInput {
  const S* bias;  // may be null, as may residual
  const std::uint8_t* mask;
  S scale;
  const S* residual;
  const S *gamma, *beta;
  S epsilon;
};

template <class S>
struct NormOutput {
  const S *dy, *normed, *rstd, *gamma;  // dy: the gradient at the norm's output
  const std::uint8_t* mask;
  S scale;
};

template <class S>
struct Kernels {
  // u += bias (per column), g = activation(u).
  void (*activation)(Activation kind, std::int64_t rows, std::int64_t cols, S* u, const S* bias,
                     S* g);
  // dg becomes du = dg * activation'(u); dbias += column sums of du; g = activation(u) again.
  void (*activation_backward)(Activation kind, std::int64_t rows, std::int64_t cols, const S* u,
                              S* dg, S* dbias, S* g);
  // x = dropout(x + bias) + residual; x becomes (x - mean) * rstd; y = x * gamma + beta.
  void (*norm)(std::int64_t rows, std::int64_t cols, const NormInput<S>& input, S* x, S* y,
               S* rstd);
  // y = x * gamma + beta, where x are the normalised rows that norm left.
  void (*norm_output)(std::int64_t rows, std::int64_t cols, const S* x, const S* gamma,
                      const S* beta, S* y);
  // dresidual = gradient at the norm's input; ddense = the same through the dropout (may equal
  // dresidual if there is no mask). sums[3 * cols] += dgamma, dbeta, column sums of ddense.
  void (*norm_backward)(std::int64_t rows, std::int64_t cols, const NormOutput<S>& output,
                        S* dresidual, S* ddense, S* sums);
  // scores *= factor, then softmax over each row, in place; dropped = dropout(scores) (may equal
  // scores if there is no mask).
  void (*softmax)(std::int64_t rows, std::int64_t cols, S factor, S* scores,
                  const std::uint8_t* mask, S scale, S* dropped);
  // dp (gradient at the dropped probabilities) becomes the gradient at the unscaled scores.
  void (*softmax_backward)(std::int64_t rows, std::int64_t cols, S factor, const S* p,
                           const std::uint8_t* mask, S scale, S* dp);
  void (*apply_mask)(std::int64_t count, const std::uint8_t* mask, S scale, const S* x, S* y);
  void (*add_bias)(std::int64_t rows, std::int64_t cols, S* x, const S* bias);
  // sums[cols] += column sums of x.
  void (*column_sums)(std::int64_t rows, std::int64_t cols, const S* x, S* sums);
  void (*add)(std::int64_t count, const S* x, S* sum);
  void (*multiply)(std::int64_t count, const S* x, S* product);  // product *= x
  // Turns the pairs (x[i], x[half + i]) of each head [2 half] by an angle: cosines [half] and sines
  // [half] times sign.
  void (*rotate)(std::int64_t heads, std::int64_t half, const float* cosines, const float* sines,
                 S sign, S* x);
};

// A step's values for a kernel. step/optimizer.cc computes them once per step, in double: 1 - 0.999
// in float has an error of 1.3e-5 of its value, which every update then has half of.
struct AdamStep {
  float keep;                        // factor of a parameter: 1 - learning rate * weight decay
  float rate;                        // of m / sqrt(v): optimizer.cc has the formulas
  float beta1, beta2, rest1, rest2;  // rest: 1 - beta
  float epsilon;
  float sqrt_bias_correction2;  // sqrt(1 - beta2^t)
  float gradient_scale;         // the clipping factor
};

struct SgdStep {
  float learning_rate, weight_decay, momentum;
  float keep, rest;  // factors of the previous momentum and of the gradient
  bool nesterov;
  float gradient_scale;
};

struct LionStep {
  float learning_rate, beta1, beta2, rest1, rest2;
  float keep;  // as in AdamStep
  float gradient_scale;
};

struct OptimizerKernels {
  // AdamW as torch.optim.AdamW;
  void (*adamw)(std::int64_t count, const AdamStep& step, const float* gradient, float* parameter,
                float* m, float* v);
  // m: null without momentum.
  void (*sgd)(std::int64_t count, const SgdStep& step, const float* gradient, float* parameter,
              float* m);
  void (*lion)(std::int64_t count, const LionStep& step, const float* gradient, float* parameter,
               float* m);
  // Adds the squares of scale * x to sums[count], and returns their sum.
  double (*add_squares)(std::int64_t count, float scale, const float* x, double* sums);
  // The sum of the squares of x * scale * scales[i].
  double (*sum_scaled_squares)(std::int64_t count, float scale, const float* scales,
                               const float* x);
  // parameter = parameter * keep - x * scale * scales[i].
  void (*scaled_step)(std::int64_t count, float keep, float scale, const float* scales,
                      const float* x, float* parameter);
  double (*sum_squares)(std::int64_t count, const float* x);
  // mask[i] = 1 with probability threshold / 65536 for i < count: Philox4x32-10 at counters
  // (i / 8, stream), 16 bits for each element.
  void (*dropout_mask)(std::int64_t count, std::uint32_t threshold, const std::uint32_t key[2],
                       const std::uint32_t stream[3], std::uint8_t* mask);
};

struct RoundingKernels {
  // Rounds as to_bf16() of bf16.h; the second function keeps the results as floats.
  void (*to_bf16)(std::int64_t count, const float* x, std::uint16_t* rounded);
  void (*round_to_bf16)(std::int64_t count, const float* x, float* rounded);
};

template <class S>
const Kernels<S>& kernels();
template <>
const Kernels<float>& kernels<float>();
template <>
const Kernels<double>& kernels<double>();
const OptimizerKernels& optimizer_kernels();
const RoundingKernels& rounding_kernels();

// "x86-64-v4", "x86-64-v3", "x86-64" or, on arm64, "armv8-a".
const char* kernel_level();

}  // namespace dtl::trainer
