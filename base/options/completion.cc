#include "base/options/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/options/completion_parts.h"
#include "base/text.h"

namespace dtl {
namespace {

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

Fill fill_of_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Fill>, 8> kNames{{{"FILE", Fill::kFile},
                                                                     {"FOLDER", Fill::kFolder},
                                                                     {"DIR", Fill::kFolder},
                                                                     {"LIST", Fill::kHosts},
                                                                     {"NET", Fill::kNetworks},
                                                                     {"VARIABLE", Fill::kVariable},
                                                                     {"JOB", Fill::kJob},
                                                                     {"PROGRAM", Fill::kCommand}}};
  for (const auto& [known, fill] : kNames) {
    if (name == known) return fill;
  }
  return Fill::kNothing;
}

// The assignments of a branch: "takes=one fill=file".
std::string assignments(const CompletedValue& value) {
  std::string text = fmt::format("fill={}", fill_name(value.fill));
  if (!value.words.empty()) text += " choice=" + shell_quoted(join(value.words, " "));
  if (value.list) text += " list=1";
  return text;
}

}  // namespace

CompletedValue value_of_column(std::string_view column) {
  CompletedValue value;
  // "NET[,NET]" and "ompi|horovod,.."
  const std::size_t comma = std::min(column.find("[,"), column.find(",.."));
  value.list = comma != column.npos || column == "LIST";
  column = column.substr(0, comma);
  for (const std::string& piece : split(column, '|')) {
    const auto capital = std::find_if(piece.begin(), piece.end(), is_capital);
    const std::string word(piece.begin(), capital);
    const std::string name(capital, std::find_if_not(capital, piece.end(), is_capital));
    if (!word.empty()) value.words.push_back(word);
    if (word.empty() && value.fill == Fill::kNothing) value.fill = fill_of_name(name);
  }
  return value;
}

std::string completion_script(const Completion& completion, const std::string& shell) {
  if (shell == "bash") return bash_completion(completion);
  if (shell == "zsh") return zsh_completion(completion);
  if (shell == "fish") return fish_completion(completion);
  throw Error(Exit::kUsage, fmt::format("--completion: there is none for '{}'", shell), "",
              "--completion bash, zsh or fish");
}

bool uses(const Completion& completion, Fill fill) {
  for (const CompletedCommand& command : completion.commands) {
    if (command.operand.fill == fill) return true;
    for (const CompletedOption& option : command.options) {
      if (option.value.fill == fill) return true;
    }
  }
  return false;
}

std::string_view fill_name(Fill fill) {
  constexpr std::array<std::string_view, 10> kNames{"nothing", "file",     "folder",   "hostfile",
                                                    "hosts",   "networks", "variable", "job",
                                                    "running", "command"};
  return kNames.at(static_cast<std::size_t>(fill));
}

std::string_view follows_name(Follows follows) {
  constexpr std::array<std::string_view, 6> kNames{"none", "one", "perhaps", "two", "pair", "last"};
  return kNames.at(static_cast<std::size_t>(follows));
}

std::string plain_option(std::string_view name) {
  const std::size_t first = std::min(name.find_first_not_of('-'), name.size());
  std::string plain(name.substr(first));
  if (plain.size() < 2) return plain;
  plain = to_lower(plain);
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

std::string function_name(const std::string& program) {
  std::string name = program;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::string shell_quoted(const std::string& text) {
  return fmt::format("'{}'", join(split(text, '\''), "'\\''"));
}

std::string option_branches(const Completion& completion) {
  std::string text;
  for (const CompletedCommand& command : completion.commands) {
    for (const CompletedOption& option : command.options) {
      std::vector<std::string> keys;
      for (const std::string& name : option.names) {
        keys.push_back(command.name + "/" + plain_option(name));
      }
      const bool plain = option.follows == Follows::kNothing;
      text +=
          fmt::format("    {}) takes={}{} ;;\n", join(keys, " | "), follows_name(option.follows),
                      plain ? "" : " " + assignments(option.value));
    }
  }
  return text;
}

std::string operand_branches(const Completion& completion) {
  std::string text;
  for (const CompletedCommand& command : completion.commands) {
    text += fmt::format("    {}) {}{} ;;\n", shell_quoted(command.name),
                        assignments(command.operand), command.operand_first ? " first=1" : "");
  }
  return text;
}

std::string fill_in(std::string_view text,
                    const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t at = text.find('@');
    filled += text.substr(0, at);
    if (at == text.npos) break;
    text.remove_prefix(at + 1);
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& value) {
      return text.starts_with(std::string(value.first) + "@");
    });
    if (found == values.end()) {
      filled += '@';
    } else {
      filled += found->second;
      text.remove_prefix(found->first.size() + 1);
    }
  }
  return filled;
}

}  // namespace dtl
