#include "trainer/settings/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>

#include "base/completion.h"
#include "base/error.h"
#include "base/text.h"
#include "trainer/settings/argument_file.h"
#include "trainer/settings/option_table.h"
#include "trainer/settings/settings_check.h"

namespace dtl::trainer {
namespace {

using Names = std::set<std::string>;

bool asks_about_program(const Settings& settings) {
  return settings.help || settings.version || !settings.shell.empty();
}

bool may_stand_alone(const std::string& word) {
  const Option* option = word.starts_with("--") ? find_option(word.substr(2)) : nullptr;
  return option != nullptr && needs_no_value(*option);
}

// --do-train is --do_train, and "--do_train True" is "--do_train=true": run_glue's parser takes
// both.
std::vector<std::string> canonical(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  bool alone = false;  // the last word is an option that needs no value
  for (const std::string& argument : arguments) {
    std::string word = argument;
    if (word.starts_with("--")) {
      const auto end =
          word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size()));
      std::replace(word.begin() + 2, end, '-', '_');
    }
    const std::string lower = to_lower(word);
    if (alone && (lower == "true" || lower == "false")) {
      words.back() += "=" + lower;
      alone = false;
      continue;
    }
    if (alone && !is_flag(*find_option(words.back().substr(2)))) {
      const bool value = !word.starts_with("-");
      words.back() += value && !word.empty() ? "=" + word : "=true";
      alone = false;
      if (value) continue;
    }
    alone = may_stand_alone(word);
    words.push_back(word);
  }
  if (alone) words.back() += "=true";
  return words;
}

// A parser that writes into `settings`, and where the options that have no place there end.
class Parser {
 public:
  explicit Parser(Settings& settings) : settings_(settings) {
    app_.set_help_flag();
    app_.allow_extras();
    app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app_.add_flag("-h,--help", settings.help);
    app_.add_flag("--version", settings.version);
    app_.add_option("--completion", settings.shell)->check(CLI::IsMember(split(kShells, '|')));
    app_.add_flag("-v,--verbose", settings.verbose);
    for (const Option& option : option_table()) add(option);
  }

  // Adds the names of the options that occurred to `given`.
  void parse(std::vector<std::string> words, Names& given) {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      throw Error(Exit::kUsage, "bad command line", error.what(), "dttrain --help");
    }
    if (asks_about_program(settings_)) return;
    if (!app_.remaining().empty()) reject_word(app_.remaining().front());
    for (const Option& option : option_table()) {
      const CLI::Option& found = *app_.get_option(std::string("--") + option.name);
      if (found.count() == 0) continue;
      given.insert(option.name);
      note_unused(option, found.as<std::string>());
    }
  }

 private:
  void add(const Option& option) {
    std::visit(
        [&](const auto& target) { declare(std::string("--") + option.name, option, target); },
        option.target);
  }

  void declare(const std::string& name, const Option&, bool Settings::*member) {
    app_.add_flag(name, settings_.*member);
  }
  void declare(const std::string& name, const Option&, std::string Settings::*member) {
    app_.add_option(name, settings_.*member);
  }
  void declare(const std::string& name, const Option& option, Word word) {
    app_.add_option(name, settings_.*word.member)->check(CLI::IsMember(split(option.value, '|')));
  }
  void declare(const std::string& name, const Option&, OptionalText text) {
    app_.add_option(name, settings_.*text.member);
  }
  void declare(const std::string& name, const Option&, Steps steps) {
    app_.add_option(name, settings_.*steps.member)
        ->check(CLI::Range(0.0, 1e12))
        ->check([](const std::string& text) {
          double value = 0;
          CLI::detail::lexical_cast(text, value);
          return value < 1 || value == std::floor(value) ? "" : text + " is no whole number";
        });
  }
  template <class T>
  void declare(const std::string& name, const Option&, const Number<T>& number) {
    app_.add_option(name, settings_.*number.member)->check(CLI::Range(number.low, number.high));
  }
  void declare(const std::string& name, const Option& option, Ignored) {
    unused(name, is_flag(option));
  }
  void declare(const std::string& name, const Option& option, Refused) {
    unused(name, is_flag(option));
  }
  void unused(const std::string& name, bool flag) {
    if (flag) {
      app_.add_flag(name, unused_flags_.emplace_back(false));
    } else {
      app_.add_option(name, unused_texts_.emplace_back());
    }
  }

  void note_unused(const Option& option, const std::string& value) {
    if (is_flag(option) && value == "false") return;
    if (std::holds_alternative<Refused>(option.target)) {
      throw Error(Exit::kUsage, fmt::format("--{}", option.name), option.help);
    }
    if (std::holds_alternative<Ignored>(option.target)) {
      settings_.notices.push_back(
          fmt::format("--{} has no effect here: {}", option.name, option.help));
    }
  }

  [[noreturn]] static void reject_word(const std::string& word) {
    std::string name = word.substr(0, word.find('='));
    name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
    const std::string near = word.starts_with("-") ? nearest_option(name) : "";
    throw Error(Exit::kUsage, fmt::format("unknown option \"{}\"", word),
                near.empty() ? "" : fmt::format("did you mean --{}?", near),
                near.empty() ? "dttrain --help" : "");
  }

  Settings& settings_;
  CLI::App app_;
  std::deque<bool> unused_flags_;
  std::deque<std::string> unused_texts_;
};

void parse_file(const std::string& path, Settings& settings, Names& given) {
  for (const FileArgument& argument : read_argument_file(path)) {
    const std::string place = fmt::format("{}: \"{}\"", argument.where, argument.name);
    if (find_option(argument.name) == nullptr) {
      const std::string near = nearest_option(argument.name);
      throw Error(Exit::kUsage, place, "no option has this name",
                  near.empty() ? "dttrain --help" : near);
    }
    try {
      Parser(settings).parse(canonical({"--" + argument.name + "=" + argument.value}), given);
    } catch (const Error& error) {
      throw Error(Exit::kUsage, place, error.reason());
    }
  }
}

nlohmann::ordered_json json_value(const Settings& s, const Option& option) {
  return std::visit(
      [&](const auto& target) -> nlohmann::ordered_json {
        using T = std::decay_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool Settings::*> ||
                      std::is_same_v<T, std::string Settings::*>) {
          return s.*target;
        } else if constexpr (std::is_same_v<T, Steps>) {
          const double value = s.*target.member;
          if (value >= 1 || value == 0) return static_cast<std::int64_t>(value);
          return value;
        } else if constexpr (std::is_same_v<T, Ignored> || std::is_same_v<T, Refused>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, Word> || std::is_same_v<T, OptionalText>) {
          return s.*target.member;
        } else if (s.*target.member >= target.low) {
          return s.*target.member;
        } else {
          return nullptr;  // nothing was said
        }
      },
      option.target);
}

nlohmann::ordered_json written_options(const Settings& settings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Option& option : option_table()) {
    if (std::string_view(option.group) == kOtherNames) continue;
    nlohmann::ordered_json value = json_value(settings, option);
    if (!value.is_null() && value != "") json[option.name] = std::move(value);
  }
  return json;
}

}  // namespace

Settings demo_settings(const Settings& given) {
  Settings s;
  s.demo = true;
  s.output_dir = given.output_dir;
  s.overwrite_output_dir = given.overwrite_output_dir;
  s.seed = given.seed;
  s.logging_steps = given.logging_steps;
  s.report_to = given.report_to;
  s.logging_dir = given.logging_dir;
  s.disable_tqdm = given.disable_tqdm;
  s.notices = given.notices;
  s.task = "classification";
  s.save_strategy = "no";
  s.do_train = s.do_eval = true;
  s.global_batch = 32;
  s.eval_batch = 64;
  s.epochs = 6;
  s.learning_rate = 2e-3;
  s.warmup_ratio = 0.1;
  s.weight_decay = 0.01;
  s.max_seq_length = kDemoLength;
  return s;
}

Settings parse_settings(const std::vector<std::string>& arguments) {
  Settings settings;
  Names given;
  std::vector<std::string> rest = arguments;
  if (!rest.empty() && is_argument_file(rest.front())) {
    parse_file(rest.front(), settings, given);
    rest.erase(rest.begin());
  }
  Parser(settings).parse(canonical(rest), given);
  if (asks_about_program(settings)) return settings;
  if (settings.demo) settings = demo_settings(settings);
  complete_settings(settings, given);
  return settings;
}

std::string settings_json(const Settings& settings) {
  return written_options(settings).dump(2) + "\n";
}

std::vector<std::pair<std::string, std::string>> settings_rows(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> rows;
  const nlohmann::ordered_json options = written_options(settings);
  for (const auto& [name, value] : options.items()) {
    rows.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return rows;
}

std::string help_text() {
  std::string text =
      "Usage: dttrain --model_name_or_path FOLDER --do_train --train_file FILE --output_dir "
      "FOLDER\n"
      "       dttrain ARGUMENTS.json [OPTION ...]      (or .toml)\n"
      "       dttrain --demo\n"
      "       dttrain init ...      (dttrain init --help)\n"
      "\n"
      "Fine-tunes a BERT or DistilBERT model to classify texts or to answer questions on this\n"
      "machine's CPUs, or with others: each rank of a job runs the same command. Only rank 0 "
      "reads\n"
      "and writes data, models and results.\n";
  constexpr std::size_t kNameWidth = 36;
  std::string group;
  for (const Option& option : option_table()) {
    if (group != option.group) text += fmt::format("\n{}:\n", group = option.group);
    std::string name =
        fmt::format("  --{}{}{}", option.name, *option.value ? " " : "", option.value);
    if (name.size() > kNameWidth) name += fmt::format("\n{:{}}", "", kNameWidth);
    text += fmt::format("{:<{}} {}\n", name, kNameWidth, option.help);
  }
  text += "\nOther:\n";
  for (const ProgramOption& option : program_options()) {
    const std::string name = fmt::format("  {} {}", join(option.names, ", "), option.value);
    text += fmt::format("{:<{}} {}\n", name, kNameWidth, option.help);
  }
  return text;
}

}  // namespace dtl::trainer
