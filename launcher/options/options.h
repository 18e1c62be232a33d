#pragma once
// The one table of dtlaunch's options: --help, parsing, the nearest-name suggestion and the man
// page's check all read it. Subcommands have tables of their own, of the same kind. Pure.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

enum class Scope { kJob, kProgram };               // kProgram: may also stand after a ':'
enum class Takes { kNothing, kValue, kVariable };  // kVariable: two words "K V", or one "K=V"

struct Option {
  std::string_view group;               // heading in --help
  std::vector<std::string_view> names;  // as documented, with dashes; the last one is canonical
  Takes takes = Takes::kNothing;
  std::string_view value;  // what --help calls the value, "FILE"
  std::string_view help;   // one or more lines, '\n' between them
  bool repeatable = false;
  Scope scope = Scope::kJob;
  bool last = false;  // what follows its value belongs to the program
};

std::span<const Option> option_table();

// The name without its dashes: mpirun takes any number of them, and so do we.
std::string_view bare_name(std::string_view spelled);

// The option that `spelled` names ("-np", "--np", "-NP"); words of one letter are case-sensitive.
// nullptr when there is none.
const Option* find_option(std::span<const Option> table, std::string_view spelled);

// The documented spelling nearest to a mistyped one; empty when nothing is near.
std::string nearest_option(std::span<const Option> table, std::string_view spelled);

// The lines of --help for a table: its groups, at most 80 columns.
std::string options_text(std::span<const Option> table);

// The text of dtlaunch --help.
std::string help_text();

}  // namespace dtl
