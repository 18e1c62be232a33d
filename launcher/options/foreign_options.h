#pragma once
// Options of Hydra, Intel MPI, Open MPI, torchrun, DeepSpeed and Horovod that dtlaunch spells
// differently, ignores or refuses. Users bring job scripts for these launchers. Each option is
// translated, left out with a note, or refused with a reason. dtlaunch(1), COMING FROM OTHER
// LAUNCHERS, has the same table, and a test compares the two. Pure.

#include <span>
#include <string_view>
#include <vector>

namespace dtl {

enum class ForeignKind {
  kSame,     // `text` is dtlaunch's spelling; '%' stands for the value
  kIgnored,  // accepted without effect; `text` says why
  kRefused,  // `text` is the reason, `hint` dtlaunch's alternative
};

// The text of a parameter that Open MPI reads from a variable of its ranks: OMPI_MCA_NAME=VALUE.
constexpr std::string_view kForRanks = "-genv=%";

struct ForeignOption {
  std::vector<std::string_view> names;  // without dashes, lower case, '-' for '_'
  int values = 0;                       // words after the option
  ForeignKind kind = ForeignKind::kSame;
  // foreign_words.cc completes texts to "option '...': TEXT".
  std::string_view text;
  std::string_view hint;
  std::string_view harmless = {};  // values that ask for nothing, "auto,cpu", or paths to such
  std::string_view devices = {};   // values that ask for other devices than CPUs, "gpu,xpu"
};

std::span<const ForeignOption> foreign_options();

// nullptr if no launcher has it.
const ForeignOption* find_foreign_option(std::string_view spelled);

// The spellings of Open MPI's `--mca KEY VALUE`, without dashes.
std::span<const std::string_view> mca_options();

// The meaning of an MCA parameter. Parameters have long names ("btl-tcp-if-include"), so a row may
// hold the first words of a key and match all keys with this prefix. nullptr: unknown.
const ForeignOption* find_mca_parameter(std::string_view key);

}  // namespace dtl
