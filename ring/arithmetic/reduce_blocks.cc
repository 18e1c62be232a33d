// Splits any number of operands, in any mixture of formats, into a few passes of
// ring/arithmetic/kernels.h over blocks that stay in the L1 cache. Each element is always combined
// in the order of the operands, so its bits do not depend on block sizes.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "ring/arithmetic/kernels.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dtl::ring {
namespace {

// Alignment of buffers for vector loops. GCC 12's AddressSanitizer aligns stack objects to at most
// half a cache line.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kAlignment = 32;
#else
constexpr std::size_t kAlignment = 64;
#endif

constexpr std::size_t kBlockBytes = 8192;  // two blocks and parts of a few operands fit in 32 KiB
constexpr std::size_t kBlockFloats = kBlockBytes / sizeof(float);

// Rounds to nearest, keeps denormals and disables traps, whatever the thread's mode is: the
// communication thread inherits it from a program that may have set flush-to-zero for speed.
class DefaultFloatMode {
 public:
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;
#if defined(__x86_64__)
  DefaultFloatMode() : mode_(_mm_getcsr()) {
    if (is_other()) _mm_setcsr(kDefault);
  }
  ~DefaultFloatMode() {
    if (is_other()) _mm_setcsr(mode_);
  }

 private:
  static constexpr unsigned kDefault = 0x1f80;
  static constexpr unsigned kSeen = 0x3f;  // sticky exception flags, not part of the mode
  [[nodiscard]] bool is_other() const {
    return (mode_ & ~kSeen) != kDefault;
  }
  unsigned mode_;
#elif defined(__aarch64__)
  DefaultFloatMode() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode_));
    if (mode_ != kDefault) set(kDefault);
  }
  ~DefaultFloatMode() {
    if (mode_ != kDefault) set(mode_);
  }

 private:
  static constexpr std::uint64_t kDefault = 0;  // exception flags are in another register, FPSR
  static void set(std::uint64_t mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
  }
  std::uint64_t mode_;
#else
  DefaultFloatMode() {}
#endif
};

// How many of `left` operands one pass takes: as many as a kernel supports.
std::size_t pass_size(std::size_t left) {
  return left >= 8 ? 8 : std::min<std::size_t>(left, 4);
}

// Calls function(start, length) for blocks of count elements.
template <class Function>
void for_blocks(std::size_t count, std::size_t block, const Function& function) {
  for (std::size_t start = 0; start < count; start += block) {
    function(start, std::min(block, count - start));
  }
}

// `length` elements of exact operands, from `start`. The intermediate result is the first operand
// of the next pass; only the last pass writes to out, which may be any of the operands.
void combine_block(Kernels::Combine kernel, std::size_t bytes, std::byte* out,
                   const Operand* operands, std::size_t n, std::size_t start, std::size_t length) {
  alignas(kAlignment) std::byte so_far[kBlockBytes];
  for (std::size_t done = 0; done < n;) {
    const void* in[8];
    std::size_t taken = 0;
    if (done > 0) in[taken++] = so_far;
    for (const auto size = pass_size(n - done + taken); taken < size; ++taken) {
      in[taken] = operands[done++].data + start * bytes;
    }
    kernel(done == n ? out + start * bytes : so_far, in, taken, length);
  }
}

void combine_exact(Kernels::Combine kernel, std::size_t bytes, std::byte* out,
                   const Operand* operands, std::size_t n, std::size_t count) {
  // A single pass needs no blocks.
  const std::size_t block = n == pass_size(n) ? count : kBlockBytes / bytes;
  for_blocks(count, block, [&](std::size_t start, std::size_t length) {
    combine_block(kernel, bytes, out, operands, n, start, length);
  });
}

// Combines blocks of float operands in several formats.
class Mixture {
 public:
  // For n >= 2 operands, all in `format`; kExact: each in its own.
  Mixture(const Kernels& kernels, Wire format, int op, const Operand* operands, std::size_t n)
      : kernels_(kernels), format_(format), op_(op), operands_(operands), n_(n) {
    // a op b has the same bits as b op a, and the first operand should be exact.
    is_swapped_ = format_of(0) != Wire::kExact && format_of(1) == Wire::kExact;
  }

  // Only the last pass writes to out. out: floats.
  void combine(void* out, std::size_t start, std::size_t length) {
    const void* so_far = memory(0, start);
    if (format_of(0) != Wire::kExact) {
      kernels_.format(format_of(0)).widen(so_far_, so_far, length);
      so_far = so_far_;
    }
    for (std::size_t done = 1, taken = 0; done < n_; done += taken) {
      taken = run(done);
      const void* in[8] = {so_far};
      for (std::size_t i = 0; i < taken; ++i) in[1 + i] = memory(done + i, start);
      pass(format_of(done), done + taken == n_ ? out : so_far_, in, taken, length);
      so_far = so_far_;
    }
  }

 private:
  [[nodiscard]] const Operand& operand(std::size_t i) const {
    return operands_[is_swapped_ && i < 2 ? 1 - i : i];
  }
  [[nodiscard]] Wire format_of(std::size_t i) const {
    return format_ != Wire::kExact ? format_ : operand(i).wire;
  }
  [[nodiscard]] const void* memory(std::size_t i, std::size_t start) const {
    return operand(i).data + start * wire_bytes(DT_F32, format_of(i));
  }

  // How many operands one pass takes, from `first`: those with the same format, as many as a kernel
  // supports.
  [[nodiscard]] std::size_t run(std::size_t first) const {
    const Wire format = format_of(first);
    std::size_t last = first + 1;
    while (last < n_ && format_of(last) == format) ++last;
    if (format == Wire::kExact) return pass_size(last - first + 1) - 1;
    return op_ == DT_SUM ? std::min<std::size_t>(last - first, 4) : 1;
  }

  // in[0] are floats, the `taken` others have the given format.
  void pass(Wire format, void* out, const void** in, std::size_t taken, std::size_t length) {
    if (format != Wire::kExact) {
      if (op_ == DT_SUM) return kernels_.format(format).add(out, in[0], in + 1, taken, length);
      kernels_.format(format).widen(widened_, in[1], length);
      in[1] = widened_;
    }
    kernels_.combine[DT_F32][op_](out, in, 1 + taken, length);
  }

  const Kernels& kernels_;
  Wire format_;
  int op_;
  const Operand* operands_;
  std::size_t n_;
  bool is_swapped_ = false;
  alignas(kAlignment) float so_far_[kBlockFloats];
  alignas(kAlignment) float widened_[kBlockFloats];
};

Wire half_format(int dtype) {
  return dtype == DT_BF16 ? Wire::kBf16 : dtype == DT_F16 ? Wire::kF16 : Wire::kExact;
}

void combine_mixture(const Kernels& kernels, int op, std::byte* out, const Operand* operands,
                     std::size_t n, std::size_t count) {
  Mixture mixture(kernels, Wire::kExact, op, operands, n);
  for_blocks(count, kBlockFloats, [&](std::size_t start, std::size_t length) {
    mixture.combine(out + start * sizeof(float), start, length);
  });
}

// Sums in float and rounds once at the end, which is more exact than rounding after each operand.
void combine_halves(const Kernels& kernels, Wire format, int op, std::byte* out,
                    const Operand* operands, std::size_t n, std::size_t count) {
  Mixture mixture(kernels, format, op, operands, n);
  alignas(kAlignment) float result[kBlockFloats];
  for_blocks(count, kBlockFloats, [&](std::size_t start, std::size_t length) {
    mixture.combine(result, start, length);
    kernels.format(format).narrow(out + start * 2, result, length);
  });
}

void combine_one(const Kernels& kernels, int dtype, std::byte* out, const Operand& operand,
                 std::size_t count) {
  if (operand.wire != Wire::kExact) {
    kernels.format(operand.wire).widen(out, operand.data, count);
  } else if (dtype == DT_BOOL) {
    // A boolean or-ed with itself: every byte except 0 becomes 1.
    const void* const twice[] = {operand.data, operand.data};
    kernels.combine[DT_BOOL][DT_BOR](out, twice, 2, count);
  } else if (out != operand.data) {
    std::memcpy(out, operand.data, count * element_bytes(dtype));
  }
}

}  // namespace

void combine_with(const Kernels& kernels, int dtype, int op, std::byte* out,
                  const Operand* operands, std::size_t n, std::size_t count) {
  assert(can_combine(dtype, op) && n > 0);
  if (count == 0) return;
  // divide() divides once, at the end.
  if (op == DT_AVG) op = DT_SUM;
  const auto is_exact = [](const Operand& operand) { return operand.wire == Wire::kExact; };
  const bool all_exact = std::all_of(operands, operands + n, is_exact);
  assert(all_exact || (dtype == DT_F32 && op == DT_SUM));
  const DefaultFloatMode mode;
  if (n == 1) {
    combine_one(kernels, dtype, out, operands[0], count);
  } else if (half_format(dtype) != Wire::kExact) {
    combine_halves(kernels, half_format(dtype), op, out, operands, n, count);
  } else if (!all_exact) {
    combine_mixture(kernels, op, out, operands, n, count);
  } else {
    combine_exact(kernels.combine[dtype][op], element_bytes(dtype), out, operands, n, count);
  }
}

void divide_with(const Kernels& kernels, int dtype, std::byte* data, std::size_t count,
                 std::uint64_t divisor) {
  assert(can_combine(dtype, DT_AVG) && divisor > 0);
  const DefaultFloatMode mode;
  if (half_format(dtype) == Wire::kExact) return kernels.divide[dtype](data, count, divisor);
  const Kernels::Format& format = kernels.format(half_format(dtype));
  alignas(kAlignment) float floats[kBlockFloats];
  for_blocks(count, kBlockFloats, [&](std::size_t start, std::size_t length) {
    format.widen(floats, data + start * 2, length);
    kernels.divide[DT_F32](floats, length, divisor);
    format.narrow(data + start * 2, floats, length);
  });
}

void to_wire_with(const Kernels& kernels, Wire wire, std::byte* out, const float* in,
                  std::size_t count) {
  const DefaultFloatMode mode;
  if (wire != Wire::kExact) return kernels.format(wire).narrow(out, in, count);
  if (count > 0) std::memcpy(out, in, count * sizeof(float));
}

void from_wire_with(const Kernels& kernels, Wire wire, float* out, const std::byte* in,
                    std::size_t count) {
  const DefaultFloatMode mode;
  if (wire != Wire::kExact) return kernels.format(wire).widen(out, in, count);
  if (count > 0) std::memcpy(out, in, count * sizeof(float));
}

void round_to_wire_with(const Kernels& kernels, Wire wire, float* values, std::size_t count) {
  const DefaultFloatMode mode;
  if (wire != Wire::kExact) kernels.format(wire).round(values, values, count);
}

}  // namespace dtl::ring
