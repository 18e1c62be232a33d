// GPT-2's expression by hand, in the order of its alternatives:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
#include "trainer/pieces/byte_level.h"

#include <array>
#include <utility>
#include <vector>

#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

constexpr std::array<std::u32string_view, 7> kContractions = {U"'s", U"'t",  U"'re", U"'ve",
                                                              U"'m", U"'ll", U"'d"};
constexpr std::size_t kCharacters = 0x144;  // U+0100 and 68 more characters for unseen bytes

bool is_seen(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::array<char32_t, 256> characters_of_bytes() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    characters[static_cast<std::size_t>(byte)] =
        is_seen(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return characters;
}

// The end of the piece that begins at `at`.
std::size_t piece_end(std::u32string_view text, std::size_t at) {
  if (text[at] == U'\'') {
    for (const std::u32string_view contraction : kContractions) {
      if (text.substr(at).starts_with(contraction)) return at + contraction.size();
    }
  }
  // A word, number or other run, with at most one blank before it.
  std::size_t end = at + (text[at] == U' ' && at + 1 < text.size() ? 1 : 0);
  const CharacterClass kind = character_class(text[end]);
  if (kind != CharacterClass::kSpace) {
    while (end < text.size() && character_class(text[end]) == kind) ++end;
    return end;
  }
  // White space, without its last character if something follows, since that may be the blank
  // before a word.
  while (end < text.size() && character_class(text[end]) == CharacterClass::kSpace) ++end;
  return end < text.size() && end - at > 1 ? end - 1 : end;
}

// A blank before each piece that begins with another character, at the place of that character.
void put_blanks(SplitText& split) {
  SplitText result;
  for (const PieceRange& piece : split.pieces) {
    const std::size_t begin = result.text.characters.size();
    if (split.text.characters[piece.begin] != U' ') {
      result.text.put(U' ', split.text.places[piece.begin]);
    }
    for (std::size_t at = piece.begin; at < piece.end; ++at) {
      result.text.put(split.text.characters[at], split.text.places[at]);
    }
    result.pieces.push_back({begin, result.text.characters.size()});
  }
  split = std::move(result);
}

}  // namespace

char32_t byte_character(unsigned char byte) {
  static const std::array<char32_t, 256> characters = characters_of_bytes();
  return characters[byte];
}

std::optional<std::string> bytes_of_token(std::string_view token) {
  static const std::array<int, kCharacters> bytes = [] {
    std::array<int, kCharacters> of{};
    of.fill(-1);
    for (int byte = 0; byte < 256; ++byte) {
      of[byte_character(static_cast<unsigned char>(byte))] = byte;
    }
    return of;
  }();
  std::string result;
  result.reserve(token.size());
  for (std::size_t at = 0; at < token.size();) {
    const char32_t c = next_code_point(token, at);
    if (c >= kCharacters || bytes[c] < 0) return std::nullopt;
    result.push_back(static_cast<char>(bytes[c]));
  }
  return result;
}

void ByteLevel::pre_tokenize(SplitText& split) const {
  if (rules_.add_prefix_space) put_blanks(split);
  if (!rules_.use_regex) return;
  std::vector<PieceRange> pieces;
  for (const PieceRange& part : split.pieces) {
    const auto text =
        std::u32string_view(split.text.characters).substr(part.begin, part.end - part.begin);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = piece_end(text, at);
      pieces.push_back({part.begin + at, part.begin + end});
      at = end;
    }
  }
  split.pieces = std::move(pieces);
}

}  // namespace dtl::trainer
