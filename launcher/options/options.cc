// Joins the sections of the table. The rows are in start_options.cc and run_options.cc.
#include "launcher/options/options.h"

#include "launcher/options/option_sections.h"

namespace dtl {

OptionRows joined(std::initializer_list<OptionRows> sections) {
  OptionRows all;
  for (const OptionRows& section : sections) all.insert(all.end(), section.begin(), section.end());
  return all;
}

const OptionTable<BlockOptions>& option_table() {
  static const OptionTable<BlockOptions> kTable(joined({start_rows(), run_rows()}));
  return kTable;
}

}  // namespace dtl
