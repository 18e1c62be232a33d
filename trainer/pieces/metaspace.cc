#include "trainer/pieces/metaspace.h"

#include <utility>

namespace dtl::trainer {

// A replacement has the place of its blank; one in front, that of the first character.
void Metaspace::pre_tokenize(SplitText& split) const {
  const AlignedText& text = split.text;
  SplitText result;
  result.text.characters.reserve(text.characters.size() + split.pieces.size());
  result.text.places.reserve(text.characters.size() + split.pieces.size());
  result.pieces.reserve(split.pieces.size());
  for (const PieceRange& piece : split.pieces) {
    std::size_t begin = result.text.characters.size();
    const auto finish = [&] {
      const std::size_t end = result.text.characters.size();
      if (end > begin) result.pieces.push_back({begin, end});
      begin = end;
    };
    const char32_t first = text.characters[piece.begin];
    const bool prepends =
        rules_.prepend == PrependScheme::kAlways ||
        (rules_.prepend == PrependScheme::kFirst && text.places[piece.begin] == 0);
    if (prepends && first != ' ' && first != rules_.replacement) {
      result.text.put(rules_.replacement, text.places[piece.begin]);
    }
    for (std::size_t at = piece.begin; at < piece.end; ++at) {
      const char32_t c = text.characters[at] == ' ' ? rules_.replacement : text.characters[at];
      if (rules_.split && c == rules_.replacement) finish();
      result.text.put(c, text.places[at]);
    }
    finish();
  }
  split = std::move(result);
}

}  // namespace dtl::trainer
