// Where the sections of the table come together. Rows are in start_options.cc and run_options.cc.
#include "launcher/options/options.h"

#include <fmt/format.h>

#include "launcher/options/option_sections.h"
#include "launcher/options/subcommands.h"

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

std::string help_text() {
  std::string text =
      "usage: dtlaunch [options] program [argument ...] [: [options] program ...]\n"
      "       dtlaunch [options]\n"
      "Starts ranks on one or many hosts, pins them, and ends all of them together.\n"
      "Options take one dash or two, and -option=value; the program comes after them.\n";
  text += options_text(option_table().options());
  if (!subcommand_table().empty()) {
    text += "\nSubcommands (the first word; `dtlaunch -- ps` runs a program of that name)\n";
  }
  for (const Subcommand& subcommand : subcommand_table()) {
    text += fmt::format("  dtlaunch {:<12} {}\n", subcommand.name, subcommand.summary);
  }
  text +=
      "\nExamples\n"
      "  dtlaunch                                     the job file, or a demonstration\n"
      "  dtlaunch -np 2 dttrain --help                two ranks on this machine\n"
      "  dtlaunch -f hosts -np 4 -ppn 2 python3 train.py\n";
  return text;
}

}  // namespace dtl
