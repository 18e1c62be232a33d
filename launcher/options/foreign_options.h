#pragma once
// The options of Hydra, Intel MPI, Open MPI, torchrun, DeepSpeed and Horovod that dtlaunch spells
// otherwise, has no use for, or has to refuse. Users come with job scripts for these; each option
// is understood, left out with a note, or refused with a reason. dtlaunch(1), COMING FROM OTHER
// LAUNCHERS, has the same table, and a test compares the two. Pure.

#include <span>
#include <string_view>
#include <vector>

namespace dtl {

enum class ForeignKind {
  kSame,     // `text` is how dtlaunch says it; '%' stands for the value
  kIgnored,  // accepted, and nothing comes of it; `text` says why
  kRefused,  // `text` is the reason, `hint` dtlaunch's way
};

struct ForeignOption {
  std::vector<std::string_view> names;  // without dashes, small letters, '-' for '_'
  int values = 0;                       // words that follow it
  ForeignKind kind = ForeignKind::kSame;
  // Texts are completed by foreign_words.cc to "option '...': TEXT".
  std::string_view text;
  std::string_view hint;
  std::string_view harmless = {};  // values that ask for nothing, "auto,cpu"; or paths to them
  std::string_view devices = {};   // values that ask for what is not a CPU, "gpu,xpu"
};

std::span<const ForeignOption> foreign_options();

// nullptr when no launcher has it.
const ForeignOption* find_foreign_option(std::string_view spelled);

// The spellings of Open MPI's `--mca KEY VALUE`, without dashes.
std::span<const std::string_view> mca_options();

// What an MCA parameter means. Parameters have long names ("btl-tcp-if-include"), so a row may hold
// the first words of a key, which stand for all keys that begin so. nullptr: it is unknown.
const ForeignOption* find_mca_parameter(std::string_view key);

// A variable that another launcher reads, and our option that it stands for. The command line wins
// over it.
struct ForeignVariable {
  std::string_view name;
  std::string_view option;  // "-hostfile=%"
  bool of_site = false;     // set for every job; what cannot be done is left out with a warning
};

std::span<const ForeignVariable> foreign_variables();

}  // namespace dtl
