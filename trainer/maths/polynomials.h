#pragma once
// exp and erf of four floats at a time, by polynomials: for CPUs whose glibc has no vector
// functions. Pure; errors are at most 2 ULP of the result (the tests look for more), within the 4
// ULP of glibc's libmvec. Do not compile with -ffast-math, which would change the order of
// operations that this depends on. Needs the rounding mode to nearest.

#include <cstdint>

namespace dtl::trainer {

struct Polynomials {
  using Floats __attribute__((vector_size(16))) = float;
  using Words __attribute__((vector_size(16))) = std::int32_t;

  // e^x = 2^n e^r with a whole n and |r| <= ln(2) / 2. 0 below -104, infinity above 88.73, NaN for
  // NaN; results may be denormal.
  static Floats exp(Floats x) {
    x = x < kLeast ? kLeast + Floats{} : x;
    x = x > kLargest ? kLargest + Floats{} : x;
    // Adding 1.5 * 2^23 rounds to whole numbers, which are then the lowest bits.
    const Floats shifted = x * kLog2E + kShift;
    const Floats n = shifted - kShift;
    const Floats r = (x - n * kLn2High) - n * kLn2Low;
    // Minimax for (e^r - 1 - r) / r^2: relative error of e^r below 4e-9.
    Floats p = 1.3813144760e-3F * r + 8.3694187925e-3F;
    p = p * r + 4.1668456048e-2F;
    p = p * r + 1.6666515171e-1F;
    p = p * r + 4.9999994040e-1F;
    p = r * r * p + r + 1.0F;
    // 2^n in two factors, because n may be less or more than an exponent can be.
    const Words whole = bits(shifted) - kShiftBits;
    const Words half = whole >> 1;
    return p * power_of_two(half) * power_of_two(whole - half);
  }

  // erf(x) = x + x P(x^2) near 0, else 1 - e^-q(|x|) with the sign of x; 1 from 3.92 on.
  static Floats erf(Floats x) {
    const Words sign = bits(x) & INT32_MIN;
    Floats size = floats(bits(x) ^ sign);
    const Floats square = x * x;
    // Minimax for erf(x) / x - 1 up to 0.9375: relative error of erf below 6e-10.
    Floats p = 8.26750329e-5F * square - 8.11808743e-4F;
    p = p * square + 5.1988312e-3F;
    p = p * square - 2.68584974e-2F;
    p = p * square + 1.12836793e-1F;
    p = p * square - 3.76126319e-1F;
    p = p * square + 1.28379166e-1F;
    const Floats near = x * p + x;
    size = size > 4.0F ? 4.0F + Floats{} : size;
    // Minimax for -ln(erfc(x)) - x from 0.9375 to 3.93: error of erf below 2e-9.
    Floats q = -1.93900531e-4F * size + 3.02316179e-3F;
    q = q * size - 2.21466403e-2F;
    q = q * size + 1.03764296e-1F;
    q = q * size + 6.37373805e-1F;
    q = q * size + 1.27561286e-1F;
    q = q * size + 2.23503041e-4F;
    const Floats far = 1.0F - exp(-(q + size));
    // NaN is not less: the other branch keeps it.
    const Floats result = size < 0.9375F ? near : floats(bits(far) | sign);
    return result;
  }

 private:
  static constexpr float kLeast = -105.0F, kLargest = 89.5F;  // 0 and infinity from there on
  static constexpr float kLog2E = 1.44269504F, kShift = 12582912.0F;
  static constexpr std::int32_t kShiftBits = 0x4B400000;
  // ln(2); the first part has 9 bits, so that its products with n are exact.
  static constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;

  static Words bits(Floats x) { return reinterpret_cast<Words>(x); }
  static Floats floats(Words x) { return reinterpret_cast<Floats>(x); }
  static Floats power_of_two(Words n) { return floats((n + 127) << 23); }
};

}  // namespace dtl::trainer
