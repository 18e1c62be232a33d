#pragma once
// What a shell has to know of a program's command line in order to complete it, and the scripts for
// bash, zsh and fish made of that. Each program turns its own table of options into a Completion,
// so that no option is written down twice. Pure; the scripts run without the program.

#include <string>
#include <string_view>
#include <vector>

namespace dtl {

// Where completions of a value come from, beside the words that are listed.
enum class Fill {
  kNothing,
  kFile,
  kFolder,
  kHostfile,  // a file whose hosts are offered for kHosts on the same line
  kHosts,     // names of that file and of ~/.ssh/config
  kNetworks,  // network interfaces of this machine
  kVariable,  // the environment's
  kJob,       // ids of jobs that run here or whose output is kept here
  kRunningJob,
  kCommand,  // a program of $PATH or a file; what follows is that program's
};

struct CompletedValue {
  Fill fill = Fill::kNothing;
  std::vector<std::string> words = {};  // one that ends in ':' or '=' goes on after that
  bool list = false;                    // several, with commas
};

// What stands behind an option.
enum class Follows {
  kNothing,
  kValue,
  kPerhapsValue,  // unless the next word is an option
  kTwoValues,
  kNameAndValue,  // two words "K V", or one "K=V"
  kLastValue,     // and nothing behind it is an option any more
};

struct CompletedOption {
  std::vector<std::string> names;  // all spellings, with dashes
  std::string help;                // one line
  Follows follows = Follows::kNothing;
  CompletedValue value = {};  // the first one
  bool offered = true;        // false: understood, and not proposed
};

struct CompletedCommand {
  std::string name;  // a subcommand's; empty: the program; ":": behind a word ":" among the
                     // arguments of a kCommand
  std::string help;
  std::vector<CompletedOption> options;
  CompletedValue operand = {};  // what it takes beside options
  bool operand_first = false;   // only before all options
};

struct Completion {
  std::string program;
  bool any_dashes = false;                 // "-name" and "--name" are one
  std::vector<CompletedCommand> commands;  // the program itself comes first
};

// What --help calls a value: "ssh|fork", "auto|FILE", "FOLDER", "ompi|horovod,..",
// "user:LIST|core". Words in small letters are offered as they are, and those in capitals say what
// else there is.
CompletedValue value_of_column(std::string_view column);

// What --help calls the value of --completion.
constexpr const char* kShells = "bash|zsh|fish";

// The script for one of kShells. Throws Error(kUsage) for another shell.
std::string completion_script(const Completion& completion, const std::string& shell);

}  // namespace dtl
