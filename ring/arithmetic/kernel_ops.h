#pragma once
// The operation of the loops in ring/arithmetic/kernel_loops.h on one element. Branch-free, so that
// they become vector instructions. Only operations whose bits IEEE 754 defines, so that every
// instruction set gives the same. Internal linkage, for the reason given there.

#include <cstddef>
#include <cstdint>

namespace dtl::ring {
namespace {

// Element types: for arithmetic, and as stored in memory at any address, as frames do not align
// elements. may_alias, since buffers are bytes.
#define DTL_ELEMENT(Name, Type)                                 \
  struct Name {                                                 \
    using Value = Type;                                         \
    typedef Type Memory __attribute__((aligned(1), may_alias)); \
  }
DTL_ELEMENT(U8, std::uint8_t);
DTL_ELEMENT(I8, std::int8_t);
DTL_ELEMENT(U16, std::uint16_t);
DTL_ELEMENT(U32, std::uint32_t);
DTL_ELEMENT(I32, std::int32_t);
DTL_ELEMENT(U64, std::uint64_t);
DTL_ELEMENT(I64, std::int64_t);
DTL_ELEMENT(F32, float);
DTL_ELEMENT(F64, double);
#undef DTL_ELEMENT

inline std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
inline std::uint64_t bits_of(double value) {
  return __builtin_bit_cast(std::uint64_t, value);
}
inline float of_bits(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
inline double of_bits(std::uint64_t bits) {
  return __builtin_bit_cast(double, bits);
}

// The sum of two NaNs is either one, depending on the order that the compiler chose. Using a single
// NaN makes results equal on all ranks.
template <class T>
T canonical(T value) {
  return value != value ? static_cast<T>(__builtin_nan("")) : value;
}

// out = finish(apply(load(a), load(b)))
struct Plain {
  template <class T>
  static T load(T value) {
    return value;
  }
  template <class T>
  static T finish(T value) {
    return value;
  }
};

// For unsigned types, which wrap around.
struct Sum : Plain {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Prod : Plain {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct And : Plain {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or : Plain {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor : Plain {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Min : Plain {
  template <class T>
  static T apply(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max : Plain {
  template <class T>
  static T apply(T a, T b) {
    return b > a ? b : a;
  }
};

// Any nonzero byte means true; results are 0 or 1, so that their bits can be compared.
struct AsBool {
  static std::uint8_t load(std::uint8_t value) { return value != 0 ? 1 : 0; }
  static std::uint8_t finish(std::uint8_t value) { return value; }
};
struct BoolOr : AsBool, Or {
  using AsBool::finish, AsBool::load;
};
struct BoolAnd : AsBool, And {
  using AsBool::finish, AsBool::load;
};
struct BoolXor : AsBool, Xor {
  using AsBool::finish, AsBool::load;
};

struct FloatSum {
  template <class T>
  static T load(T value) {
    return value;
  }
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
  template <class T>
  static T finish(T value) {
    return canonical(value);
  }
};
struct FloatProd : FloatSum {
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};

// -0 is less than +0, so that the order of operands does not matter. For equal operands each
// comparison gives the other one: "and" of their bits is the larger zero, "or" the smaller one.
struct FloatMax : FloatSum {
  template <class T>
  static T apply(T a, T b) {
    const T larger = of_bits(bits_of(a > b ? a : b) & bits_of(b > a ? b : a));
    return __builtin_isunordered(a, b) ? static_cast<T>(__builtin_nan("")) : larger;
  }
};
struct FloatMin : FloatSum {
  template <class T>
  static T apply(T a, T b) {
    const T smaller = of_bits(bits_of(a < b ? a : b) | bits_of(b < a ? b : a));
    return __builtin_isunordered(a, b) ? static_cast<T>(__builtin_nan("")) : smaller;
  }
};

// The upper half of a float. Rounding adds just under half of the last place, and one more if that
// place is odd: ties go to even. NaN is handled separately, as the addition could turn it into
// infinity or zero.
struct Bf16 {
  static float widen(std::uint16_t half) { return of_bits(std::uint32_t{half} << 16); }
  static std::uint16_t narrow(float value) {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    const std::uint32_t quiet_nan = bits | 0x400000;
    return static_cast<std::uint16_t>((value != value ? quiet_nan : rounded) >> 16);
  }
};

// With masks: for longer chains of conditions the compiler makes jumps.
inline std::uint32_t choose(bool is_first, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t mask = 0 - std::uint32_t{is_first};
  return (first & mask) | (second & ~mask);
}

// IEEE binary16: 1 + 5 + 10 bits. Gives the same bits as x86's F16C.
struct F16 {
  static float widen(std::uint16_t half) {
    const std::uint32_t sign = (std::uint32_t{half} & 0x8000) << 16;
    const std::uint32_t rest = std::uint32_t{half} & 0x7fff;
    const std::uint32_t normal = (rest << 13) + ((127 - 15) << 23);
    // An exact product, and never a denormal float.
    const float product = static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24f;
    const std::uint32_t finite = choose(rest < 0x400, bits_of(product), normal);
    const std::uint32_t quiet = choose(rest > 0x7c00, 0x400000, 0);
    return of_bits(sign | choose(rest < 0x7c00, finite, 0x7f800000 | rest << 13 | quiet));
  }

  static std::uint16_t narrow(float value) {
    const std::uint32_t sign = bits_of(value) >> 16 & 0x8000;
    const std::uint32_t rest = bits_of(value) & 0x7fffffff;
    const std::uint32_t normal = (rest - ((127 - 15) << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
    // Near 0.5 floats are as far apart as binary16's denormals, so the sum rounds to one.
    const std::uint32_t denormal = bits_of(of_bits(rest) + 0.5f) - bits_of(0.5f);
    const std::uint32_t finite = choose(rest < 0x38800000, denormal, normal);  // 2^-14
    const std::uint32_t number = choose(rest < 0x477ff000, finite, 0x7c00);    // 65,520
    const std::uint32_t nan = 0x7e00 | (rest >> 13 & 0x3ff);
    return static_cast<std::uint16_t>(sign | choose(rest > 0x7f800000, nan, number));
  }
};

}  // namespace
}  // namespace dtl::ring
