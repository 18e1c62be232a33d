#pragma once
// Options of transformers' TrainingArguments and of run_glue, run_qa and run_classification that
// dttrain does not implement. Each is either accepted with a notice, or refused with the reason. A
// test compares dttrain(1) with this table. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_table.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

// Rows of the groups "Accepted, without effect" and "Refused".
std::vector<OptionRow<Settings>> stock_option_rows();

// Whether TrainingArguments writes this value by itself and it matches what dttrain does. For a
// file of options, one notice covers all such values.
bool is_usual(const Option& option, std::string_view value);

// argparse's --no_NAME: true if the default of NAME is true.
bool may_be_negated(std::string_view name);

// Handles --report_to: adds a notice for each service that is not supported. `names` are separated
// by commas. Returns a description of the fault, empty if there is none.
std::string read_report_to(Settings& settings, const std::string& names, const Option& option);

}  // namespace dtl::trainer
