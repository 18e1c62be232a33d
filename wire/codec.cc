// Bytes of single fields. fields.h has the widths and order of fields; nothing here knows a
// message. A Reader's input is untrusted: it compares each length with the bytes that are left
// before it allocates.
#include "wire/codec.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace dtl {

// Little-endian on every machine, the lowest byte first.
void Writer::put(std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    bytes_.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
}

void Writer::real(const char* field, double value) {
  if (!std::isfinite(value) || value < 0) refuse(field, 0, 0);
  put(std::bit_cast<std::uint64_t>(value), 8);
}

void Writer::text(const char* field, const std::string& value, std::size_t most_bytes) {
  if (value.size() > most_bytes) refuse(field, value.size(), most_bytes);
  put(value.size(), 4);
  bytes_ += value;
}

void Writer::c_text(const char* field, const std::string& value, std::size_t most_bytes) {
  if (value.find('\0') != std::string::npos) {
    throw Error(Exit::kUsage, fmt::format("cannot send {}", message_),
                fmt::format("{} has a NUL byte inside", field));
  }
  text(field, value, most_bytes);
}

// Only its length: the bytes travel behind the body, so that large output is not copied into it.
void Writer::tail(const char* field, const std::string& value, std::size_t most_bytes) {
  if (value.size() > most_bytes) refuse(field, value.size(), most_bytes);
  put(value.size(), 4);
}

void Writer::refuse(const char* field, std::uint64_t value, std::uint64_t most) const {
  throw Error(Exit::kUsage, fmt::format("cannot send {}", message_),
              fmt::format("{} is {}, the limit is {}", field, value, most));
}

std::uint64_t Reader::get(const char* field, std::size_t width) {
  if (bytes_.size() < width) short_of_bytes(field);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    // Through unsigned char: a negative char would set all higher bits.
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
  }
  bytes_.remove_prefix(width);
  return value;
}

void Reader::flag(const char* field, bool& value) {
  const std::uint64_t raw = get(field, 1);
  // One way to write each value; other bytes are a fault of the sender.
  if (raw > 1) refuse(field, raw, 1);
  value = raw == 1;
}

void Reader::real(const char* field, double& value) {
  value = std::bit_cast<double>(get(field, 8));
  if (!std::isfinite(value) || value < 0) refuse(field, "is not a finite number (0 or more)");
}

void Reader::bytes(const char* field, std::string& value, std::size_t most_bytes) {
  const std::uint64_t size = get(field, 4);
  if (size > most_bytes) refuse(field, size, most_bytes);
  if (size > bytes_.size()) short_of_bytes(field);
  value.assign(bytes_.substr(0, size));
  bytes_.remove_prefix(size);
}

void Reader::text(const char* field, std::string& value, std::size_t most_bytes) {
  // The limit applies to the received bytes; the printable text may be longer.
  bytes(field, value, most_bytes);
  if (texts_ == Texts::kMadePrintable) value = printable(value);
}

void Reader::c_text(const char* field, std::string& value, std::size_t most_bytes) {
  bytes(field, value, most_bytes);
  if (texts_ == Texts::kMadePrintable) value = printable(value);
  if (value.find('\0') != std::string::npos) refuse(field, "has a NUL byte inside");
}

void Reader::tail(const char* field, std::string& value, std::size_t most_bytes) {
  const std::uint64_t size = get(field, 4);
  if (size > most_bytes) refuse(field, size, most_bytes);
  if (size > tail_.size()) short_of_bytes(field);
  // Moves the string itself, cut to its size, so its bytes are not copied. The remainder is usually
  // empty.
  value = std::exchange(tail_, tail_.substr(size));
  value.resize(size);
}

void Reader::expect_end() const {
  const std::size_t left = bytes_.size() + tail_.size();
  if (left > 0) refuse("body", fmt::format("has {} bytes too many", left));
}

void Reader::refuse(const char* field, const std::string& reason) const {
  throw Error(Exit::kVersion, fmt::format("malformed {} message", message_),
              fmt::format("{} {}", field, reason));
}

void Reader::refuse(const char* field, std::uint64_t value, std::uint64_t most) const {
  refuse(field, fmt::format("is {}, the limit is {}", value, most));
}

void Reader::short_of_bytes(const char* field) const {
  refuse(field, "goes beyond the end of the frame");
}

}  // namespace dtl
