#pragma once
// Answers what may come next on a program's command line, and has the scripts with which bash, zsh
// and fish ask the program. Each program converts its table of options into a Completion, so no
// option is listed twice. The scripts know no option: they run `PROGRAM __complete WORD...`, so
// they stay correct after an upgrade.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtl {

// The source of a value's completions, besides the listed words.
enum class Fill {
  kNothing,
  kFile,
  kFolder,
  kHostfile,  // a file; its hosts complete kHosts on the same line
  kHosts,     // names in that file and in ~/.ssh/config
  kNetworks,  // network interfaces of this machine
  kVariable,  // a variable of the environment
  kJob,       // ids of jobs that run here or have kept output here
  kRunningJob,
  kCommand,  // a program of $PATH or a file; its own arguments follow
};

struct CompletedValue {
  Fill fill = Fill::kNothing;
  std::vector<std::string> words = {};  // a word that ends in ':' or '=' continues after it
  bool list = false;                    // several, separated by commas
};

// The words after an option.
enum class Follows {
  kNothing,
  kValue,
  kPerhapsValue,   // unless the next word is an option
  kPerhapsNumber,  // if the next word is one
  kTwoValues,
  kNameAndValue,  // two words "K V", or one "K=V"
  kLastValue,     // and no option follows it
};

struct CompletedOption {
  std::vector<std::string> names;  // all spellings, with dashes
  std::string help;                // one line
  Follows follows = Follows::kNothing;
  CompletedValue value = {};  // the first value
  bool offered = true;        // false: accepted, but not proposed
};

struct CompletedCommand {
  std::string name;  // a subcommand; empty: the program; ":": after a word ":" in the arguments of
                     // a kCommand
  std::string help;
  std::vector<CompletedOption> options;
  CompletedValue operand = {};  // besides options
  bool operand_first = false;   // only before all options
};

struct Completion {
  std::string program;
  bool any_dashes = false;                 // "-name" and "--name" are the same
  std::vector<CompletedCommand> commands;  // the program itself comes first
};

// Parses a value's name in --help: "ssh|fork", "auto|FILE", "FOLDER", "ompi|horovod,..",
// "user:LIST|core". Lower-case words are proposed as they are; upper-case words name the kind of
// value.
CompletedValue value_of_column(std::string_view column);

// The value's name of --completion in --help.
constexpr const char* kShells = "bash|zsh|fish";

// The hidden command of the scripts. After it come the words of the line after the program, up to
// the cursor and without quotes; the last one is being completed.
constexpr const char* kCompleteCommand = "__complete";

// Words that only the program knows: (word, description) for kHosts, kJob and kRunningJob. The
// hostfile is as typed on the line; empty: none.
using FindWords = std::function<std::vector<std::pair<std::string, std::string>>(
    Fill fill, const std::string& hostfile)>;

// The answer to kCompleteCommand. Its first line has two fields, separated by a tab:
//  none             only the words below
//  files BEFORE     also names of files; BEFORE is the part of the word before the name
//  folders BEFORE   the same with names of folders
//  line N           another program's line begins at word N; the first after the program is 1
// Then a line for each possible word, complete, followed by a tab and its description.
std::string completion_answer(const Completion& completion, std::vector<std::string> words,
                              const FindWords& find_words = {});

// The script for one of kShells. Throws Error(kUsage) for other shells.
std::string completion_script(const std::string& program, const std::string& shell);

}  // namespace dtl
