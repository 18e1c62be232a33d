#pragma once
// Metaspace: SentencePiece's way to keep blanks. Replaces each by a visible character (U+2581), may
// put one in front of the text, and begins a piece at each. Immutable.

#include "trainer/pieces/text_steps.h"

namespace dtl::trainer {

// In front of which pieces to put the replacement, if they do not begin with it: all, only one at
// the start of the text, or none.
enum class PrependScheme { kAlways, kFirst, kNever };

struct MetaspaceRules {
  char32_t replacement = U'\u2581';
  PrependScheme prepend = PrependScheme::kAlways;
  bool split = true;  // false: only replaces

  bool operator==(const MetaspaceRules&) const = default;
};

class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const MetaspaceRules& rules) : rules_(rules) {}

  void pre_tokenize(SplitText& split) const override;

 private:
  MetaspaceRules rules_;
};

}  // namespace dtl::trainer
