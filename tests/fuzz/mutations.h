#pragma once
// Shared by the text fuzzers: seeded edits of a valid text, and printing of results.

#include <fmt/format.h>

#include <cstddef>
#include <random>
#include <span>
#include <string>

namespace dtl {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t bound) {
  return random() % bound;
}

inline const std::string& pick(Random& random, std::span<const std::string> choices) {
  return choices[below(random, choices.size())];
}

// Makes one to six edits: inserts a piece or byte, deletes bytes, flips a bit, repeats a part
// elsewhere, or inserts many pieces.
inline std::string mutated(Random& random, std::string text, std::span<const std::string> pieces) {
  for (std::size_t edits = 1 + below(random, 6); edits > 0; --edits) {
    const std::size_t at = below(random, text.size() + 1);
    switch (below(random, 6)) {
      case 0:
        text.insert(at, pick(random, pieces));
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(below(random, 256)));
        break;
      case 2:
        text.erase(at, 1 + below(random, 8));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
        break;
      case 4:  // copy a part of itself elsewhere
        text.insert(below(random, text.size() + 1), text.substr(at, below(random, 24)));
        break;
      default:
        for (std::size_t times = below(random, 40); times > 0; --times) {
          text.insert(at, pick(random, pieces));
        }
    }
  }
  return text;
}

inline std::string plain_text(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const bool plain = c >= ' ' && c < 0x7f && c != '\\';
    shown += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return shown;
}

}  // namespace dtl
