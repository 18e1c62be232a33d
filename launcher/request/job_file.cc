// Most keys are options of the command line and use its table. Only keys with another form in a
// file (programs, variables, lists of hosts, [trainer]) have a function here.
#include "launcher/request/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/toml_file.h"
#include "launcher/options/help.h"
#include "launcher/options/option_values.h"
#include "launcher/options/trusted_file.h"
#include "plan/request/hostfile.h"

namespace dtl {
namespace {

constexpr std::int64_t kMaxThreads = 65535;
constexpr const char* kHelp = "dtlaunch help job-file";

Error bad_value(const TomlFile& file, const std::string& key, std::string reason,
                std::string hint = {}) {
  return file_error(file.where(key), file.shown(key), std::move(reason),
                    hint.empty() ? kHelp : std::move(hint));
}

// TOML's integers have 64 bits, so a number is bounded before it becomes an int.
std::optional<int> count(TomlFile& file, const std::string& key, std::int64_t highest,
                         std::int64_t lowest = 1) {
  const auto value = file.integer(key);
  if (!value) return std::nullopt;
  if (*value < lowest || *value > highest) {
    throw bad_value(
        file, key, whole_number_fault(std::to_string(*value), lowest, highest),
        fmt::format("{} = {}", key.substr(key.rfind('.') + 1), *value < lowest ? lowest : highest));
  }
  return static_cast<int>(*value);
}

std::optional<std::string> text(TomlFile& file, const std::string& key) {
  // An empty string is a mistake: leave the key out for the default.
  auto value = file.string(key);
  if (value && value->empty()) throw bad_value(file, key, "the value is empty");
  return value;
}

// A path in the file, relative to the file's folder. So a project's folder may be moved, and the
// job started from anywhere.
std::optional<std::string> beside_file(TomlFile& file, const std::string& key,
                                       const std::string& file_path) {
  const auto value = text(file, key);
  if (!value) return std::nullopt;
  return (std::filesystem::path(file_path).parent_path() / *value).string();
}

std::optional<Inheritance> inheritance(TomlFile& file, const std::string& key) {
  const auto value = text(file, key);
  if (!value) return std::nullopt;
  auto said = parse_inheritance(*value);
  if (!said) throw bad_value(file, key, "not all, none or list:A,B", key + " = \"list:A,B\"");
  return said;
}

Variables variables(TomlFile& file, const std::string& key) {
  Variables set = file.table(key);
  for (const auto& [name, value] : set) {
    if (is_variable_name(name)) continue;
    throw bad_value(file, key, fmt::format("'{}' is not the name of a variable", printable(name)),
                    "NAME = \"VALUE\"");
  }
  return set;
}

// [[programs]], each with its own keys.
std::vector<ProgramLine> programs(TomlFile& file, const std::string& path) {
  std::vector<ProgramLine> lines;
  const std::size_t number = file.tables("programs");
  for (std::size_t i = 0; i < number; ++i) {
    const std::string prefix = fmt::format("programs.{}.", i);
    ProgramLine& line = lines.emplace_back();
    const auto program = text(file, prefix + "program");
    if (!program)
      throw bad_value(file, fmt::format("programs.{}", i), "it names no program",
                      "program = \"python3\"");
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
  constexpr const char* kSomeHosts = "hosts.list = [\"node01\", \"node02:2\"]";
  const auto items = file.strings("hosts.list");
  if (!items) return {};
  const std::string where = file.where("hosts.list");
  if (items->empty()) throw bad_value(file, "hosts.list", "the list names no host", kSomeHosts);
  try {
    // An item may be anything that -hosts takes: "n[01-04]", "a:2".
    std::vector<Host> hosts = parse_host_option(join(*items, ","));
    for (Host& host : hosts) host.where = where;
    return hosts;
  } catch (const Error& error) {
    // The column and the example of -hosts mean nothing here; the reason quotes the text.
    const bool says = !error.hint().empty() && !error.hint().starts_with('-');
    throw bad_value(file, "hosts.list", error.reason(), says ? error.hint() : kSomeHosts);
  }
}

// "true" of "'--do_train' = true".
std::string value_of_line(const std::string& line) {
  const std::size_t equals = line.rfind(" = ");
  return equals == line.npos ? "true" : line.substr(equals + 3);
}

// [trainer] as the command line of dttrain: key = value -> --key value, true -> --key alone.
// dttrain alone knows its settings and says which of them are wrong.
std::vector<std::string> trainer_flags(const std::vector<TomlEntry>& entries) {
  std::vector<std::string> flags;
  for (const auto& [key, value, place, shown] : entries) {
    const bool good = key.find_first_not_of(
                          "abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789_-") == std::string::npos;
    if (!good || key.empty() || key[0] == '-') {
      const std::string bare = key.substr(std::min(key.find_first_not_of('-'), key.size()));
      const bool dashes = good && !bare.empty();
      throw file_error(
          place, "", fmt::format("'{}' is not the name of a setting", printable(key)),
          dashes ? fmt::format("{} = {}", bare, value_of_line(shown)) : "max_steps = 100");
    }
    const bool text = shown.ends_with('"');
    // dttrain's flags are off unless given.
    if (value == "false" && !text) continue;
    flags.push_back("--" + key);
    if (value != "true" || text) flags.push_back(value);
  }
  return flags;
}

std::optional<std::string> value_of(TomlFile& file, const Option& option,
                                    const std::string& file_path) {
  const std::string key(option.traits.key);
  if (option.takes == Takes::kNothing) {
    // False is the same as no key: the command line cannot switch these options off either.
    if (file.boolean(key).value_or(false)) return "";
    return std::nullopt;
  }
  switch (option.traits.in_file) {
    case FileValue::kFlagOrInteger:
      if (file.is_boolean(key)) {
        return file.boolean(key).value_or(false) ? std::optional<std::string>("") : std::nullopt;
      }
      [[fallthrough]];
    case FileValue::kInteger:
      if (const auto number = file.integer(key)) return std::to_string(*number);
      return std::nullopt;
    case FileValue::kRange:
      // TOML has no type for MIN:MAX, so a range is a string and a number an integer. A string
      // without ":" fails in integer(), which names the expected type.
      if (file.is_string(key) && text(file, key)->find(':') != std::string::npos) {
        return text(file, key);
      }
      if (const auto number = file.integer(key)) return std::to_string(*number);
      return std::nullopt;
    case FileValue::kList: {
      const auto items = file.strings(key);
      // In the command line's form; an item with a comma in it becomes two.
      if (items && !items->empty()) return join(*items, ",");
      return std::nullopt;
    }
    case FileValue::kPath:
      return beside_file(file, key, file_path);
    case FileValue::kText:
      return text(file, key);
  }
  return std::nullopt;
}

// The keys that are also options of the command line.
void read_options(TomlFile& file, JobFile& job) {
  for (const Option& option : option_table().options()) {
    if (option.traits.key.empty()) continue;
    const std::string key(option.traits.key);
    const auto value = value_of(file, option, job.path);
    if (value) job.options.push_back({&option, *value, key, file.where(key), file.shown(key)});
  }
  // Applied here as well, so that all values are checked: also those that the command line
  // overrides.
  option_table().apply(job.options, job.said, help_command);
  if ((job.said.program.ranks || job.said.program.rank_range) && !job.programs.empty()) {
    throw bad_value(file, "ranks", "each of [[programs]] has its own ranks",
                    "ranks = N in each of [[programs]]");
  }
}

// Runs before the check for unknown keys, so that the error names the new key.
void refuse_old_key(TomlFile& file) {
  const std::string shown = file.shown("engine");
  if (shown == "engine") return;
  const auto value = file.is_string("engine") ? file.string("engine") : std::nullopt;
  const RenamedScheduler renamed = renamed_scheduler("key is called scheduler", value.value_or(""));
  throw bad_value(file, "engine", renamed.why,
                  renamed.value.empty() ? "" : fmt::format("scheduler = \"{}\"", renamed.value));
}

bool is_dttrain(const std::string& program) {
  return std::filesystem::path(program).filename() == "dttrain";
}

std::vector<std::string> command(TomlFile& file, const std::vector<TomlEntry>& trainer) {
  const auto program = text(file, "program");
  const auto arguments = file.strings("arguments");
  const std::vector<std::string> flags = trainer_flags(trainer);
  // Another program would get flags that mean something else to it.
  if (program && !is_dttrain(*program) && !flags.empty()) {
    throw bad_value(file, "trainer",
                    fmt::format("[trainer] is for dttrain, and program is '{}'", *program),
                    "arguments = [...]");
  }
  // A file may have only hosts and options, with the program on the command line.
  if (!program && !arguments && flags.empty()) return {};
  std::vector<std::string> words = {program.value_or("dttrain")};
  if (arguments) words.insert(words.end(), arguments->begin(), arguments->end());
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

}  // namespace

JobFile load_job_file(const std::string& path) {
  try {
    return parse_job_file(read_trusted_file(path, kMaxTomlBytes, "job file"), path);
  } catch (const Error& error) {
    throw error.hint().empty() ? Error(error.status(), error.attempted(), error.reason(), kHelp)
                               : error;
  }
}

JobFile parse_job_file(const std::string& toml, const std::string& path) {
  TomlFile file = TomlFile::parse(toml, path);
  JobFile job;
  job.path = path;
  // Without a program of its own it would start the demonstration.
  if (file.empty()) throw file_error(file_place(path, 1), "", "the file is empty", kHelp);
  refuse_old_key(file);
  job.trainer = file.entries("trainer");
  job.command = command(file, job.trainer);
  job.programs = programs(file, path);
  if (!job.programs.empty() && !job.command.empty()) {
    throw bad_value(file, "programs", "there are programs in [[programs]] and outside",
                    "all of them in [[programs]]");
  }
  job.environment = variables(file, "environment");
  job.inheritance = inheritance(file, "inherit");
  job.hosts = host_list(file);
  read_options(file, job);
  if (!job.said.line.hostfile.empty() && !job.hosts.empty()) {
    throw bad_value(file, "hosts.list", "hosts.file names hosts as well",
                    "hosts.list or hosts.file, not both");
  }
  if (!job.said.line.discover.empty() && (!job.said.line.hostfile.empty() || !job.hosts.empty())) {
    throw bad_value(file, "hosts.discover", "the file names hosts as well", "hosts.discover alone");
  }
  job.pin = file.boolean("pinning.enabled").value_or(true);
  job.threads = count(file, "pinning.threads", kMaxThreads);
  // Last, when all known keys have been read: a misspelt key must be an error.
  file.reject_unknown_keys();
  return job;
}

}  // namespace dtl
