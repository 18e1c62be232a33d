// The arithmetic of the collectives alone, on one core: every set of kernels that this CPU can run,
// side by side in each line, with every result verified.
// usage: kernels_bench [KERNELS]      only these kernels
//
//     GB/s = (bytes read + bytes written) / median time
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "ring/arithmetic/kernels.h"

namespace {

using Clock = std::chrono::steady_clock;
using dtl::ring::Kernels;
using dtl::ring::Operand;
using dtl::ring::Wire;

using Bytes = std::vector<std::byte>;
using Work = std::function<void(const Kernels&)>;

std::vector<const Kernels*> kernels;

// Small whole numbers: exact in every format, also in sums of eight.
double value_at(std::size_t k, std::size_t i) {
  return static_cast<double>((i * 7 + k * 3) % 13 % 5);
}

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void put_element(int dtype, Wire wire, std::byte* at, double value) {
  const auto bits = [](float f) {
    std::uint32_t u = 0;
    std::memcpy(&u, &f, sizeof u);
    return u;
  };
  if (dtype == DT_U8 || dtype == DT_I8) return put(at, static_cast<std::uint8_t>(value));
  if (dtype == DT_I32) return put(at, static_cast<std::int32_t>(value));
  if (dtype == DT_I64) return put(at, static_cast<std::int64_t>(value));
  if (dtype == DT_F64) return put(at, value);
  if (dtype == DT_BF16 || wire == Wire::kBf16) {
    return put(at, static_cast<std::uint16_t>(bits(static_cast<float>(value)) >> 16));
  }
  if (dtype == DT_F16 || wire == Wire::kF16) {
    // A float's exponent minus 112; zero stays zero.
    const std::uint32_t b = bits(static_cast<float>(value));
    return put(at, static_cast<std::uint16_t>(b == 0 ? 0 : (b >> 13) - (112u << 10)));
  }
  put(at, static_cast<float>(value));
}

Bytes values(int dtype, Wire wire, std::size_t count, std::size_t k) {
  const std::size_t bytes = dtl::ring::wire_bytes(dtype, wire);
  Bytes data(count * bytes);
  for (std::size_t i = 0; i < count; ++i) {
    put_element(dtype, wire, data.data() + i * bytes, value_at(k, i));
  }
  return data;
}

Bytes expected(int dtype, int op, std::size_t count, std::size_t n) {
  const std::size_t bytes = dtl::ring::element_bytes(dtype);
  Bytes data(count * bytes);
  for (std::size_t i = 0; i < count; ++i) {
    double result = value_at(0, i);
    for (std::size_t k = 1; k < n; ++k) {
      const double next = value_at(k, i);
      result = op == DT_MAX    ? std::max(result, next)
               : op == DT_PROD ? result * next
                               : result + next;
    }
    put_element(dtype, Wire::kExact, data.data() + i * bytes, result);
  }
  return data;
}

void verify(const Bytes& got, const Bytes& wanted, const std::string& what) {
  if (got == wanted) return;
  std::fprintf(stderr, "kernels_bench: wrong result of %s\n", what.c_str());
  std::exit(1);
}

double median_seconds(const std::function<void()>& work, std::size_t bytes) {
  const std::size_t inner = std::max<std::size_t>(1, (std::size_t{8} << 20) / bytes);
  std::vector<double> times;
  for (int i = -2; i < 9; ++i) {  // two warm-up rounds
    const auto start = Clock::now();
    for (std::size_t k = 0; k < inner; ++k) work();
    const std::chrono::duration<double> time = Clock::now() - start;
    if (i >= 0) times.push_back(time.count() / static_cast<double>(inner));
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}

void print_line(const std::string& what, std::size_t moved, const Work& work) {
  std::printf("%-30s", what.c_str());
  for (const Kernels* set : kernels) {
    const double seconds = median_seconds([&] { work(*set); }, moved);
    std::printf(" %8.1f", static_cast<double>(moved) / seconds / 1e9);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// n operands: the first in format `dtype`, the others in format `wire`.
void measure_combine(int dtype, int op, Wire wire, std::size_t n, std::size_t bytes) {
  const std::size_t count = bytes / dtl::ring::element_bytes(dtype);
  std::vector<Bytes> data;
  std::vector<Operand> operands;
  Bytes out(bytes);
  std::size_t moved = bytes;
  for (std::size_t k = 0; k < n; ++k) {
    const Wire format = k == 0 ? Wire::kExact : wire;
    data.push_back(values(dtype, format, count, k));
    operands.push_back({data.back().data(), format});
    moved += data.back().size();
  }
  const Bytes wanted = expected(dtype, op, count, n);
  const char* const format = wire == Wire::kBf16 ? "+bf16" : wire == Wire::kF16 ? "+f16" : "";
  const std::string what = std::string(dtl::ring::dtype_name(dtype)) + format + " " +
                           dtl::ring::op_name(op) + " of " + std::to_string(n);
  const Work work = [&](const Kernels& set) {
    dtl::ring::combine_with(set, dtype, op, out.data(), operands.data(), n, count);
  };
  for (const Kernels* set : kernels) {
    std::fill(out.begin(), out.end(), std::byte{0xee});
    work(*set);
    verify(out, wanted, set->name + (" " + what));
  }
  print_line(what, moved, work);
}

void measure_formats(Wire wire, const std::string& name, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float);
  const Bytes exact = values(DT_F32, Wire::kExact, count, 0),
              small = values(DT_F32, wire, count, 0);
  Bytes narrow(small.size()), wide(bytes), rounded = exact;
  const auto floats = [](auto& data) { return reinterpret_cast<float*>(data.data()); };
  const auto* const in = reinterpret_cast<const float*>(exact.data());
  const Work to = [&](const Kernels& k) { to_wire_with(k, wire, narrow.data(), in, count); };
  const Work from = [&](const Kernels& k) {
    from_wire_with(k, wire, floats(wide), small.data(), count);
  };
  const Work round = [&](const Kernels& k) { round_to_wire_with(k, wire, floats(rounded), count); };
  for (const Kernels* set : kernels) {
    to(*set), from(*set), round(*set);
    verify(narrow, small, set->name + (" to_wire " + name));
    verify(wide, exact, set->name + (" from_wire " + name));
    verify(rounded, exact, set->name + (" round_to_wire " + name));
  }
  print_line("to_wire " + name, bytes + bytes / 2, to);
  print_line("from_wire " + name, bytes + bytes / 2, from);
  print_line("round_to_wire " + name, 2 * bytes, round);
}

void measure_divide(int dtype, std::size_t bytes) {
  const std::size_t count = bytes / dtl::ring::element_bytes(dtype);
  const Bytes once = values(dtype, Wire::kExact, count, 0);
  for (const Kernels* set : kernels) {
    std::vector<Operand> twice(2, Operand{once.data(), Wire::kExact});
    Bytes sum(bytes);
    combine_with(*set, dtype, DT_SUM, sum.data(), twice.data(), 2, count);
    divide_with(*set, dtype, sum.data(), count, 2);
    verify(sum, once, set->name + std::string(" divide"));
  }
  Bytes data = once;
  print_line(std::string(dtl::ring::dtype_name(dtype)) + " divide", 2 * bytes,
             [&](const Kernels& set) { divide_with(set, dtype, data.data(), count, 1); });
}

void measure_all(std::size_t bytes) {
  std::printf("\nbuffers of %zu KiB, GB/s         ", bytes >> 10);
  for (const Kernels* set : kernels) std::printf(" %8s", set->name);
  std::printf("\n");
  const Bytes from(bytes);
  Bytes to(bytes);
  print_line("memcpy", 2 * bytes,
             [&](const Kernels&) { std::memcpy(to.data(), from.data(), bytes); });
  for (const std::size_t n : {2, 3, 4, 8}) measure_combine(DT_F32, DT_SUM, Wire::kExact, n, bytes);
  for (const Wire wire : {Wire::kBf16, Wire::kF16}) {
    for (const std::size_t n : {2, 4, 8}) measure_combine(DT_F32, DT_SUM, wire, n, bytes);
    measure_formats(wire, wire == Wire::kBf16 ? "bf16" : "f16", bytes);
  }
  for (const int dtype : {DT_BF16, DT_F16, DT_F64, DT_U8, DT_I32, DT_I64}) {
    for (const std::size_t n : {2, 8}) measure_combine(dtype, DT_SUM, Wire::kExact, n, bytes);
  }
  for (const int dtype : {DT_F32, DT_F64, DT_BF16, DT_U8, DT_I8, DT_I32, DT_I64}) {
    measure_combine(dtype, DT_MAX, Wire::kExact, 2, bytes);
  }
  measure_combine(DT_F32, DT_PROD, Wire::kExact, 2, bytes);
  measure_combine(DT_I64, DT_PROD, Wire::kExact, 2, bytes);
  for (const int dtype : {DT_F32, DT_F64, DT_BF16, DT_I32, DT_I64}) measure_divide(dtype, bytes);
}

void print_machine() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) {
      std::printf("%s, one core", line.substr(line.find(':') + 2).c_str());
      break;
    }
  }
  std::printf("; commit ");
  std::fflush(stdout);
  if (std::system("git describe --always --dirty 2>/dev/null || echo unknown") != 0) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
    const Kernels* set = dtl::ring::kernels_named(name);
    if (set != nullptr && (argc < 2 || std::strcmp(argv[1], name) == 0)) kernels.push_back(set);
  }
  if (argc > 2 || kernels.empty()) {
    std::fprintf(stderr, "usage: kernels_bench [scalar|avx2|avx512|neon]\n");
    return 64;
  }
  print_machine();
  measure_all(std::size_t{256} << 10);
  measure_all(std::size_t{64} << 20);
}
