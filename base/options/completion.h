#pragma once
// Answers what may come at a place of a program's command line, and has the scripts by which bash,
// zsh and fish ask the program for it. Each program turns its own table of options into a
// Completion, so that no option is written down twice. The scripts know no option: they run
// `PROGRAM __complete WORD...`. So they stay right when the program is upgraded.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
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

// What follows an option.
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

// The hidden command of the scripts. Behind it come the words of the line after the program, up to
// the cursor and without their quotes; the last one is the one that is completed.
constexpr const char* kCompleteCommand = "__complete";

// What the program itself knows: (word, what it is) for kHosts, kJob and kRunningJob. The hostfile
// is as typed on the line; empty: none.
using FindWords = std::function<std::vector<std::pair<std::string, std::string>>(
    Fill fill, const std::string& hostfile)>;

// The answer to kCompleteCommand. Its first line is two fields, with a tab between:
//   none             the words below are all there is
//   files BEFORE     names of files come to them; BEFORE is the part of the word before the name
//   folders BEFORE   the same with names of folders
//   line N           another program's line begins at the word N; the first behind the program is 1
// Then comes a line for each word that may be there, whole, with a tab and what it is.
std::string completion_answer(const Completion& completion, std::vector<std::string> words,
                              const FindWords& find_words = {});

// The script for one of kShells. Throws Error(kUsage) for another shell.
std::string completion_script(const std::string& program, const std::string& shell);

}  // namespace dtl
