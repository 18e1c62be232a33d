#include "trainer/pieces/whitespace.h"

#include <utility>
#include <vector>

#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

// Cuts each piece before and after the characters that `cuts` names, and drops them if asked.
void cut_pieces(SplitText& split, bool (*cuts)(char32_t), bool drops) {
  std::vector<PieceRange> pieces;
  pieces.reserve(split.pieces.size());
  for (const PieceRange& piece : split.pieces) {
    std::size_t begin = piece.begin;
    for (std::size_t at = piece.begin; at < piece.end; ++at) {
      if (!cuts(split.text.characters[at])) continue;
      if (at > begin) pieces.push_back({begin, at});
      if (!drops) pieces.push_back({at, at + 1});
      begin = at + 1;
    }
    if (piece.end > begin) pieces.push_back({begin, piece.end});
  }
  split.pieces = std::move(pieces);
}

}  // namespace

std::optional<ReplaceWhitespace> ReplaceWhitespace::of_expression(std::string_view expression,
                                                                  std::u32string content) {
  constexpr std::pair<std::string_view, Matches> kKnown[] = {
      {" {2,}", {.spaces = true}}, {" +", {.spaces = true, .least = 1}},        {"\\s{2,}", {}},
      {"\\s+", {.least = 1}},      {"\\s{2,}|[\\n\\r\\t]", {.controls = true}},
  };
  for (const auto& [known, matches] : kKnown) {
    if (known == expression) return ReplaceWhitespace(matches, std::move(content));
  }
  return std::nullopt;
}

ReplaceWhitespace::ReplaceWhitespace(Matches matches, std::u32string content)
    : matches_(matches), content_(std::move(content)) {}

bool ReplaceWhitespace::is_blank(char32_t c) const {
  return matches_.spaces ? c == ' ' : is_white_space(c);
}

// What replaces a run has the place of its last character.
void ReplaceWhitespace::normalize(AlignedText& text) const {
  AlignedText result;
  bool changed = false;
  result.characters.reserve(text.characters.size());
  result.places.reserve(text.characters.size());
  for (std::size_t at = 0, end = 0; at < text.characters.size(); at = end) {
    end = at;
    while (end < text.characters.size() && is_blank(text.characters[end])) ++end;
    const char32_t c = text.characters[at];
    const bool control = matches_.controls && (c == '\n' || c == '\r' || c == '\t');
    if (end - at >= matches_.least || control) {
      changed = true;
      for (const char32_t each : content_) result.put(each, text.places[end - 1]);
    } else {
      result.put(c, text.places[at]);
      end = at + 1;
    }
  }
  if (changed) text = std::move(result);
}

void WhitespaceSplit::pre_tokenize(SplitText& split) const {
  cut_pieces(split, is_white_space, /*drops=*/true);
}

void IsolatePunctuation::pre_tokenize(SplitText& split) const {
  cut_pieces(split, is_punctuation, /*drops=*/false);
}

}  // namespace dtl::trainer
