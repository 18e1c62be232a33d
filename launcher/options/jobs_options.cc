#include "launcher/options/jobs_options.h"

#include <fmt/format.h>

#include <csignal>

#include "base/error.h"
#include "base/fd.h"
#include "base/job_record.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options/option_words.h"
#include "launcher/options/options.h"
#include "launcher/options/subcommands.h"
#include "plan/hostfile.h"

namespace dtl {
namespace {

constexpr std::string_view kOptions = "Options";

// logs -f follows, as tail -f does; its hostfile has the long names alone.
Option hostfile_option(bool short_name) {
  Option option{kOptions,
                {"-machinefile", "-hostfile"},
                Takes::kValue,
                "FILE",
                "the hosts to ask, one per line"};
  if (short_name) option.names.insert(option.names.begin(), "-f");
  return option;
}

}  // namespace

std::vector<Option> jobs_options(const std::string& name) {
  std::vector<Option> table = {
      hostfile_option(name != "logs"),
      {kOptions, {"-hosts"}, Takes::kValue, "LIST", "the hosts themselves: a,b,n[01-04]"},
  };
  if (name == "ps") {
    table.push_back({kOptions, {"-a", "--all"}, Takes::kNothing, "", "jobs that are over, too"});
  }
  if (name == "logs") {
    table.push_back({kOptions, {"-f", "--follow"}, Takes::kNothing, "", "until the job is over"});
    table.push_back({kOptions, {"--rank"}, Takes::kValue, "R", "the output of one rank alone"});
  }
  if (name == "logs" || name == "attach") {
    table.push_back({kOptions, {"-l"}, Takes::kNothing, "", "put [rank] before every line"});
  }
  if (name == "kill") {
    table.push_back({kOptions,
                     {"-s", "--signal"},
                     Takes::kValue,
                     "SIGNAL",
                     "instead of TERM, which ends the job in order"});
  }
  table.push_back({kOptions, {"-h", "--help"}, Takes::kNothing, "", "this text"});
  return table;
}

bool wants_job(const std::string& name) {
  return name != "ps" && name != "clean";
}

namespace {

int parse_rank(const std::string& text) {
  if (const auto rank = parse_integer(text, 0, kMaxRanks - 1)) return static_cast<int>(*rank);
  throw Error(Exit::kUsage, fmt::format("--rank: '{}' is no number of a rank", text), "");
}

int parse_signal(const std::string& text) {
  if (const auto signal = signal_by_name(text)) return *signal;
  throw Error(Exit::kUsage, fmt::format("--signal: there is no signal '{}'", text), "",
              "TERM, INT, USR1, KILL or a number");
}

std::string take_job(const std::string& name, const std::vector<std::string>& words) {
  const std::string help = fmt::format("dtlaunch {} --help", name);
  if (!wants_job(name)) {
    if (words.empty()) return {};
    throw Error(Exit::kUsage, fmt::format("{}: unexpected '{}'", name, words[0]), "", help);
  }
  if (words.size() != 1) {
    throw Error(Exit::kUsage, fmt::format("{} takes one job, and {} are given", name, words.size()),
                "dtlaunch ps shows their ids", help);
  }
  const std::string job = to_lower(words[0]);
  if (is_job_id_prefix(job)) return job;
  throw Error(Exit::kUsage, fmt::format("'{}' is no job's id", words[0]),
              "an id has 16 hexadecimal digits, of which the first few will do", "dtlaunch ps");
}

}  // namespace

std::optional<int> signal_by_name(std::string_view text) {
  if (const auto number = parse_integer(text, 1, 64)) return static_cast<int>(*number);
  std::string wanted = to_lower(text);
  if (!wanted.starts_with("sig")) wanted = "sig" + wanted;
  for (int signal = 1; signal < 32; ++signal) {
    if (to_lower(signal_name(signal)) == wanted) return signal;
  }
  return std::nullopt;
}

std::vector<Host> read_host_options(const std::string& hostfile, const std::string& hosts) {
  if (!hostfile.empty() && !hosts.empty()) {
    throw Error(Exit::kUsage, "-hosts and -hostfile are both given", "name the hosts once");
  }
  if (!hosts.empty()) return parse_host_option(hosts);
  if (!hostfile.empty()) return parse_hostfile(read_file(hostfile, kMaxHostfileBytes), hostfile);
  Host local;
  local.name = "localhost";
  return {local};
}

JobsCommand parse_jobs_command(const std::string& name, const std::vector<std::string>& arguments) {
  const std::vector<Option> table = jobs_options(name);
  const std::string help = fmt::format("dtlaunch {} --help", name);
  OptionWords words = read_option_words(table, arguments, help);
  // Options may stand after the job, too: `dtlaunch logs 3f2a -f`.
  if (wants_job(name) && words.rest.size() > 1) {
    const OptionWords more =
        read_option_words(table, {words.rest.begin() + 1, words.rest.end()}, help);
    words.options.insert(words.options.end(), more.options.begin(), more.options.end());
    words.rest.resize(1);
    words.rest.insert(words.rest.end(), more.rest.begin(), more.rest.end());
  }
  JobsCommand command;
  command.help = words.has("--help");
  if (command.help) return command;
  command.job = take_job(name, words.rest);
  command.all = words.has("--all");
  command.follow = words.has("--follow");
  command.label = words.has("-l");
  if (words.has("--rank")) command.rank = parse_rank(words.value("--rank"));
  if (words.has("--signal")) command.signal = parse_signal(words.value("--signal"));
  command.hosts = read_host_options(words.value("-hostfile"), words.value("-hosts"));
  return command;
}

std::string jobs_help(const std::string& name) {
  std::string text =
      fmt::format("usage: dtlaunch {} [options]{}\n", name, wants_job(name) ? " JOB" : "");
  for (const Subcommand& subcommand : subcommand_table()) {
    if (subcommand.name == name) text += fmt::format("{}.\n", subcommand.summary);
  }
  return text + options_text(jobs_options(name));
}

}  // namespace dtl
