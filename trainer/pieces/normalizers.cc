// Places follow the tokenizers library: a character that replaces another has its place, and an
// inserted one that of the character before it.
#include "trainer/pieces/normalizers.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

// A character of the result. `change`: 1 if it is inserted, 0 if it replaces one character, -n if
// it replaces one and removes the n after that.
struct Transformed {
  char32_t character = 0;
  int change = 0;
};

void transform(AlignedText& text, const std::vector<Transformed>& result) {
  AlignedText changed;
  std::size_t next = 0;  // of the characters before
  for (const Transformed& each : result) {
    const std::size_t from = each.change > 0 ? std::max<std::size_t>(next, 1) - 1 : next;
    changed.put(each.character, text.places[std::min(from, text.places.size() - 1)]);
    if (each.change <= 0) next += static_cast<std::size_t>(1 - each.change);
  }
  text = std::move(changed);
}

// Joins starters with what follows them, where nothing of equal or higher class is between (UAX
// #15, D117).
std::vector<Transformed> composed_parts(const std::vector<DecomposedCharacter>& parts) {
  std::vector<Transformed> result;
  constexpr std::size_t kNone = SIZE_MAX;
  std::size_t starter = kNone;  // in result
  int last_class = -1;          // of what follows the starter; -1: nothing does
  for (const DecomposedCharacter& part : parts) {
    const int kind = part.character < 0x300 ? 0 : combining_class(part.character);
    const int change = part.inserted ? 1 : 0;
    if (starter != kNone && (last_class < kind)) {
      if (const char32_t both = compose(result[starter].character, part.character)) {
        result[starter].character = both;
        result[starter].change += change - 1;
        continue;
      }
    }
    if (kind == 0) {
      starter = result.size();
      last_class = -1;
    } else if (starter != kNone) {
      last_class = kind;
    }
    result.push_back({part.character, change});
  }
  return result;
}

bool below(const std::u32string& text, char32_t limit) {
  return std::all_of(text.begin(), text.end(), [&](char32_t c) { return c < limit; });
}

void remove_if(AlignedText& text, bool (*removes)(char32_t)) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < text.characters.size(); ++at) {
    if (removes(text.characters[at])) continue;
    text.characters[kept] = text.characters[at];
    text.places[kept++] = text.places[at];
  }
  text.characters.resize(kept);
  text.places.resize(kept);
}

}  // namespace

void NormalForm::normalize(AlignedText& text) const {
  // The first characters that each form changes: a no-break space, A with grave, a combining grave.
  if (below(text.characters, compatible_ ? 0xA0 : composed_ ? 0x300 : 0xC0)) return;
  const std::vector<DecomposedCharacter> parts = decompose_parts(text.characters, compatible_);
  if (composed_) return transform(text, composed_parts(parts));
  std::vector<Transformed> result;
  result.reserve(parts.size());
  for (const DecomposedCharacter& part : parts) {
    result.push_back({part.character, part.inserted ? 1 : 0});
  }
  transform(text, result);
}

void Lowercase::normalize(AlignedText& text) const {
  AlignedText result;
  std::u32string lowered;
  for (std::size_t at = 0; at < text.characters.size(); ++at) {
    lowered.clear();
    append_lower(lowered, text.characters[at]);
    for (const char32_t c : lowered) result.put(c, text.places[at]);
  }
  text = std::move(result);
}

void StripAccents::normalize(AlignedText& text) const {
  remove_if(text, is_mark);
}

void Strip::normalize(AlignedText& text) const {
  std::size_t begin = 0, end = text.characters.size();
  while (left_ && begin < end && is_white_space(text.characters[begin])) ++begin;
  while (right_ && begin < end && is_white_space(text.characters[end - 1])) --end;
  if (begin == 0 && end == text.characters.size()) return;
  AlignedText result;
  for (; begin < end; ++begin) result.put(text.characters[begin], text.places[begin]);
  text = std::move(result);
}

Replace::Replace(std::u32string pattern, std::u32string content)
    : pattern_(std::move(pattern)), content_(std::move(content)) {}

void Replace::normalize(AlignedText& text) const {
  std::size_t match = text.characters.find(pattern_);
  if (match == std::u32string::npos) return;
  AlignedText result;
  for (std::size_t at = 0; at < text.characters.size();) {
    if (at != match) {
      result.put(text.characters[at], text.places[at]);
      ++at;
      continue;
    }
    at += pattern_.size();
    for (const char32_t c : content_) result.put(c, text.places[at - 1]);
    match = text.characters.find(pattern_, at);
  }
  text = std::move(result);
}

Prepend::Prepend(std::u32string content) : content_(std::move(content)) {}

void Prepend::normalize(AlignedText& text) const {
  if (text.characters.empty()) return;
  text.characters.insert(0, content_);
  text.places.insert(text.places.begin(), content_.size(), text.places.front());
}

}  // namespace dtl::trainer
