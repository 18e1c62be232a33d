// With the names of run_ner.py.
#include "trainer/settings/token_options.h"

namespace dtl::trainer {

// One row per line is easier to read.
// clang-format off
std::vector<OptionRow<Settings>> token_option_rows() {
  using S = Settings;
  constexpr std::string_view group = "Token classification";
  return {
      {group, {"--text_column_name"}, "NAME",
       "column of the words (default: the column the model was trained on, tokens, or the first)",
       into::text<&S::text_column_name>()},
      {group, {"--label_all_tokens"}, "", "also label a word's further tokens, B- as I- (only the first)",
       into::flag<&S::label_all_tokens>()},
      {group, {"--return_entity_level_metrics"}, "", "figures of each type of entity, too",
       into::flag<&S::return_entity_level_metrics>()},
  };
}
// clang-format on

}  // namespace dtl::trainer
