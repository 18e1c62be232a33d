#pragma once
// Steps that look for white space or punctuation. Pure; immutable after construction.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/pieces/text_steps.h"

namespace dtl::trainer {

// Replaces white space: the regular expressions that tokenizers of SentencePiece models use.
class ReplaceWhitespace : public Normalizer {
 public:
  // nullopt: another expression than " {2,}", " +", "\s{2,}", "\s+" and "\s{2,}|[\n\r\t]".
  static std::optional<ReplaceWhitespace> of_expression(std::string_view expression,
                                                        std::u32string content);
  void normalize(AlignedText& text) const override;

 private:
  struct Matches {
    bool spaces = false;  // only U+0020
    std::size_t least = 2;
    bool controls = false;  // a single line feed, return or tab, too
  };
  ReplaceWhitespace(Matches matches, std::u32string content);

  bool is_blank(char32_t c) const;

  Matches matches_;
  std::u32string content_;
};

// Splits at white space and drops it.
class WhitespaceSplit : public PreTokenizer {
 public:
  void pre_tokenize(SplitText& split) const override;
};

// Makes each punctuation mark a piece of its own.
class IsolatePunctuation : public PreTokenizer {
 public:
  void pre_tokenize(SplitText& split) const override;
};

}  // namespace dtl::trainer
