#pragma once
// The texts of `dttrain --help` and `--help-all`, made from the table of options. The first fits a
// screen. Neither ends with an end of line. Pure.

#include <string>

namespace dtl::trainer {

// At most 45 lines: how to call dttrain, the most used options, where the rest is.
std::string help_text();

// Every option that has an effect. Those of transformers that have none, or are refused, are in
// dttrain(1).
std::string help_all_text();

// All rows, those without effect too: for the tests that compare the man page with the table.
std::string all_rows_text();

}  // namespace dtl::trainer
