#pragma once
// Normalisers of the tokenizers library, one class each, with the same places. Pure; immutable
// after construction.

#include <string>

#include "trainer/pieces/text_steps.h"

namespace dtl::trainer {

// NFC, NFD, NFKC and NFKD of the Unicode Standard (UAX #15).
class NormalForm : public Normalizer {
 public:
  NormalForm(bool compatible, bool composed) : compatible_(compatible), composed_(composed) {}
  void normalize(AlignedText& text) const override;

 private:
  bool compatible_, composed_;
};

class Lowercase : public Normalizer {
 public:
  void normalize(AlignedText& text) const override;
};

// Removes combining marks, categories M*. It does not decompose.
class StripAccents : public Normalizer {
 public:
  void normalize(AlignedText& text) const override;
};

// Removes white space at the ends.
class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void normalize(AlignedText& text) const override;

 private:
  bool left_, right_;
};

// Replaces each `pattern`, which is not empty, by `content`.
class Replace : public Normalizer {
 public:
  Replace(std::u32string pattern, std::u32string content);
  void normalize(AlignedText& text) const override;

 private:
  std::u32string pattern_, content_;
};

// Puts `content` before a text that is not empty.
class Prepend : public Normalizer {
 public:
  explicit Prepend(std::u32string content);
  void normalize(AlignedText& text) const override;

 private:
  std::u32string content_;
};

}  // namespace dtl::trainer
