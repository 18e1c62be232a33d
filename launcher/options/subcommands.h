#pragma once
// Subcommand: the names and summaries of `dtlaunch doctor` and other subcommands. A word is a
// subcommand only as the first of the command line; after options or `--` it is a program's name.
// The table has no code, so the command line can be parsed without the subcommands' code;
// launcher/run/commands.cc runs them.

#include <span>
#include <string>
#include <string_view>

namespace dtl {

class Error;

struct Subcommand {
  std::string_view name;
  std::string_view summary;  // one line of --help
};

// The one whose arguments are a job's command line.
constexpr std::string_view kSubmitCommand = "submit";

std::span<const Subcommand> subcommand_table();

bool is_subcommand(std::string_view word);

// "List the jobs.": the summary as the first line of the command's own help.
std::string summary_sentence(const Subcommand& subcommand);

// The subcommand that a user probably meant by the first word `word`: "doctor" for "doctr", "ps"
// for "status". Otherwise the word would start as a program on each host and fail there. Empty:
// none.
std::string meant_subcommand(std::string_view word);

// The first subcommand that begins like `word`, "ps" for "psss", to show beside a word that may be
// a program of other hosts. Empty: none.
std::string similar_subcommand(std::string_view word);

// A first word that no command and no program here has as its name. near: the command that the hint
// proposes; empty: none.
Error unknown_word(const std::string& word, const std::string& near);

// The notice about a program that is not here and follows an option whose number is left out:
// "--tree x", where x may be a mistyped number.
std::string missing_number_text(const std::string& option, const std::string& program);

}  // namespace dtl
