#include "ring/reduce.h"

#include "ring/dtring.h"

// One clone per instruction set, chosen when the library is loaded. The resolvers run before a
// sanitizer is ready, so sanitized builds take the plain code.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DTL_EVERY_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DTL_EVERY_CPU
#endif

namespace dtl::ring {
namespace {

// Two loops, because the compiler's overlap test would send out == left down the scalar path.
// Integers are added unsigned, where wrapping around is defined.
#define DTL_DEFINE_SUM(T)                                                                        \
  DTL_EVERY_CPU void accumulate(T* __restrict out, const T* __restrict right, std::size_t n) {   \
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<T>(out[i] + right[i]);              \
  }                                                                                              \
  DTL_EVERY_CPU void sum(T* __restrict out, const T* __restrict left, const T* __restrict right, \
                         std::size_t n) {                                                        \
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<T>(left[i] + right[i]);             \
  }

DTL_DEFINE_SUM(std::uint8_t)
DTL_DEFINE_SUM(std::uint32_t)
DTL_DEFINE_SUM(std::uint64_t)
DTL_DEFINE_SUM(float)
DTL_DEFINE_SUM(double)
#undef DTL_DEFINE_SUM

template <typename T>
void add_as(std::byte* out, const std::byte* left, const std::byte* right, std::size_t count) {
  auto* o = reinterpret_cast<T*>(out);
  const auto* l = reinterpret_cast<const T*>(left);
  const auto* r = reinterpret_cast<const T*>(right);
  if (out == left) {
    accumulate(o, r, count);
  } else {
    sum(o, l, r, count);
  }
}

}  // namespace

std::size_t element_bytes(int dtype) {
  switch (dtype) {
    case DT_U8:
      return 1;
    case DT_I32:
    case DT_F32:
      return 4;
    case DT_I64:
    case DT_F64:
      return 8;
    default:
      return 0;
  }
}

const char* dtype_name(int dtype) {
  switch (dtype) {
    case DT_U8:
      return "u8";
    case DT_I32:
      return "i32";
    case DT_I64:
      return "i64";
    case DT_F32:
      return "f32";
    case DT_F64:
      return "f64";
    default:
      return "unknown type";
  }
}

void add(int dtype, std::byte* out, const std::byte* left, const std::byte* right,
         std::size_t count) {
  switch (dtype) {
    case DT_U8:
      return add_as<std::uint8_t>(out, left, right, count);
    case DT_I32:
      return add_as<std::uint32_t>(out, left, right, count);
    case DT_I64:
      return add_as<std::uint64_t>(out, left, right, count);
    case DT_F32:
      return add_as<float>(out, left, right, count);
    case DT_F64:
      return add_as<double>(out, left, right, count);
    default:
      return;
  }
}

}  // namespace dtl::ring
