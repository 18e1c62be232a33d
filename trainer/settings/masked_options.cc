// Rows only.
#include "trainer/settings/masked_options.h"

namespace dtl::trainer {

// clang-format off
std::vector<OptionRow<Settings>> masked_option_rows() {
  using S = Settings;
  constexpr std::string_view group = "Masked language modelling";
  return {
      {group, {"--mlm_probability"}, "X", "share of the tokens to guess (0.15)",
       into::real<&S::mlm_probability>(1e-6, 1)},
      {group, {"--whole_word_mask"}, "", "mask all tokens of a word or none",
       into::flag<&S::whole_word_mask>()},
      {group, {"--line_by_line"}, "", "each line is an example; otherwise lines are joined and cut into full examples",
       into::flag<&S::line_by_line>()},
      {group, {"--validation_split_percentage"}, "N",
       "without --validation_file: share of the training lines to evaluate on (5)",
       into::whole<&S::validation_split_percentage>(1, 99)},
  };
}
// clang-format on

}  // namespace dtl::trainer
