#include "launcher/request/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/toml_file.h"
#include "plan/dialect_variables.h"
#include "plan/hostfile.h"
#include "plan/pinning.h"
#include "plan/placement.h"
#include "plan/preload.h"

namespace dtl {
namespace {

constexpr std::int64_t kMaxThreads = 65535;
constexpr std::int64_t kMaxSeconds = 366LL * 24 * 3600;

Error bad_value(const TomlFile& file, const std::string& key, std::string reason,
                std::string hint = {}) {
  return Error(Exit::kBadInput, file.where(key), std::move(reason), std::move(hint));
}

std::optional<int> count(TomlFile& file, const std::string& key, std::int64_t highest,
                         std::int64_t lowest = 1) {
  const auto value = file.integer(key);
  if (!value) return std::nullopt;
  if (*value < lowest || *value > highest) {
    throw bad_value(file, key, fmt::format("'{}' is {}", key, *value),
                    fmt::format("a number from {} to {}", lowest, highest));
  }
  return static_cast<int>(*value);
}

std::optional<std::string> text(TomlFile& file, const std::string& key) {
  auto value = file.string(key);
  if (value && value->empty()) throw bad_value(file, key, fmt::format("'{}' is empty", key));
  return value;
}

// A path of the file, seen from the folder that the file is in.
std::optional<std::string> beside_file(TomlFile& file, const std::string& key,
                                       const std::string& file_path) {
  const auto value = text(file, key);
  if (!value) return std::nullopt;
  return (std::filesystem::path(file_path).parent_path() / *value).string();
}

void check_variable_name(const TomlFile& file, const std::string& key, const std::string& name) {
  const bool good = !name.empty() && name.find_first_not_of(
                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "abcdefghijklmnopqrstuvwxyz"
                                         "0123456789_") == std::string::npos;
  if (good && !(name[0] >= '0' && name[0] <= '9')) return;
  throw bad_value(file, key, fmt::format("'{}' is not the name of a variable", name));
}

// A value in the words of the command line: its errors are told with the place in the file.
template <typename Parse>
auto parsed(TomlFile& file, const std::string& key, const std::string& value, Parse parse) {
  try {
    return parse(value);
  } catch (const Error& error) {
    const bool is_option = error.hint().starts_with('-');  // means nothing in a file
    throw bad_value(file, key, fmt::format("'{}': {}", key, error.reason()),
                    is_option ? "" : error.hint());
  }
}

std::optional<Inheritance> inheritance(TomlFile& file, const std::string& key) {
  const auto value = text(file, key);
  if (!value) return std::nullopt;
  auto said = parse_inheritance(*value);
  if (!said)
    throw bad_value(file, key, fmt::format("'{}' is '{}'", key, *value), "all, none or list:A,B");
  return said;
}

Variables variables(TomlFile& file, const std::string& key) {
  Variables set = file.table(key);
  for (const auto& [name, value] : set) check_variable_name(file, key, name);
  return set;
}

// [[programs]], each with keys of its own.
std::vector<ProgramLine> programs(TomlFile& file, const std::string& path) {
  std::vector<ProgramLine> lines;
  const std::size_t number = file.tables("programs");
  for (std::size_t i = 0; i < number; ++i) {
    const std::string prefix = fmt::format("programs.{}.", i);
    ProgramLine& line = lines.emplace_back();
    const auto program = text(file, prefix + "program");
    if (!program) throw bad_value(file, fmt::format("programs.{}", i), "it names no program");
    line.command = {*program};
    const auto arguments = file.strings(prefix + "arguments").value_or(std::vector<std::string>{});
    line.command.insert(line.command.end(), arguments.begin(), arguments.end());
    line.ranks = count(file, prefix + "ranks", kMaxRanks);
    line.working_directory = beside_file(file, prefix + "working_directory", path).value_or("");
    line.inheritance = inheritance(file, prefix + "inherit");
    line.set = variables(file, prefix + "environment");
  }
  return lines;
}

std::vector<Host> host_list(TomlFile& file) {
  const auto items = file.strings("hosts.list");
  if (!items) return {};
  const std::string where = file.where("hosts.list");
  if (items->empty()) throw bad_value(file, "hosts.list", "the list names no host");
  try {
    std::vector<Host> hosts = parse_host_option(join(*items, ","));
    for (Host& host : hosts) host.where = where;
    return hosts;
  } catch (const Error& error) {
    // The column and the example of -hosts mean nothing here; the reason quotes the text.
    const std::string hint = error.hint().starts_with('-') ? "" : error.hint();
    throw Error(Exit::kBadInput, where + ": hosts.list", error.reason(), hint);
  }
}

// [trainer] as the command line of dttrain: key = value -> --key value, true -> --key alone.
std::vector<std::string> trainer_flags(TomlFile& file) {
  std::vector<std::string> flags;
  for (const auto& [key, value] : file.table("trainer")) {
    const bool good = key.find_first_not_of(
                          "abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789_-") == std::string::npos;
    if (!good || key.empty() || key[0] == '-') {
      throw bad_value(file, "trainer", fmt::format("'{}' is not the name of a setting", key),
                      "max_steps = 100");
    }
    if (value == "false") continue;
    flags.push_back("--" + key);
    if (value != "true") flags.push_back(value);
  }
  return flags;
}

void read_placement(TomlFile& file, JobFile& job) {
  job.ranks = count(file, "ranks", kMaxRanks);
  job.ranks_per_node = count(file, "ranks_per_node", kMaxRanks);
  if (job.ranks && job.programs.size() > 0) {
    throw bad_value(file, "ranks", "each of [[programs]] has its own ranks",
                    "ranks below [[programs]]");
  }
  job.nodes = count(file, "nodes", kMaxRanks);
  job.deal = count(file, "deal", kMaxRanks);
  if (const auto map = text(file, "rank_map")) {
    job.rank_map = parsed(file, "rank_map", *map, parse_rank_map);
  }
  job.skip_launch_host = file.boolean("skip_launch_node").value_or(false);
  job.interface = text(file, "interface").value_or("");
  if (const auto range = text(file, "port_range")) {
    job.ports = parsed(file, "port_range", *range, parse_port_range);
  }
  if (const auto start = text(file, "launcher")) {
    job.agent_start = parsed(file, "launcher", *start, parse_agent_start);
  }
  job.oversubscribe = file.boolean("oversubscribe").value_or(false);
}

bool is_dttrain(const std::string& program) {
  return std::filesystem::path(program).filename() == "dttrain";
}

std::vector<std::string> command(TomlFile& file) {
  const auto program = text(file, "program");
  const auto arguments = file.strings("arguments");
  const std::vector<std::string> flags = trainer_flags(file);
  if (program && !is_dttrain(*program) && !flags.empty()) {
    throw bad_value(file, "trainer",
                    fmt::format("[trainer] is for dttrain, and program is '{}'", *program),
                    "arguments = [...]");
  }
  if (!program && !arguments && flags.empty()) return {};
  std::vector<std::string> words = {program.value_or("dttrain")};
  if (arguments) words.insert(words.end(), arguments->begin(), arguments->end());
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

}  // namespace

JobFile load_job_file(const std::string& path) {
  return parse_job_file(read_file(path, kMaxTomlBytes), path);
}

JobFile parse_job_file(const std::string& toml, const std::string& path) {
  TomlFile file = TomlFile::parse(toml, path);
  JobFile job;
  job.path = path;
  job.command = command(file);
  job.programs = programs(file, path);
  if (!job.programs.empty() && !job.command.empty()) {
    throw bad_value(file, "programs", "there are programs in [[programs]] and outside",
                    "all of them in [[programs]]");
  }
  job.environment = variables(file, "environment");
  job.inheritance = inheritance(file, "inherit");
  for (const std::string& name : file.strings("compat").value_or(std::vector<std::string>{})) {
    for (const Dialect each : parsed(file, "compat", name, parse_dialects)) {
      job.compat.push_back(each);
    }
  }
  if (const auto names = file.strings("preload")) {
    job.preload = parsed(file, "preload", join(*names, ","), parse_preloads);
  }
  job.hostfile = beside_file(file, "hosts.file", path);
  job.hosts = host_list(file);
  if (job.hostfile && !job.hosts.empty()) {
    throw bad_value(file, "hosts.list", "hosts.file and hosts.list both name hosts",
                    "one of the two");
  }
  read_placement(file, job);
  job.working_directory = beside_file(file, "working_directory", path);
  if (const auto seconds = count(file, "timeout", kMaxSeconds)) {
    job.timeout = std::chrono::seconds(*seconds);
  }
  if (const auto seconds = count(file, "grace", kMaxSeconds)) {
    job.grace = std::chrono::seconds(*seconds);
  }
  job.report = text(file, "report");
  job.label = file.boolean("label").value_or(false);
  job.pin = file.boolean("pinning.enabled").value_or(true);
  job.threads = count(file, "pinning.threads", kMaxThreads);
  job.comm_cores = count(file, "pinning.comm_cores", kMaxCommCores, 0);
  job.bind_to = text(file, "pinning.bind_to").value_or("");
  job.map_by = text(file, "pinning.map_by").value_or("");
  job.memory_bind = text(file, "pinning.memory").value_or("");
  file.reject_unknown_keys();
  return job;
}

}  // namespace dtl
