// The parser calls these functions for each option that our own table lacks.
#include "launcher/options/foreign_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "launcher/options/foreign_options.h"
#include "launcher/options/help.h"
#include "launcher/options/option_values.h"

namespace dtl {
namespace {

// Open MPI sets parameters of its parts by name: `--mca KEY VALUE`, two words after the option.
bool is_mca(std::string_view spelled) {
  const std::string name = to_lower(bare_name(spelled));
  const auto names = mca_options();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "--iface=^%" and "eth0,lo" -> "--iface=^eth0,lo"
std::string with_value(std::string_view ours, const std::string& value) {
  std::string word(ours);
  const std::size_t at = word.find('%');
  if (at != word.npos) word.replace(at, 1, value);
  return word;
}

bool is_one_of(const std::string& word, std::string_view list) {
  const std::vector<std::string> words = split(list, ',');
  return !word.empty() && std::find(words.begin(), words.end(), word) != words.end();
}

// typed: the whole option, as the user typed it.
void take_foreign(OptionReader& reader, const ForeignOption& option, const std::string& spelled,
                  const std::string& value, const std::string& typed) {
  OptionWords& read = reader.so_far();
  read.foreign.push_back(spelled);
  // A refused option may have harmless values, such as `-launcher-exec ssh`. The value may be a
  // path, /usr/bin/ssh.
  const std::string last = to_lower(value.substr(value.rfind('/') + 1));
  if (is_one_of(last, option.devices)) {
    throw option_error(typed, "dtlaunch runs jobs on CPUs",
                       fmt::format("{} N, or {} auto for a rank on each core", spelled, spelled));
  }
  if (is_one_of(last, option.harmless)) {
    read.notes.push_back(fmt::format("{}: left out: it asks for nothing here", typed));
    return;
  }
  switch (option.kind) {
    case ForeignKind::kIgnored:
      read.notes.push_back(fmt::format("{}: left out: {}", typed, option.text));
      return;
    case ForeignKind::kRefused:
      throw option_error(typed, std::string(option.text), std::string(option.hint));
    case ForeignKind::kSame:
      reader.take(with_value(option.text, value));
      // Errors about the value must name what the user typed, not our option.
      if (read.options.empty()) return;
      read.options.back().spelled = spelled;
      read.options.back().typed = typed;
  }
}

const ForeignOption& mca_parameter(const std::string& spelled, const std::string& key) {
  if (const ForeignOption* option = find_mca_parameter(key)) return *option;
  throw option_error(fmt::format("{} {}", spelled, one_shell_word(key)),
                     "dtlaunch has nothing like this parameter of Open MPI",
                     "the same command without it");
}

// Former names of --scheduler and --show-scheduler.
void refuse_old_option(OptionReader& reader, const std::string& spelled, const char* attached) {
  if (to_lower(bare_name(spelled)) == "show-engine") {
    throw option_error(spelled, "the option is called --show-scheduler", "--show-scheduler");
  }
  if (to_lower(bare_name(spelled)) != "engine") return;
  const std::string value = attached != nullptr ? attached : reader.next_word(spelled, "NAME");
  const RenamedScheduler renamed = renamed_scheduler("option is called --scheduler", value);
  throw option_error(spelled + (attached != nullptr ? "=" : " ") + one_shell_word(value),
                     renamed.why,
                     renamed.value.empty() ? "dtlaunch help hosts"
                                           : "--scheduler " + one_shell_word(renamed.value));
}

void read_foreign(OptionReader& reader, const std::string& spelled, const char* attached) {
  if (is_mca(spelled)) {
    const std::string key = reader.next_word(spelled, "KEY VALUE");
    const std::string value = reader.next_word(spelled, "a value for " + key);
    const ForeignOption& parameter = mca_parameter(spelled, key);
    const bool for_ranks = parameter.text == kForRanks;
    take_foreign(reader, parameter, spelled,
                 for_ranks ? fmt::format("OMPI_MCA_{}={}", key, value) : value,
                 fmt::format("{} {} {}", spelled, one_shell_word(key), one_shell_word(value)));
    return;
  }
  refuse_old_option(reader, spelled, attached);
  const ForeignOption* option = find_foreign_option(spelled);
  // "-t3", as the parser accepts "-n3".
  const std::size_t number = spelled.find_first_of("0123456789");
  const bool is_glued = option == nullptr && attached == nullptr && !spelled.starts_with("--") &&
                        number != spelled.npos && number > 1 &&
                        spelled.find_first_not_of("0123456789:", number) == spelled.npos;
  if (is_glued) {
    const ForeignOption* plain = find_foreign_option(spelled.substr(0, number));
    if (plain != nullptr && plain->values == 1) {
      take_foreign(reader, *plain, spelled.substr(0, number), spelled.substr(number), spelled);
      return;
    }
  }
  if (option == nullptr) reader.refuse_unknown(spelled);
  std::string value = attached == nullptr ? "" : attached;
  // Some launchers accept the option without a value: "-tune -n 2".
  const bool left_out = option->kind == ForeignKind::kIgnored && reader.is_option_next();
  if (option->values > 0 && attached == nullptr && !left_out) {
    value = reader.next_word(spelled, "a value");
  }
  std::string typed = spelled;
  if (attached != nullptr || (option->values > 0 && !left_out)) {
    typed += (attached != nullptr ? "=" : " ") + one_shell_word(value);
  }
  take_foreign(reader, *option, spelled, value, typed);
}

}  // namespace

const Manner& job_manner() {
  static const Manner kManner = {.help = "dtlaunch --help",
                                 .help_of = help_command,
                                 .spelling = Spelling::kMpirun,
                                 .options_first = true,
                                 .unknown = read_foreign};
  return kManner;
}

Manner subcommand_manner(std::string_view help) {
  return {.help = help, .spelling = Spelling::kMpirun};
}

}  // namespace dtl
