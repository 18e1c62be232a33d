// tokenizers looks up each grapheme cluster of at most 5 bytes, and otherwise each character. Both
// times, the shortest entry decides, and its replacement stands for the whole cluster.
#include "trainer/pieces/precompiled.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kUnitBytes = 4;
constexpr std::size_t kLongestCluster = 5;  // bytes

// A unit of a Darts double array (Yata's darts-clone): bits 0..7 the byte that leads to it, 8
// whether a key ends there, 9 the scale of the offset, 10..31 the offset. A value has bit 31 set.
bool has_value(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FF;
}
std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200) >> 6);
}
std::uint32_t value(std::uint32_t unit) {
  return unit & 0x7FFFFFFF;
}

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The new text. For each character, how many characters of the old text it covers, less one: -1 for
// one that is inserted after another, 2 for one before two that are removed.
struct Replaced {
  std::u32string characters;
  std::vector<std::int32_t> covers;
  bool changed = false;

  void keep(char32_t c) {
    characters.push_back(c);
    covers.push_back(0);
  }

  // Replaces `count` characters. Characters that are removed belong to the one before them. Without
  // one, nobody counts them, and all later places are too small: tokenizers does so.
  void replace(std::string_view by, std::int32_t count) {
    changed = true;
    std::int32_t more = -count;  // new characters, less old ones
    for (std::size_t at = 0; at < by.size(); ++more) keep(next_code_point(by, at));
    if (more > 0) {
      std::fill_n(covers.rbegin(), more, -1);
    } else if (!covers.empty()) {
      covers.back() -= more;
    }
  }

  void move_to(AlignedText& text) {
    std::vector<std::int32_t> places;
    places.reserve(characters.size());
    std::size_t next = 0;  // in the old text
    for (const std::int32_t more : covers) {
      const std::size_t at = more < 0 && next > 0 ? next - 1 : next;
      places.push_back(text.places[std::min(at, text.places.size() - 1)]);
      next += static_cast<std::size_t>(more + 1);
    }
    text.characters = std::move(characters);
    text.places = std::move(places);
  }
};

}  // namespace

std::optional<Precompiled> Precompiled::parse(std::string_view table) {
  const auto unit_at = [&](std::size_t at) {
    std::uint32_t unit = 0;
    for (std::size_t byte = kUnitBytes; byte-- > 0;) {
      unit = unit << 8 | static_cast<unsigned char>(table[at + byte]);
    }
    return unit;
  };
  if (table.size() < kUnitBytes) return std::nullopt;
  const std::size_t units = unit_at(0) / kUnitBytes;
  if (units == 0 || table.size() / kUnitBytes - 1 < units) return std::nullopt;
  Precompiled result;
  result.units_.reserve(units);
  for (std::size_t i = 1; i <= units; ++i) result.units_.push_back(unit_at(i * kUnitBytes));
  result.replacements_ = table.substr((units + 1) * kUnitBytes);
  if (!is_utf8(result.replacements_)) return std::nullopt;
  for (std::size_t c = 0; c < result.keeps_ascii_.size(); ++c) {
    const char byte = static_cast<char>(c);
    result.keeps_ascii_[c] = !result.replacement({&byte, 1});
  }
  return result;
}

std::optional<std::string_view> Precompiled::replacement(std::string_view bytes) const {
  std::size_t at = offset(units_[0]);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    at ^= byte;
    if (at >= units_.size() || label(units_[at]) != byte) break;
    const std::uint32_t unit = units_[at];
    at ^= offset(unit);
    if (!has_value(unit)) continue;
    if (at >= units_.size()) break;
    const std::size_t begin = value(units_[at]);
    if (begin > replacements_.size()) break;
    if (begin < replacements_.size() && continues_character(replacements_[begin])) break;
    const std::size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
    return std::string_view(replacements_).substr(begin, end - begin);
  }
  return std::nullopt;
}

bool Precompiled::keeps(const AlignedText& text) const {
  return std::all_of(text.characters.begin(), text.characters.end(),
                     [&](char32_t c) { return c < keeps_ascii_.size() && keeps_ascii_[c]; });
}

void Precompiled::normalize(AlignedText& text) const {
  if (keeps(text)) return;
  const std::u32string_view old = text.characters;
  Replaced result;
  result.characters.reserve(old.size());
  result.covers.reserve(old.size());
  std::string bytes;
  std::int32_t state = 0;
  for (std::size_t begin = 0, end = 0; begin < old.size(); begin = end) {
    end = begin + 1;
    while (end < old.size() && !ends_cluster(old[end - 1], old[end], state)) ++end;
    if (end - begin > 1 && end - begin <= kLongestCluster) {
      bytes.clear();
      for (const char32_t c : old.substr(begin, end - begin)) append_utf8(bytes, c);
      const auto whole = bytes.size() > kLongestCluster ? std::nullopt : replacement(bytes);
      if (whole) {
        result.replace(*whole, static_cast<std::int32_t>(end - begin));
        continue;
      }
    }
    for (const char32_t c : old.substr(begin, end - begin)) {
      if (c < keeps_ascii_.size() && keeps_ascii_[c]) {
        result.keep(c);
        continue;
      }
      bytes.clear();
      append_utf8(bytes, c);
      if (const auto single = replacement(bytes)) {
        result.replace(*single, 1);
      } else {
        result.keep(c);
      }
    }
  }
  if (result.changed) result.move_to(text);
}

}  // namespace dtl::trainer
