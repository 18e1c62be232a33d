// Combines arguments, files and the option table. The command line overrides the file, and later
// arguments override earlier ones. settings_check.cc checks rules between options.
#include "trainer/settings/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/options/completion.h"
#include "base/text.h"
#include "trainer/settings/argument_file.h"
#include "trainer/settings/help.h"
#include "trainer/settings/option_table.h"
#include "trainer/settings/settings_check.h"
#include "trainer/settings/stock_options.h"
#include "trainer/settings/unused_options.h"

namespace dtl::trainer {
namespace {

using Names = std::set<std::string>;

bool asks_about_program(const Settings& settings) {
  return settings.help || settings.help_all || settings.version || !settings.shell.empty();
}

constexpr const char* kHelp = "dttrain --help";

// "--no-pad-to-max-length" from "--pad_to_max_length".
std::string negated_name(std::string spelled) {
  if (!spelled.starts_with("--no")) return "";
  std::replace(spelled.begin() + 2, spelled.end(), '-', '_');
  return spelled.starts_with("--no_") ? "--" + spelled.substr(5) : "";
}

// As Hugging Face's parser: accepts --do-train for --do_train, "--do_train True", --no_NAME, and
// the last of several values. Reports arguments that are not options unless the user asked about
// the program itself (--help).
const Manner& manner() {
  static const Manner kManner{
      .help = kHelp,
      .last_wins = true,
      .true_or_false = true,
      .empty_values = true,
      .unknown = [](OptionReader& reader, const std::string& spelled, const char* attached) {
        const std::string negated = negated_name(spelled);
        if (attached == nullptr && may_be_negated(negated)) {
          reader.take(negated + "=false");
        } else {
          reader.so_far().rest.push_back(spelled);
        }
      }};
  return kManner;
}

const OptionPlace* find_place(const std::vector<OptionPlace>& places, const std::string& word) {
  // A key may have dashes between its words, and so has the word then.
  const auto found = std::find_if(places.begin(), places.end(),
                                  [&](const OptionPlace& at) { return "--" + at.key == word; });
  return found == places.end() ? nullptr : &*found;
}

// What newcomers write for an option whose name is too long for nearest_option().
std::string usual_name(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"lr", "--learning_rate"},
      {"epochs", "--num_train_epochs"},
      {"num_epochs", "--num_train_epochs"},
      {"model", "--model_name_or_path"},
      {"model_name", "--model_name_or_path"},
      {"batch_size", "--per_device_train_batch_size"},
      {"output", "--output_dir"},
      {"data", "--data_dir"},
      {"task", "--task_name"}};
  std::string name(bare_name(word));
  std::replace(name.begin(), name.end(), '-', '_');
  for (const auto& [theirs, ours] : kShort) {
    if (name == theirs) return std::string(ours);
  }
  return nearest_option(option_table().options(), word);
}

// A key that no option has, or only the command line.
Error unknown_key(const OptionPlace& at, const std::string& name) {
  const auto table = option_table().options();
  const bool known = find_option(table, "--" + name, Spelling::kExact) != nullptr;
  const std::string near = known ? "" : usual_name("--" + name);
  const Option* other = near.empty() ? nullptr : find_option(table, near, Spelling::kExact);
  std::string hint = kHelp;
  if (other != nullptr && may_stand_in_file(*other)) {
    hint = at.shown;
    hint.replace(hint.find(at.key), at.key.size(), bare_name(near));
  }
  return Error(Exit::kUsage, at.where(),
               known ? "no file has this option" : "no option has this name", hint);
}

[[noreturn]] void reject_word(const std::string& word, const std::vector<OptionPlace>& places) {
  if (const OptionPlace* at = find_place(places, word)) throw unknown_key(*at, at->key);
  const std::vector<std::string> commands = {"init", "encode"};
  const std::string near = word.starts_with("-")             ? usual_name(word)
                           : nearest(word, commands).empty() ? ""
                                                             : "dttrain " + nearest(word, commands);
  throw Error(Exit::kUsage, word, word.starts_with("-") ? "unknown option" : "not an option",
              near.empty() ? kHelp : near);
}

// The word that was meant, of an option that takes one of several; else the help that lists it.
std::string hint_for(const GivenOption& given) {
  const std::string_view column = given.option->value;
  const std::string help = in_short_help(*given.option) ? kHelp : "dttrain --help-all";
  if (column.find('|') == column.npos) return help;
  const std::vector<std::string> words = split(column, '|');
  const std::string near = nearest(to_lower(given.value), words);
  return near.empty() ? help : fmt::format("{} {}", given.option->names.back(), near);
}

// `given` tells a value that somebody wrote from a default: some rules need the difference.
void take(const std::vector<GivenOption>& options, Settings& settings, Names& given) {
  for (const GivenOption& each : options) {
    option_table().apply({each}, settings, hint_for(each));
    // By the last name, which is also the key in files.
    given.insert(std::string(bare_name(each.option->names.back())));
  }
}

// The same for one that stands in a file. A flag is true or false there: the text "yes" would be
// true on the command line, and in transformers every text is.
void take_placed(const OptionPlace& at, GivenOption given, Settings& settings, Names& names) {
  given.typed = at.where();
  if (given.option->takes == Takes::kNothing && !at.is_truth()) {
    const bool truth = parse_truth(given.value).value_or(true);
    throw Error(Exit::kUsage, at.where(), "neither true nor false",
                hint_in_file(fmt::format("--{} {}", at.key, truth), at));
  }
  try {
    take({given}, settings, names);
  } catch (const Error& error) {
    // kUsage whatever has failed: all ranks read the same file, and one complaint is enough.
    throw Error(Exit::kUsage, error.attempted(), error.reason(), hint_in_file(error.hint(), at));
  }
}

// The option as in a shell. `typed` lacks the value of a secret.
std::string shown_option(const GivenOption& given) {
  const bool hidden = given.option->takes != Takes::kNothing && looks_secret(given.spelled) &&
                      given.typed == given.spelled;
  return hidden ? given.typed + " ***" : given.typed;
}

// Returns the canonical names of the options that stand in no file.
std::vector<std::string> parse_words(const std::vector<std::string>& arguments,
                                     const std::vector<OptionPlace>& places, Settings& settings,
                                     Names& given) {
  std::vector<std::string> on_line;
  const OptionWords words = read_option_words(option_table().options(), arguments, manner());
  for (const GivenOption& each : words.options) {
    settings.command += " " + shown_option(each);
    if (const OptionPlace* at = find_place(places, each.spelled)) {
      take_placed(*at, each, settings, given);
    } else {
      take({each}, settings, given);
      on_line.emplace_back(each.option->names.back());
    }
  }
  if (!asks_about_program(settings) && !words.rest.empty()) {
    reject_word(words.rest.front(), places);
  }
  return on_line;
}

// Names in a file must be complete: only the command line allows abbreviations.
const Option& option_in_file(const FileArgument& argument) {
  const Option* option =
      find_option(option_table().options(), "--" + argument.name, Spelling::kExact);
  if (option != nullptr && may_stand_in_file(*option)) return *option;
  throw unknown_key(argument.at, argument.name);
}

// Returns the places of its options.
std::vector<OptionPlace> parse_file(const std::string& path, Settings& settings, Names& given) {
  std::vector<std::string> usual;
  std::vector<OptionPlace> places;
  for (const FileArgument& argument : read_argument_file(path)) {
    const Option& option = option_in_file(argument);
    // transformers' training_args.json has a hundred such keys: report them in one line.
    if (is_usual(option, argument.value)) {
      usual.push_back(argument.name);
      continue;
    }
    if (argument.is_object && option.value != "JSON") {
      throw Error(Exit::kUsage, argument.at.where(), "must be a text, a number, true or false",
                  kHelp);
    }
    take_placed(argument.at, {&option, argument.value, argument.name}, settings, given);
    places.push_back(argument.at);
  }
  if (!usual.empty()) {
    settings.notices.push_back(fmt::format("{}: these have no effect here, with these values: {}",
                                           path, join(usual, ", ")));
  }
  return places;
}

// A file may list every option, as training_args.json does: defaults there tell nothing about what
// its author expects.
Names without_defaults_in_files(Names given, const Settings& settings,
                                const std::vector<OptionPlace>& places,
                                const std::vector<std::string>& on_line) {
  const Settings usual = default_settings(settings);
  for (const OptionPlace& at : places) {
    const Option* option =
        find_option(option_table().options(), option_of_key(at.key), Spelling::kExact);
    if (option == nullptr) continue;
    const auto& get = option_table().target(*option).get;
    const std::string own(option->names.back());
    const bool typed = std::find(on_line.begin(), on_line.end(), own) != on_line.end();
    if (get && !typed && get(settings) == get(usual)) given.erase(std::string(bare_name(own)));
  }
  return given;
}

nlohmann::ordered_json json_value(const OptionValue& value) {
  return std::visit(
      [](const auto& given) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, std::monostate>) {
          return nullptr;
        } else {
          return given;
        }
      },
      value);
}

// In table order. Options without a getter, such as --help, are not part of a run.
nlohmann::ordered_json written_options(const Settings& settings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Option& option : option_table().options()) {
    const auto& get = option_table().target(option).get;
    nlohmann::ordered_json value = get ? json_value(get(settings)) : nullptr;
    if (value.is_null() || value == "") continue;
    json[std::string(bare_name(option.names.back()))] = std::move(value);
  }
  return json;
}

}  // namespace

// Chosen to take less than a minute on two cores and to beat a bag of words (demo.h).
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
  s.report_examples = given.report_examples;
  s.command = given.command;
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

Settings parse_settings(const std::vector<std::string>& arguments,
                        const std::vector<OptionPlace>& places) {
  Settings settings;
  Names given;
  std::vector<std::string> rest = arguments;
  std::vector<OptionPlace> in_files = places;
  settings.command = "dttrain";
  // Only as the first word: elsewhere a name that ends in .json is an option's value.
  if (!rest.empty() && is_argument_file(rest.front())) {
    const std::vector<OptionPlace> more = parse_file(rest.front(), settings, given);
    in_files.insert(in_files.end(), more.begin(), more.end());
    settings.command += " " + one_shell_word(rest.front());
    rest.erase(rest.begin());
  }
  const std::vector<std::string> on_line = parse_words(rest, places, settings, given);
  // Before the checks: --help must work on an incomplete command line.
  if (asks_about_program(settings)) return settings;
  if (settings.demo) settings = demo_settings(settings);
  settings.pad_was_said =
      std::find(on_line.begin(), on_line.end(), "--pad_to_max_length") != on_line.end();
  try {
    complete_settings(settings, given);
  } catch (const Error& error) {
    throw where_it_stands(error, in_files, on_line);
  }
  const Names expected = without_defaults_in_files(given, settings, in_files, on_line);
  for (std::string& line : unused_options(settings, expected)) {
    settings.notices.push_back(std::move(line));
  }
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

}  // namespace dtl::trainer
