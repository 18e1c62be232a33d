#include "trainer/pieces/base64.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace dtl::trainer {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kGroupBytes = 3, kGroupDigits = 4;  // 24 bits

constexpr std::array<std::int8_t, 256> digit_values() {
  std::array<std::int8_t, 256> values{};
  for (std::int8_t& value : values) value = -1;
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}

constexpr std::array<std::int8_t, 256> kValues = digit_values();

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + kGroupBytes - 1) / kGroupBytes * kGroupDigits);
  for (std::size_t at = 0; at < bytes.size(); at += kGroupBytes) {
    const std::size_t count = std::min(kGroupBytes, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < kGroupBytes; ++i) {
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < kGroupDigits; ++i) {
      text.push_back(i <= count ? kDigits[group >> (18 - 6 * i) & 63] : '=');
    }
  }
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % kGroupDigits != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / kGroupDigits * kGroupBytes);
  for (std::size_t at = 0; at < text.size(); at += kGroupDigits) {
    const std::size_t empty = at + kGroupDigits == text.size() ? padding : 0;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < kGroupDigits; ++i) {
      const std::int8_t value =
          i < kGroupDigits - empty ? kValues[static_cast<unsigned char>(text[at + i])] : 0;
      if (value < 0) return std::nullopt;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    // Bits beyond the last byte are zero.
    if ((group & ((1U << 8 * empty) - 1)) != 0) return std::nullopt;
    for (std::size_t i = 0; i < kGroupBytes - empty; ++i) {
      bytes.push_back(static_cast<char>(group >> (16 - 8 * i)));
    }
  }
  return bytes;
}

}  // namespace dtl::trainer
