#pragma once
// Replaces every text of any message with one that contains terminal escapes. The message's field
// table tells where texts are.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "wire/fields.h"

namespace dtl {

inline const std::string kHostileText =
    "bad\x1b[2J\x07\x9b\xc2\x9b\xe2\x80\xae\nforged: line\r\nforged: too";

// Characters that must not reach a terminal.
inline bool is_hostile(std::string_view text) {
  constexpr std::string_view kSigns[] = {"\x1b", "\x07", "\x9b", "\r", "\xe2\x80\xae", "\nforged"};
  for (const std::string_view sign : kSigns) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

// Calls Visit(field, text) for each text of a message, but not for bytes and tails. Sets numbers
// named "rank" to `rank`.
template <class Visit>
class TextWalk {
 public:
  TextWalk(std::uint32_t rank, Visit visit) : rank_(rank), visit_(visit) {}

  template <class T>
  void number(const char* field, T& value, std::uint64_t) {
    if (std::string_view(field) == "rank") value = static_cast<T>(rank_);
  }
  void flag(const char*, bool) {}
  void real(const char*, double) {}
  void text(const char* field, std::string& value, std::size_t) { visit_(field, value); }
  void c_text(const char* field, std::string& value, std::size_t) { visit_(field, value); }
  void bytes(const char*, const std::string&, std::size_t) {}
  void tail(const char*, const std::string&, std::size_t) {}
  template <class T, class Each>
  void list(const char*, std::vector<T>& values, std::size_t, std::size_t, Each each) {
    for (T& value : values) each(*this, value);
  }
  void refuse(const char*, const std::string&) {}

 private:
  std::uint32_t rank_;
  Visit visit_;
};

template <class Visit>
void walk_texts(Message& message, std::uint32_t rank, Visit visit) {
  TextWalk<Visit> walk(rank, visit);
  std::visit(
      [&]<class M>(M& m) {
        [[maybe_unused]] const M before = m;
        fields(walk, m);
        // The walk would leave the CPU set, which is decoded from a list, empty: restore it.
        if constexpr (std::is_same_v<M, Hello>) m.facts.topology = before.facts.topology;
      },
      message);
}

inline Message hostile(Message message, std::uint32_t rank) {
  walk_texts(message, rank, [](const char*, std::string& text) { text = kHostileText; });
  return message;
}

}  // namespace dtl
