#include "launcher/output_choice.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kDefaultLabel = "[%r] ";

ColorMode color_mode(const std::string& text) {
  if (text.empty() || text == "auto") return ColorMode::kAuto;
  if (text == "always") return ColorMode::kAlways;
  if (text == "never") return ColorMode::kNever;
  throw Error(Exit::kUsage, fmt::format("--color {}", text), "the word is unknown",
              "--color auto, always or never");
}

OutputMode output_mode(const std::string& text) {
  if (text.empty() || text == "auto") return OutputMode::kAuto;
  if (text == "block") return OutputMode::kBlock;
  if (text == "skip") return OutputMode::kSkip;
  throw Error(Exit::kUsage, fmt::format("--output {}", text), "the word is unknown",
              "--output auto, block or skip");
}

// "0,3-5"
std::set<int> rank_set(const std::string& text) {
  std::set<int> ranks;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash), 0, kMaxRanks - 1);
    const auto last =
        dash == std::string::npos ? first : parse_integer(part.substr(dash + 1), 0, kMaxRanks - 1);
    if (!first || !last || *last < *first) {
      throw Error(Exit::kUsage, fmt::format("--only {}", text),
                  fmt::format("'{}' is no rank and no range of ranks", part),
                  "--only 0,3-5, or --only none");
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

ConsoleOptions console_options(const OutputChoice& choice, const std::string& directory) {
  ConsoleOptions options;
  options.label = label_of(choice);
  options.color = color_mode(choice.color);
  options.mode = output_mode(choice.mode);
  if (choice.fold && choice.no_fold) {
    throw Error(Exit::kUsage, "--fold and --no-fold are both given", "", "one of the two");
  }
  if (choice.fold || choice.no_fold) options.fold = choice.fold;
  options.hide_all = choice.only == "none";
  if (!options.hide_all && !choice.only.empty()) options.only = rank_set(choice.only);
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
    throw Error(Exit::kUsage, fmt::format("--stdin {}", choice.input),
                "it names neither a rank nor all nor none", "--stdin 0");
  }
  return input;
}

}  // namespace dtl
