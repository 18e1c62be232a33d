#include "launcher/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options.h"

namespace dtl {
namespace {

struct Canonical {
  std::vector<std::string> options;  // "--name" or "--name=value"
  std::vector<std::string> command;
};

// Walks the words of the command line; next() throws when an option's value is missing.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}
  bool left() const { return at_ < words_.size(); }
  const std::string& peek() const { return words_[at_]; }
  const std::string& take() { return words_[at_++]; }
  const std::string& value_of(std::string_view spelled, std::string_view value_name) {
    if (!left()) {
      throw Error(Exit::kUsage, fmt::format("option '{}' needs {}", spelled, value_name), "",
                  "dtlaunch --help");
    }
    return take();
  }
  std::vector<std::string> rest() const {
    return {words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end()};
  }

 private:
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
};

[[noreturn]] void refuse_unknown(std::string_view spelled) {
  const std::string near = nearest_option(spelled);
  throw Error(Exit::kUsage, fmt::format("unknown option '{}'", spelled), "",
              near.empty() ? "dtlaunch --help" : near);
}

// -v may be repeated in one word: "-vv".
std::size_t verbose_count(std::string_view word) {
  const std::string_view bare = bare_name(word);
  const bool only_v = !bare.empty() && bare.find_first_not_of('v') == std::string_view::npos;
  return only_v ? bare.size() : 0;
}

bool is_variable_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
  const bool starts_with_digit = !name.empty() && name[0] >= '0' && name[0] <= '9';
  return !name.empty() && !starts_with_digit &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::string variable_value(std::string_view spelled, const std::string& first, Words& words) {
  const std::size_t equals = first.find('=');
  const std::string name = first.substr(0, equals);
  if (!is_variable_name(name)) {
    throw Error(Exit::kUsage, fmt::format("option '{}'", spelled),
                fmt::format("'{}' is no name of a variable", name),
                fmt::format("{} NAME=VALUE", spelled));
  }
  if (equals != std::string::npos) return first;
  return first + "=" + words.value_of(spelled, fmt::format("a value for {}", first));
}

void canonicalise_option(const std::string& word, Words& words, Canonical& canonical) {
  if (const std::size_t count = verbose_count(word)) {
    canonical.options.insert(canonical.options.end(), count, "--verbose");
    return;
  }
  const std::size_t equals = word.find('=');
  const std::string spelled = word.substr(0, equals);
  const Option* option = find_option(spelled);
  if (option == nullptr) refuse_unknown(spelled);
  std::string flag = fmt::format("--{}", bare_name(option->names.back()));
  if (option->takes == Takes::kNothing) {
    if (equals != std::string::npos) {
      throw Error(Exit::kUsage, fmt::format("option '{}' takes no value", spelled),
                  fmt::format("'{}' was given", word.substr(equals + 1)));
    }
    canonical.options.push_back(flag);
    return;
  }
  std::string value = equals != std::string::npos ? word.substr(equals + 1)
                                                  : words.value_of(spelled, option->value);
  if (option->takes == Takes::kVariable) value = variable_value(spelled, value, words);
  if (value.empty()) {
    throw Error(Exit::kUsage, fmt::format("option '{}'", spelled), "the value is empty");
  }
  canonical.options.push_back(flag + "=" + value);
}

Canonical canonicalise(const std::vector<std::string>& arguments) {
  Canonical canonical;
  Words words(arguments);
  while (words.left() && words.peek().size() > 1 && words.peek()[0] == '-') {
    const std::string word = words.take();
    if (word == "--") break;
    canonicalise_option(word, words, canonical);
  }
  canonical.command = words.rest();
  return canonical;
}

void refuse_repeated(const std::vector<std::string>& options) {
  std::set<std::string> seen;
  for (const std::string& text : options) {
    const std::string flag = text.substr(0, text.find('='));
    const Option* option = find_option(flag);
    if (option->repeatable || seen.insert(flag).second) continue;
    throw Error(Exit::kUsage, fmt::format("option '{}'", option->names.back()),
                "it is given more than once");
  }
}

std::string check_seconds(const std::string& text, double low) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool number = end == text.c_str() + text.size() && std::isfinite(seconds);
  if (number && seconds >= low && seconds <= 1e7) return {};
  return fmt::format("'{}' is no number of seconds from {} to 10000000", text, low);
}

std::string check_count(const std::string& text) {
  if (parse_integer(text, 1, kMaxRanks)) return {};
  return fmt::format("'{}' is no number from 1 to {}", text, kMaxRanks);
}

std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

// What CLI11 fills in before it becomes a CommandLine.
struct Raw {
  CommandLine line;
  bool help = false, version = false, show_limits = false;
  std::vector<std::string> genv, env;
  double timeout = 0, grace = 0;
};

void define(CLI::App& app, Raw& raw) {
  CommandLine& line = raw.line;
  const CLI::Validator count(check_count, "N");
  auto* hostfile = app.add_option("--hostfile", line.hostfile);
  app.add_option("--hosts", line.hosts)->excludes(hostfile);
  app.add_option("--np", line.ranks)->check(count);
  app.add_option("--ppn", line.ranks_per_node)->check(count);
  app.add_flag("--oversubscribe", line.oversubscribe);
  app.add_option("--iface", line.interface);
  app.add_flag("--accept-new-host-keys", line.accept_new_host_keys);
  app.add_option("--config", line.job_file);
  app.add_option("--genv", raw.genv);
  app.add_option("--env", raw.env);
  app.add_option("--wdir", line.working_directory);
  app.add_flag("--dry-run", line.dry_run);
  app.add_flag("--prepend-rank", line.prepend_rank);
  app.add_option("--report", line.report);
  app.add_flag("--verbose", line.verbosity);
  app.add_option("--timeout", raw.timeout)
      ->check(CLI::Validator([](std::string& text) { return check_seconds(text, 0.001); }, "S"));
  app.add_option("--grace", raw.grace)
      ->check(CLI::Validator([](std::string& text) { return check_seconds(text, 0); }, "S"));
  app.add_flag("--help", raw.help);
  app.add_flag("--version", raw.version);
  app.add_flag("--show-limits", raw.show_limits);
}

void collect_variables(const std::vector<std::string>& options, Variables& set) {
  for (const std::string& text : options) {
    const std::size_t name_at = text.starts_with("--genv=")  ? 7
                                : text.starts_with("--env=") ? 6
                                                             : 0;
    if (name_at == 0) continue;
    const std::size_t equals = text.find('=', name_at);
    set.emplace_back(text.substr(name_at, equals - name_at), text.substr(equals + 1));
  }
}

CommandLine finish(Raw& raw, const CLI::App& app, Canonical canonical) {
  CommandLine line = std::move(raw.line);
  if (raw.show_limits) line.action = Action::kShowLimits;
  if (raw.version) line.action = Action::kVersion;
  if (raw.help) line.action = Action::kHelp;
  if (app.count("--timeout") > 0) line.timeout = to_milliseconds(raw.timeout);
  if (app.count("--grace") > 0) line.grace = to_milliseconds(raw.grace);
  collect_variables(canonical.options, line.set);
  line.command = std::move(canonical.command);
  return line;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  Canonical canonical = canonicalise(arguments);
  refuse_repeated(canonical.options);
  Raw raw;
  CLI::App app;
  app.set_help_flag();
  define(app, raw);
  try {
    // CLI11 takes the words last first.
    app.parse(std::vector<std::string>(canonical.options.rbegin(), canonical.options.rend()));
  } catch (const CLI::ExcludesError&) {
    throw Error(Exit::kUsage, "-hosts and -hostfile are both given", "name the hosts once");
  } catch (const CLI::ParseError& error) {
    throw Error(Exit::kUsage, error.what(), "", "dtlaunch --help");
  }
  return finish(raw, app, std::move(canonical));
}

}  // namespace dtl
