// Compiled once per x86-64 level with -ffast-math, which lets the compiler use libmvec's vector exp
// and erf (4 ULP), or on arm64 those of vector_math_neon.cc. As in kernels_exact.cc, do not call
// inline functions of the standard library. Bits may differ between levels: ranks sum these
// gradients, and all of them get the same sum.

#include <math.h>

#include "trainer/maths/kernels_level.h"

#if defined(__aarch64__)
// Says that these have vector forms, as headers of glibc 2.38 and later do.
extern "C" __attribute__((simd("notinbranch"))) float expf(float) noexcept;
extern "C" __attribute__((simd("notinbranch"))) float erff(float) noexcept;
#endif

namespace dtl::trainer::DTL_LEVEL {
namespace {

// Wrappers by type: std::exp and std::erf are inline functions of the standard library.
inline float exponential(float x) {
  return ::expf(x);
}
inline double exponential(double x) {
  return ::exp(x);
}
inline float error_function(float x) {
  return ::erff(x);
}
inline double error_function(double x) {
  return ::erf(x);
}
inline float square_root(float x) {
  return __builtin_sqrtf(x);
}
inline double square_root(double x) {
  return __builtin_sqrt(x);
}

constexpr double kInvSqrt2 = 0.70710678118654752440;
constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kTanhScale = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kTanhCubic = 0.044715;                // gelu_new: 0.5x(1+tanh(s(x+c x^3)))

// tanh(x) = 1 - 2 / (e + 1) with e = exp(2x), and its slope. From 20 on tanh is 1 in both types.
// The bound keeps e finite: -ffast-math divides by a refined reciprocal, which gives NaN for
// infinity.
template <class S>
struct Tanh {
  S e, part;  // 2 / (e + 1)
  explicit Tanh(S x) : e(exponential(S(2) * (x < S(20) ? x : S(20)))), part(S(2) / (e + S(1))) {}
  S value() const { return S(1) - part; }
  // 1 - tanh^2 = 4 e / (e + 1)^2, which does not cancel in the tails.
  S slope() const { return e * part * part; }
};

// value(x) = x Phi(x), slope(x) = Phi(x) + x phi(x), with the standard normal distribution.
template <class S>
struct Gelu {
  static S value(S x) { return S(0.5) * x * (S(1) + error_function(x * S(kInvSqrt2))); }
  static S slope(S x) {
    return S(0.5) * (S(1) + error_function(x * S(kInvSqrt2))) +
           x * S(kInvSqrt2Pi) * exponential(S(-0.5) * x * x);
  }
};

template <class S>
struct GeluTanh {
  static S inner(S x) { return S(kTanhScale) * (x + S(kTanhCubic) * x * x * x); }
  static S value(S x) { return S(0.5) * x * (S(1) + Tanh<S>(inner(x)).value()); }
  static S slope(S x) {
    const Tanh<S> tanh(inner(x));
    const S inner_slope = S(kTanhScale) * (S(1) + S(3) * S(kTanhCubic) * x * x);
    return S(0.5) * (S(1) + tanh.value()) + S(0.5) * x * tanh.slope() * inner_slope;
  }
};

template <class S>
struct Relu {
  static S value(S x) { return x > S(0) ? x : S(0); }
  static S slope(S x) { return x > S(0) ? S(1) : S(0); }
};

// Instantiated for each function F, so that the loop has no branch and vectorises.
template <class S, class F>
void activation_rows(std::int64_t rows, std::int64_t cols, S* u, const S* bias, S* g) {
  for (std::int64_t r = 0; r < rows; ++r) {
    S* x = u + r * cols;
    S* y = g + r * cols;
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) {
      const S value = x[c] + bias[c];
      x[c] = value;
      y[c] = F::value(value);
    }
  }
}

template <class S>
void activation(Activation kind, std::int64_t rows, std::int64_t cols, S* u, const S* bias, S* g) {
  switch (kind) {
    case Activation::kGelu:
      return activation_rows<S, Gelu<S>>(rows, cols, u, bias, g);
    case Activation::kGeluTanh:
      return activation_rows<S, GeluTanh<S>>(rows, cols, u, bias, g);
    case Activation::kRelu:
      return activation_rows<S, Relu<S>>(rows, cols, u, bias, g);
  }
}

// Stores g too, to save backward a pass over u: the next product's gradient needs it.
template <class S, class F>
void slope_rows(std::int64_t rows, std::int64_t cols, const S* u, S* dg, S* dbias, S* g) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const S* x = u + r * cols;
    S* d = dg + r * cols;
    S* y = g + r * cols;
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) {
      y[c] = F::value(x[c]);
      const S value = d[c] * F::slope(x[c]);
      d[c] = value;
      dbias[c] += value;
    }
  }
}

template <class S>
void activation_backward(Activation kind, std::int64_t rows, std::int64_t cols, const S* u, S* dg,
                         S* dbias, S* g) {
  switch (kind) {
    case Activation::kGelu:
      return slope_rows<S, Gelu<S>>(rows, cols, u, dg, dbias, g);
    case Activation::kGeluTanh:
      return slope_rows<S, GeluTanh<S>>(rows, cols, u, dg, dbias, g);
    case Activation::kRelu:
      return slope_rows<S, Relu<S>>(rows, cols, u, dg, dbias, g);
  }
}

// The mask's 0 or 1 as a factor, which avoids a branch in the loop.
template <class S>
inline S kept(const std::uint8_t* mask, std::int64_t i, S scale) {
  return static_cast<S>(mask[i]) * scale;
}

// Row by row, so that all passes over a row hit the L1 cache.
template <class S>
void norm(std::int64_t rows, std::int64_t cols, const NormInput<S>& input, S* x, S* y, S* rstd) {
  const S *bias = input.bias, *residual = input.residual;
  const S *gamma = input.gamma, *beta = input.beta;
  const std::uint8_t* mask = input.mask;
  const S scale = input.scale, epsilon = input.epsilon;
  const S share = S(1) / static_cast<S>(cols);
  for (std::int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    if (bias) {
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) x[c] += bias[c];
    }
    if (mask) {
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) x[c] *= kept(mask, c, scale);
      mask += cols;
    }
    if (residual) {
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) x[c] += residual[c];
      residual += cols;
    }
    S sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < cols; ++c) sum += x[c];
    const S mean = sum * share;
    // Two passes: sum(x^2) - n mean^2 would cancel if the mean is large.
    S squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < cols; ++c) squares += (x[c] - mean) * (x[c] - mean);
    const S inverse = S(1) / square_root(squares * share + epsilon);
    rstd[r] = inverse;
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) {
      const S normed = (x[c] - mean) * inverse;
      x[c] = normed;
      y[c] = normed * gamma[c] + beta[c];
    }
  }
}

template <class S>
void norm_output(std::int64_t rows, std::int64_t cols, const S* x, const S* gamma, const S* beta,
                 S* y) {
  for (std::int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) y[c] = x[c] * gamma[c] + beta[c];
  }
}

// With d = dy * gamma: dx = rstd * (d - mean(d) - normed * mean(d * normed)).
template <class S>
void norm_backward(std::int64_t rows, std::int64_t cols, const NormOutput<S>& output, S* dresidual,
                   S* ddense, S* sums) {
  const S *dy = output.dy, *normed = output.normed, *rstd = output.rstd, *gamma = output.gamma;
  const std::uint8_t* mask = output.mask;
  const S scale = output.scale;
  const S share = S(1) / static_cast<S>(cols);
  // sums is [3, cols]: for gamma, beta and bias. Results are added.
  S* dgamma = sums;
  S* dbeta = sums + cols;
  S* dbias = sums + 2 * cols;
  for (std::int64_t r = 0; r < rows; ++r) {
    const S* d = dy + r * cols;
    const S* n = normed + r * cols;
    S* dx = dresidual + r * cols;
    S* dd = ddense + r * cols;
    S sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
    for (std::int64_t c = 0; c < cols; ++c) {
      const S dn = d[c] * gamma[c];
      sum += dn;
      dot += dn * n[c];
      dgamma[c] += d[c] * n[c];
      dbeta[c] += d[c];
    }
    const S mean = sum * share, slope = dot * share, inverse = rstd[r];
    if (mask) {
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) {
        const S value = inverse * (d[c] * gamma[c] - mean - n[c] * slope);
        const S through = value * kept(mask, r * cols + c, scale);
        dx[c] = value;
        dd[c] = through;
        dbias[c] += through;
      }
    } else {
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) {
        const S value = inverse * (d[c] * gamma[c] - mean - n[c] * slope);
        dx[c] = value;
        dd[c] = value;
        dbias[c] += value;
      }
    }
  }
}

// p = exp(factor (s - max)) / sum, in place. The columns do not include padding (attention.cc).
template <class S>
void softmax(std::int64_t rows, std::int64_t cols, S factor, S* scores, const std::uint8_t* mask,
             S scale, S* dropped) {
  for (std::int64_t r = 0; r < rows; ++r) {
    S* s = scores + r * cols;
    // Subtract the maximum before exp(), so it never exceeds 1. factor is positive.
    S highest = s[0];
#pragma omp simd reduction(max : highest)
    for (std::int64_t c = 0; c < cols; ++c) highest = s[c] > highest ? s[c] : highest;
    S sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < cols; ++c) {
      s[c] = exponential((s[c] - highest) * factor);
      sum += s[c];
    }
    const S inverse = S(1) / sum;
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) s[c] *= inverse;
    if (mask) {
      S* out = dropped + r * cols;
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) out[c] = s[c] * kept(mask, r * cols + c, scale);
    }
  }
}

// With q the probabilities and d = dp * mask: d := factor * q * (d - sum(d q)).
template <class S>
void softmax_backward(std::int64_t rows, std::int64_t cols, S factor, const S* p,
                      const std::uint8_t* mask, S scale, S* dp) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const S* q = p + r * cols;
    S* d = dp + r * cols;
    if (mask) {
#pragma omp simd
      for (std::int64_t c = 0; c < cols; ++c) d[c] *= kept(mask, r * cols + c, scale);
    }
    S dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::int64_t c = 0; c < cols; ++c) dot += d[c] * q[c];
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) d[c] = factor * q[c] * (d[c] - dot);
  }
}

template <class S>
void apply_mask(std::int64_t count, const std::uint8_t* mask, S scale, const S* x, S* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * kept(mask, i, scale);
}

template <class S>
void add_bias(std::int64_t rows, std::int64_t cols, S* x, const S* bias) {
  for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) x[r * cols + c] += bias[c];
  }
}

// Sums are by column, but the loop goes row by row to read memory in order.
template <class S>
void column_sums(std::int64_t rows, std::int64_t cols, const S* x, S* sums) {
  for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) sums[c] += x[r * cols + c];
  }
}

template <class S>
void add(std::int64_t count, const S* x, S* sum) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) sum[i] += x[i];
}

template <class S>
void multiply(std::int64_t count, const S* x, S* product) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) product[i] *= x[i];
}

template <class S>
void rotate(std::int64_t heads, std::int64_t half, const float* cosines, const float* sines, S sign,
            S* x) {
  for (std::int64_t head = 0; head < heads; ++head, x += 2 * half) {
    S* other = x + half;
#pragma omp simd
    for (std::int64_t i = 0; i < half; ++i) {
      const S cosine = static_cast<S>(cosines[i]), sine = sign * static_cast<S>(sines[i]);
      const S first = x[i], second = other[i];
      x[i] = first * cosine - second * sine;
      other[i] = second * cosine + first * sine;
    }
  }
}

// In the order of Kernels' members (kernels.h).
template <class S>
constexpr Kernels<S> kTable = {activation<S>,
                               activation_backward<S>,
                               norm<S>,
                               norm_output<S>,
                               norm_backward<S>,
                               softmax<S>,
                               softmax_backward<S>,
                               apply_mask<S>,
                               add_bias<S>,
                               column_sums<S>,
                               add<S>,
                               multiply<S>,
                               rotate<S>};

}  // namespace

extern const Kernels<float> kFloatKernels = kTable<float>;
extern const Kernels<double> kDoubleKernels = kTable<double>;

}  // namespace dtl::trainer::DTL_LEVEL
