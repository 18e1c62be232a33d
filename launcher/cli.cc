#include "launcher/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/option_words.h"
#include "launcher/options.h"

namespace dtl {
namespace {

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

CommandLine finish(Raw& raw, const CLI::App& app, const std::vector<std::string>& options,
                   std::vector<std::string> command) {
  CommandLine line = std::move(raw.line);
  if (raw.show_limits) line.action = Action::kShowLimits;
  if (raw.version) line.action = Action::kVersion;
  if (raw.help) line.action = Action::kHelp;
  if (app.count("--timeout") > 0) line.timeout = to_milliseconds(raw.timeout);
  if (app.count("--grace") > 0) line.grace = to_milliseconds(raw.grace);
  collect_variables(options, line.set);
  line.command = std::move(command);
  return line;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  OptionWords words = read_option_words(option_table(), arguments, "dtlaunch --help");
  std::vector<std::string> options;
  for (const GivenOption& given : words.options) options.push_back(canonical_form(given));
  Raw raw;
  CLI::App app;
  app.set_help_flag();
  define(app, raw);
  try {
    // CLI11 takes the words last first.
    app.parse(std::vector<std::string>(options.rbegin(), options.rend()));
  } catch (const CLI::ExcludesError&) {
    throw Error(Exit::kUsage, "-hosts and -hostfile are both given", "name the hosts once");
  } catch (const CLI::ParseError& error) {
    throw Error(Exit::kUsage, error.what(), "", "dtlaunch --help");
  }
  return finish(raw, app, options, std::move(words.rest));
}

}  // namespace dtl
