// Two implementations: by the instruction of SSE4.2 or of Armv8's CRC extension, and by a table for
// machines without it. Tests compare them.
#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace dtl {
namespace {

// Castagnoli's 0x1EDC6F41 with its bits reversed: the lowest bit of each byte comes first.
constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? kReversedPolynomial : 0);
    }
    table[byte] = remainder;
  }
  return table;
}

constexpr auto kTable = make_table();

#if defined(__x86_64__)
#define DTL_CRC_TARGET "sse4.2"
#define DTL_CRC_OF_WORD _mm_crc32_u64
#define DTL_CRC_OF_BYTE _mm_crc32_u8
using Crc = std::uint64_t;  // the type of the instruction for 8 bytes
bool cpu_has_instruction() {
  return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
#define DTL_CRC_TARGET "+crc"
#define DTL_CRC_OF_WORD __crc32cd
#define DTL_CRC_OF_BYTE __crc32cb
using Crc = std::uint32_t;
bool cpu_has_instruction() {
  static const bool has = (::getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
  return has;
}
#endif

#if defined(DTL_CRC_TARGET)
// Only this function is compiled for the instruction; it runs if the CPU supports it.
__attribute__((target(DTL_CRC_TARGET))) std::uint32_t crc32c_by_instruction(std::string_view bytes,
                                                                            std::uint32_t before) {
  Crc crc = ~before;
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    crc = DTL_CRC_OF_WORD(crc, word);
    bytes.remove_prefix(8);
  }
  auto low = static_cast<std::uint32_t>(crc);
  for (const char c : bytes) low = DTL_CRC_OF_BYTE(low, static_cast<unsigned char>(c));
  return ~low;
}
#endif

}  // namespace

// A CRC begins and ends inverted. So `before` is inverted first, and the CRC continues as if all
// bytes came in one piece.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (const char c : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#if defined(DTL_CRC_TARGET)
  if (cpu_has_instruction()) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace dtl
