#pragma once
// Subcommand: the names and summaries of `dtlaunch doctor` and its like. A word is a subcommand
// only where it is the first of the command line; after options or after `--` it is a program's
// name. The table holds no code, so that the command line can be parsed without the code behind the
// subcommands; launcher/run/commands.cc runs them.

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

// "List the jobs.": the summary as the first line of the command's own help.
std::string summary_sentence(const Subcommand& subcommand);

// The subcommand that somebody may have meant who wrote `word` first: "doctor" for "doctr", "ps"
// for "status". Otherwise the word would start as a program on each host and fail there. Empty:
// none.
std::string meant_subcommand(std::string_view word);

}  // namespace dtl
