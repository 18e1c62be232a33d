#pragma once
// What TrainingArguments of transformers and the arguments of run_glue, run_qa and
// run_classification have besides the options that do something here. Each is answered: accepted
// with a line, or refused with the reason. dttrain(1) is checked against this table. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_table.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

// Rows of the groups "Accepted, without effect" and "Refused".
std::vector<OptionRow<Settings>> stock_option_rows();

// A value that TrainingArguments writes of itself and that asks for nothing else than what is done
// here: a file of options that has it is answered with one line for all of these.
bool is_usual(const Option& option, std::string_view value);

// argparse's --no_NAME: true where NAME is true unless something else is said.
bool may_be_negated(std::string_view name);

// Answers --report_to with a line for each service that is not here. `names`: with commas between
// them. Returns what is wrong with them, empty when nothing is.
std::string read_report_to(Settings& settings, const std::string& names, const Option& option);

}  // namespace dtl::trainer
