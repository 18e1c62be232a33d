#include "trainer/completion.h"

#include <string>

#include "trainer/init/init_model.h"
#include "trainer/settings/option_table.h"

namespace dtl::trainer {
namespace {

CompletedOption described(const Option& option) {
  CompletedOption known{{std::string("--") + option.name}, option.help};
  known.offered = !std::holds_alternative<Refused>(option.target);
  if (is_flag(option)) return known;
  known.follows = needs_no_value(option) ? Follows::kPerhapsValue : Follows::kValue;
  known.value = value_of_column(option.value);
  return known;
}

CompletedOption described(const ProgramOption& option) {
  CompletedOption known{option.names, option.help};
  if (*option.value == '\0') return known;
  known.follows = Follows::kValue;
  known.value = value_of_column(option.value);
  return known;
}

}  // namespace

Completion own_completion() {
  CompletedCommand train;
  for (const Option& option : option_table()) train.options.push_back(described(option));
  for (const ProgramOption& option : program_options()) train.options.push_back(described(option));
  train.operand.fill = Fill::kFile;  // a file of options
  train.operand_first = true;
  return {"dttrain", false, {std::move(train), init_completion()}};
}

}  // namespace dtl::trainer
