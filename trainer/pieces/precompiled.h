#pragma once
// Precompiled: the normaliser that a SentencePiece model brings along as a table of replacements
// (precompiled_charsmap: NFKC and more), applied as the tokenizers library does. Immutable after
// construction. The table may come from a hostile file: entries that point outside of it do not
// replace anything.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/pieces/text_steps.h"

namespace dtl::trainer {

class Precompiled : public Normalizer {
 public:
  // Reads the bytes of a table: the size of a Darts double array in bytes (32 bits, little-endian),
  // the array, and the replacements in UTF-8, each with a NUL after it. Returns nullopt if it is
  // truncated, has no array, or is not UTF-8.
  static std::optional<Precompiled> parse(std::string_view table);

  void normalize(AlignedText& text) const override;

 private:
  Precompiled() = default;

  // The replacement of the shortest entry that `bytes` begins with.
  std::optional<std::string_view> replacement(std::string_view bytes) const;
  // Whether no character of the text changes; only known for ASCII.
  bool keeps(const AlignedText& text) const;

  std::vector<std::uint32_t> units_;  // not empty
  std::string replacements_;
  std::array<bool, 128> keeps_ascii_{};
};

}  // namespace dtl::trainer
