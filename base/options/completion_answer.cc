// Reads the line as the programs' parsers do, except for its last word. Nothing is an error, as the
// user has not finished typing; only the programs' parsers reject options. The answer is empty if
// nothing completes the word.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/options/completion.h"
#include "base/options/options.h"
#include "base/text.h"

namespace dtl {
namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

struct Answer {
  std::string kind = "none", detail = {};  // the first line
  Words words = {};
};

// "--per_device" -> "per-device", the key for looking up options. One letter keeps its case.
std::string plain_option(std::string_view name) {
  std::string plain(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  if (plain.size() > 1) plain = to_lower(plain);
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

const CompletedCommand* command_named(const Completion& completion, const std::string& name) {
  for (const CompletedCommand& command : completion.commands) {
    if (!command.name.empty() && command.name == name) return &command;
  }
  return nullptr;
}

bool is_subcommand(const CompletedCommand& command) {
  return !command.name.empty() && command.name != ":";
}

// `word`: "--name" or "--name=value".
const CompletedOption* option_named(const CompletedCommand& command, std::string_view word) {
  const std::string plain = plain_option(word.substr(0, word.find('=')));
  for (const CompletedOption& option : command.options) {
    for (const std::string& name : option.names) {
      if (plain_option(name) == plain) return &option;
    }
  }
  return nullptr;
}

// How many of the words after `word` are values of the option; `next` is the first of them.
std::size_t values_behind(const CompletedOption& option, const std::string& word,
                          const std::string& next) {
  const bool has_one = word.find('=') != word.npos;
  switch (option.follows) {
    case Follows::kNothing:
      return 0;
    case Follows::kValue:
    case Follows::kLastValue:
      return has_one ? 0 : 1;
    case Follows::kPerhapsValue:
      return has_one || next.starts_with('-') ? 0 : 1;
    case Follows::kPerhapsNumber:
      return !has_one && is_number_word(next) ? 1 : 0;
    case Follows::kTwoValues:
      return has_one ? 1 : 2;
    case Follows::kNameAndValue:
      return has_one ? 0 : next.find('=') != next.npos ? 1 : 2;
  }
  return 0;
}

void add_networks(Words& words) {
  std::error_code failed;  // on an error there are none
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net", failed)) {
    words.emplace_back(entry.path().filename(), "");
  }
}

void add_variables(Words& words) {
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    words.emplace_back(text.substr(0, text.find('=')), "");
  }
}

// Programs of $PATH, once a letter is typed: all of them are too many.
void add_programs(const std::string& typed, Words& words) {
  const char* path = std::getenv("PATH");
  if (path == nullptr || typed.empty() || typed.find('/') != typed.npos) return;
  for (const std::string& folder : split(path, ':')) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(typed) && entry.is_regular_file(failed) &&
          ::access(entry.path().c_str(), X_OK) == 0) {
        words.emplace_back(name, "");
      }
    }
  }
}

// Whether `items`, "a,b:2,", has `item` already.
bool has_item(const std::string& items, const std::string& item) {
  for (const std::string& each : split(items, ',')) {
    // "host:4" is the host with its slots, and names the same host.
    if (each == item || each.starts_with(item + ":")) return true;
  }
  return false;
}

// `typed` is the value so far, `before` the part of its word in front of it.
Answer answer_value(std::string before, std::string typed, const CompletedValue& value,
                    const std::string& hostfile, const FindWords& find_words) {
  std::string items;
  if (value.list) {
    // ^NAME excludes a network.
    if (value.fill == Fill::kNetworks && typed.starts_with('^')) {
      before += '^';
      typed.erase(0, 1);
    }
    const std::size_t open = typed.rfind('[');
    // Inside "node[01-" a comma separates numbers, not hosts.
    if (open != typed.npos && typed.find(']', open) == typed.npos) return {};
    items = typed.substr(0, typed.rfind(',') + 1);
    typed.erase(0, items.size());
  }
  Answer answer;
  Words found;
  for (const std::string& word : value.words) found.emplace_back(word, "");
  switch (value.fill) {
    case Fill::kNothing:
      break;
    case Fill::kFile:
    case Fill::kHostfile:
      answer = {"files", before + items};
      break;
    case Fill::kFolder:
      answer = {"folders", before + items};
      break;
    case Fill::kNetworks:
      add_networks(found);
      break;
    case Fill::kVariable:
      add_variables(found);
      break;
    case Fill::kCommand:
      answer = {"files", before};
      add_programs(typed, found);
      break;
    case Fill::kHosts:
    case Fill::kJob:
    case Fill::kRunningJob:
      if (find_words) {
        const Words more = find_words(value.fill, hostfile);
        found.insert(found.end(), more.begin(), more.end());
      }
      break;
  }
  for (const auto& [word, help] : found) {
    if (!word.starts_with(typed) || has_item(items, word)) continue;
    answer.words.emplace_back(before + items + word, help);
  }
  return answer;
}

// The options that begin as typed; if none does, those with another spelling.
Answer answer_options(const Completion& completion, const CompletedCommand& command,
                      const std::string& typed) {
  Answer as_typed, otherwise;
  // Other spellings: another case, '_' for '-', or another number of dashes.
  const std::string dashes = typed.substr(0, std::min(typed.find_first_not_of('-'), typed.size()));
  std::string plain = to_lower(typed.substr(dashes.size()));
  std::replace(plain.begin(), plain.end(), '_', '-');
  for (const CompletedOption& option : command.options) {
    if (!option.offered) continue;
    for (const std::string& name : option.names) {
      if (name.starts_with(typed)) as_typed.words.emplace_back(name, option.help);
      if (!plain_option(name).starts_with(plain)) continue;
      const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
      otherwise.words.emplace_back(completion.any_dashes ? dashes + bare : name, option.help);
    }
  }
  return as_typed.words.empty() ? otherwise : as_typed;
}

class Line {
 public:
  Line(const Completion& completion, const std::vector<std::string>& words,
       const FindWords& find_words)
      : completion_(completion),
        words_(words),
        find_words_(find_words),
        command_(&completion.commands.front()) {}

  // Reads the words before the cursor as a parser does: the options' values decide the meaning of
  // the last word.
  Answer answer() {
    if (last() > 0) {
      const CompletedCommand* named = command_named(completion_, words_[0]);
      if (named != nullptr && is_subcommand(*named)) {
        command_ = named;
        first_ = 1;
      }
    }
    for (std::size_t at = first_; at < last(); ++at) {
      if (program_ || only_values_) {
        go_on_behind_a_program(at);
      } else if (words_[at] == "--") {
        if (command_->operand.fill == Fill::kCommand) program_ = at + 1;
      } else if (words_[at].size() > 1 && words_[at][0] == '-') {
        if (const CompletedOption* option = option_named(*command_, words_[at])) {
          // words_[at + 1] exists: at is before the last word.
          const std::size_t values = values_behind(*option, words_[at], words_[at + 1]);
          if (values > 0 && at + values >= last()) {
            return at + 1 < last() ? Answer() : value("", current(), option->value);
          }
          pass(*option, at, values);
          at += values;
        }
      } else if (command_->operand.fill == Fill::kCommand) {
        program_ = at;
      } else {
        ++operands_;
      }
    }
    // The program of such a line is not known here.
    if (only_values_) return {"files", ""};
    if (program_ && *program_ < last()) return {"line", std::to_string(*program_ + 1)};
    if (program_) return value("", current(), {Fill::kCommand});
    return last_word();
  }

 private:
  std::size_t last() const { return words_.size() - 1; }
  const std::string& current() const { return words_.back(); }

  Answer value(const std::string& before, const std::string& typed,
               const CompletedValue& value) const {
    return answer_value(before, typed, value, hostfile_, find_words_);
  }

  // The words after a program belong to it, up to the ':' before the next one.
  void go_on_behind_a_program(std::size_t at) {
    const CompletedCommand* next = words_[at] == ":" ? command_named(completion_, ":") : nullptr;
    if (next == nullptr) return;
    command_ = next;
    program_.reset();
    only_values_ = false;
  }

  void pass(const CompletedOption& option, std::size_t at, std::size_t values) {
    if (option.value.fill == Fill::kHostfile) {
      hostfile_ = values > 0 ? words_[at + 1] : words_[at].substr(words_[at].find('=') + 1);
    }
    only_values_ = option.follows == Follows::kLastValue;
  }

  // Completes the word at the cursor, if it is not the value of the option before it.
  Answer last_word() const {
    const std::string& typed = current();
    const std::size_t equals = typed.find('=');
    if (typed.starts_with('-') && equals != typed.npos) {
      const CompletedOption* option = option_named(*command_, typed);
      if (option == nullptr || option->follows == Follows::kNothing) return {};
      return value(typed.substr(0, equals + 1), typed.substr(equals + 1), option->value);
    }
    if (typed.starts_with('-')) return answer_options(completion_, *command_, typed);
    CompletedValue operand = command_->operand;
    const bool is_taken = operand.fill != Fill::kCommand && operands_ > 0;
    if (is_taken || (command_->operand_first && last() != first_)) operand = {};
    Words subcommands;
    for (const CompletedCommand& command : completion_.commands) {
      if (last() > 0 || !is_subcommand(command) || !command.name.starts_with(typed)) continue;
      subcommands.emplace_back(command.name, command.help);
    }
    const bool takes_nothing = operand.fill == Fill::kNothing && operand.words.empty();
    if (takes_nothing && subcommands.empty()) return answer_options(completion_, *command_, typed);
    Answer answer = value("", typed, operand);
    answer.words.insert(answer.words.begin(), subcommands.begin(), subcommands.end());
    return answer;
  }

  const Completion& completion_;
  const std::vector<std::string>& words_;
  const FindWords& find_words_;
  const CompletedCommand* command_;
  std::size_t first_ = 0;               // the first word after the subcommand
  std::size_t operands_ = 0;            // before the cursor
  std::optional<std::size_t> program_;  // another program's line begins at this word
  bool only_values_ = false;            // after a kLastValue
  std::string hostfile_;
};

}  // namespace

std::string completion_answer(const Completion& completion, std::vector<std::string> words,
                              const FindWords& find_words) {
  // The word at the cursor always exists, but may be empty.
  if (words.empty()) words.emplace_back();
  const Answer answer = Line(completion, words, find_words).answer();
  std::string text = fmt::format("{}\t{}\n", answer.kind, answer.detail);
  for (const auto& [word, help] : answer.words) text += fmt::format("{}\t{}\n", word, help);
  return text;
}

}  // namespace dtl
