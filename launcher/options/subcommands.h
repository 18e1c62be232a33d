#pragma once
// The subcommands of dtlaunch: `dtlaunch doctor -f hosts`. A word is a subcommand only where it is
// the first of the command line; after options or after `--` it is a program's name. The table has
// names and summaries only, so that the command line can be parsed without the code behind them;
// main.cc knows what each one runs.

#include <span>
#include <string>
#include <string_view>

namespace dtl {

struct Subcommand {
  std::string_view name;
  std::string_view summary;  // one line of --help
};

std::span<const Subcommand> subcommand_table();

bool is_subcommand(std::string_view word);

// What somebody may have meant who wrote `word` first: "doctor" for "doctr", "ps" for "status".
// Empty: no subcommand.
std::string meant_subcommand(std::string_view word);

}  // namespace dtl
