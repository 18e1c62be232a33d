// Open MPI's labels (--tag-output and --timestamp-output) win over -l, and a pattern wins over
// both.
#include "launcher/options/output_choice.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options/surroundings.h"

namespace dtl {
namespace {

// The form of Hydra's -l.
constexpr std::string_view kDefaultLabel = "[%r] ";

// auto, block or skip; Open MPI 5 has an option of the same name, "tag,timestamp,dir=D".
OutputMode output_mode(OutputChoice& choice) {
  OutputMode mode = OutputMode::kAuto;
  if (choice.mode.empty()) return mode;
  for (const std::string& word : split(choice.mode, ',')) {
    if (word == "auto") {
      mode = OutputMode::kAuto;
    } else if (word == "block") {
      mode = OutputMode::kBlock;
    } else if (word == "skip") {
      mode = OutputMode::kSkip;
    } else if (word == "tag") {
      choice.tag = true;
    } else if (word == "timestamp") {
      choice.time = true;
    } else if (word.starts_with("dir=") && word.size() > 4) {
      choice.log_directory = word.substr(4);
    } else {
      const std::vector<std::string> words = {"auto", "block", "skip"};
      const std::string near = nearest_word(word, words);
      throw option_error(fmt::format("--output {}", choice.mode),
                         fmt::format("unknown word '{}' (auto, block, skip; or of Open MPI tag, "
                                     "timestamp, dir=DIR)",
                                     printable(word)),
                         "--output " + (near.empty() ? words[0] : near));
    }
  }
  return mode;
}

// Open MPI's directives after a name: "DIR:nocopy" writes output there and does not show it.
void take_directives(OutputChoice& choice) {
  constexpr std::string_view kNoCopy = ":nocopy", kNoJob = ":nojobid", kCopy = ":copy";
  std::string& directory = choice.log_directory;
  for (const std::string_view directive : {kNoCopy, kNoJob, kCopy}) {
    if (!directory.ends_with(directive)) continue;
    directory.resize(directory.size() - directive.size());
    // The user's own --only still applies.
    if (directive == kNoCopy && choice.only.empty()) choice.only = "none";
    return;
  }
}

// "0,3-5"
std::set<int> rank_set(const std::string& text) {
  std::set<int> ranks;
  for (const std::string& part : split(text, ',')) {
    // Without a dash find() gives npos, and substr() the whole part.
    const std::size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash), 0, kMaxRanks - 1);
    const auto last =
        dash == std::string::npos ? first : parse_integer(part.substr(dash + 1), 0, kMaxRanks - 1);
    if (!first || !last || *last < *first) {
      throw option_error(fmt::format("--only {}", text),
                         fmt::format("'{}' is neither a rank nor a range of ranks (0 to {})",
                                     printable(part), kMaxRanks - 1),
                         "--only 0,3-5");
    }
    for (auto rank = *first; rank <= *last; ++rank) ranks.insert(static_cast<int>(rank));
  }
  return ranks;
}

LineLabel label_of(const OutputChoice& choice) {
  if (!choice.pattern.empty()) return LineLabel::parse(choice.pattern);
  if (choice.tag || choice.time) return LineLabel::open_mpi(choice.tag, choice.time);
  return choice.prepend_rank ? LineLabel::parse(kDefaultLabel) : LineLabel();
}

}  // namespace

ColorMode parse_color(const std::string& text, const std::string& typed) {
  if (text.empty() || text == "auto") return ColorMode::kAuto;
  if (text == "always") return ColorMode::kAlways;
  if (text == "never") return ColorMode::kNever;
  const std::vector<std::string> words = {"auto", "always", "never"};
  const std::string near = nearest_word(text, words);
  throw option_error(typed, fmt::format("not one of {}", join(words, ", ")),
                     "--color " + (near.empty() ? words[0] : near));
}

ColorMode wanted_color(const std::string& option, const Variables& environment) {
  if (!option.empty()) return parse_color(option, "--color " + option);
  const std::string* const value = find_variable(environment, "DTL_COLOR");
  return value == nullptr ? ColorMode::kAuto : parse_color(*value, "DTL_COLOR=" + *value);
}

ConsoleOptions console_options(OutputChoice choice, const std::string& directory) {
  ConsoleOptions options;
  options.mode = output_mode(choice);
  take_directives(choice);
  options.label = label_of(choice);
  options.color = parse_color(choice.color, fmt::format("--color {}", choice.color));
  if (choice.fold && choice.no_fold) {
    throw option_error("--no-fold", "--fold is given as well", "--no-fold alone");
  }
  // Without either option the console folds output on a terminal.
  if (choice.fold || choice.no_fold) options.fold = choice.fold;
  options.hide_all = choice.only == "none";
  if (!options.hide_all && !choice.only.empty()) options.only = rank_set(choice.only);
  // File names use the same letters after % as labels. An empty pattern means no file.
  options.outfile = LineLabel::parse(choice.outfile);
  options.errfile = LineLabel::parse(choice.errfile);
  if (!choice.log_directory.empty()) {
    options.log_directory =
        (std::filesystem::path(directory) / choice.log_directory).lexically_normal().string();
  }
  return options;
}

InputChoice input_choice(const OutputChoice& choice) {
  InputChoice input;
  if (choice.input.empty()) return input;
  if (choice.input == "all") {
    input.mode = InputMode::kAll;
  } else if (choice.input == "none") {
    input.mode = InputMode::kNone;
  } else if (const auto rank = parse_integer(choice.input, 0, kMaxRanks - 1)) {
    input.rank = static_cast<int>(*rank);
  } else {
    throw option_error(fmt::format("--stdin {}", choice.input), "not a rank, all or none",
                       "--stdin 0");
  }
  return input;
}

}  // namespace dtl
