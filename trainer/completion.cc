// Completion for shells. Both commands use the tables that their parsers use.
#include "trainer/completion.h"

#include <utility>

#include "trainer/encode/encode_settings.h"
#include "trainer/init/init_model.h"
#include "trainer/settings/option_table.h"

namespace dtl::trainer {

Completion own_completion() {
  CompletedCommand train;
  train.options = completed(option_table().options());
  train.operand.fill = Fill::kFile;  // a file of options
  train.operand_first = true;
  return {"dttrain", false, {std::move(train), init_completion(), encode_completion()}};
}

}  // namespace dtl::trainer
