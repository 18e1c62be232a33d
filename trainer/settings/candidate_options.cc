// Rows only.
#include "trainer/settings/candidate_options.h"

namespace dtl::trainer {

// clang-format off
std::vector<OptionRow<Settings>> candidate_option_rows() {
  using S = Settings;
  constexpr std::string_view group = "Multiple choice and reranking";
  return {
      {group, {"--choice_column_names"}, "NAME,NAME[,...]",
       "columns of the choices (ending0, ending1 and so on, as in SWAG)",
       into::text<&S::choice_column_names>()},
      {group, {"--reranking_loss"}, "binary|softmax",
       "loss of each passage by itself; or over all passages of a query (binary)",
       into::word<&S::reranking_loss>()},
  };
}
// clang-format on

}  // namespace dtl::trainer
