#pragma once
// Writer and Reader: the primitives of a frame's body, little-endian. They offer the same calls, so
// that one field table (fields.h) drives both. Every call names its field and its bound: the Writer
// refuses what the other side would refuse, the Reader checks before it allocates.
//   number  u8, u16, u32 or u64 by the variable's type      flag  u8, 0 or 1
//   real    f64, finite and not negative                    text  u32 length, bytes
//   list    u32 count, elements                             tail  a text that ends its message
//  bytes   like a text, but never shown to people as it is
// Nobody copies a tail's bytes: the Writer writes only the length, and the sender of the frame
// sends the bytes after it. The Reader gets them separately and moves them on. The launcher shows
// an agent's texts to people, so the Reader makes them printable (base/text.h), except bytes and
// tails. Errors: Writer throws Error(kUsage), Reader throws Error(kVersion); both name message and
// field.

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dtl {

class Writer {
 public:
  explicit Writer(const char* message) : message_(message) {}

  template <std::unsigned_integral T>
  void number(const char* field, T value, std::type_identity_t<T> most) {
    if (value > most) refuse(field, value, most);
    put(value, sizeof(T));
  }
  void flag(const char*, bool value) { put(value ? 1 : 0, 1); }
  void real(const char* field, double value);
  void text(const char* field, const std::string& value, std::size_t most_bytes);
  // Text for the kernel: arguments, paths, environment; no NUL inside.
  void c_text(const char* field, const std::string& value, std::size_t most_bytes);
  void bytes(const char* field, const std::string& value, std::size_t most_bytes) {
    text(field, value, most_bytes);
  }
  void tail(const char* field, const std::string& value, std::size_t most_bytes);
  // each(io, element) describes one element; least_bytes is its smallest encoded size.
  template <class T, class Each>
  void list(const char* field, const std::vector<T>& values, std::size_t most, std::size_t,
            Each each) {
    if (values.size() > most) refuse(field, values.size(), most);
    put(values.size(), 4);
    for (const T& value : values) each(*this, value);
  }

  const std::string& written() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  void put(std::uint64_t value, std::size_t width);
  [[noreturn]] void refuse(const char* field, std::uint64_t value, std::uint64_t most) const;
  const char* message_;
  std::string bytes_;
};

enum class Texts { kAsTheyAre, kMadePrintable };

class Reader {
 public:
  Reader(const char* message, std::string_view body, std::string tail = {},
         Texts texts = Texts::kAsTheyAre)
      : message_(message), bytes_(body), tail_(std::move(tail)), texts_(texts) {}

  template <std::unsigned_integral T>
  void number(const char* field, T& value, std::type_identity_t<T> most) {
    const std::uint64_t raw = get(field, sizeof(T));
    if (raw > most) refuse(field, raw, most);
    value = static_cast<T>(raw);
  }
  void flag(const char* field, bool& value);
  void real(const char* field, double& value);
  void text(const char* field, std::string& value, std::size_t most_bytes);
  void c_text(const char* field, std::string& value, std::size_t most_bytes);
  void bytes(const char* field, std::string& value, std::size_t most_bytes);
  void tail(const char* field, std::string& value, std::size_t most_bytes);
  template <class T, class Each>
  void list(const char* field, std::vector<T>& values, std::size_t most, std::size_t least_bytes,
            Each each) {
    const std::uint64_t count = get(field, 4);
    if (count > most) refuse(field, count, most);
    // Before the reserve(): a count alone must not cause an allocation.
    if (count * least_bytes > bytes_.size()) short_of_bytes(field);
    values.clear();
    values.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) each(*this, values.emplace_back());
  }

  void expect_end() const;  // throws when bytes are left over
  [[noreturn]] void refuse(const char* field, const std::string& reason) const;

 private:
  std::uint64_t get(const char* field, std::size_t width);
  [[noreturn]] void refuse(const char* field, std::uint64_t value, std::uint64_t most) const;
  [[noreturn]] void short_of_bytes(const char* field) const;
  const char* message_;
  std::string_view bytes_;
  std::string tail_;  // the bytes after them
  Texts texts_;
};

}  // namespace dtl
