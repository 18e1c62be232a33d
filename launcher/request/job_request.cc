#include "launcher/request/job_request.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/network/interface_filter.h"
#include "launcher/request/job_file.h"
#include "launcher/request/program_hosts.h"
#include "plan/environment.h"
#include "plan/host_token.h"
#include "plan/hostfile.h"
#include "plan/pin_request.h"

namespace dtl {
namespace {

constexpr const char* kDefaultJobFile = "dtlaunch.toml";

std::optional<JobFile> read_job_file(const CommandLine& line) {
  if (!line.job_file.empty()) return load_job_file(line.job_file);
  if (!line.programs[0].command.empty() || ::access(kDefaultJobFile, F_OK) != 0)
    return std::nullopt;
  return load_job_file(kDefaultJobFile);
}

// Who writes a hostfile chooses where the job's commands and secrets go.
void check_only_ours_to_write(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if ((status.st_mode & S_IWOTH) == 0) return;
  throw Error(Exit::kBadInput, path, "everybody may write this hostfile", "chmod o-w " + path);
}

std::vector<Host> read_hosts(const CommandLine& line, const std::optional<JobFile>& file) {
  if (!line.hosts.empty()) return parse_host_option(line.hosts);
  std::string path = line.hostfile;
  if (path.empty() && file && file->hostfile) path = *file->hostfile;
  if (!path.empty()) check_only_ours_to_write(path);
  if (!path.empty()) return parse_hostfile(read_file(path, kMaxHostfileBytes), path);
  return file ? file->hosts : std::vector<Host>{};
}

std::string absolute(const std::string& path, const std::string& directory) {
  if (path.empty()) return directory;
  return (std::filesystem::path(directory) / path).lexically_normal().string();
}

void keep_first_hosts(std::vector<Host>& hosts, int nodes) {
  const std::size_t offered = std::max<std::size_t>(hosts.size(), 1);  // none: this machine
  if (static_cast<std::size_t>(nodes) > offered) {
    throw Error(Exit::kUsage, fmt::format("--nnodes {}", nodes),
                fmt::format("there {} only {} host{}", offered == 1 ? "is" : "are", offered,
                            offered == 1 ? "" : "s"),
                "-f FILE with more hosts");
  }
  if (!hosts.empty()) hosts.resize(static_cast<std::size_t>(nodes));
}

// dttrain lies beside dtlaunch; on every host it is looked for there last.
void add_own_directory(Variables& environment, const std::string& directory) {
  for (auto& [name, value] : environment) {
    if (name != "PATH") continue;
    const auto places = split(value, ':');
    if (std::find(places.begin(), places.end(), directory) == places.end())
      value += ":" + directory;
    return;
  }
  environment.emplace_back("PATH", "/usr/local/bin:/usr/bin:/bin:" + directory);
}

std::vector<Program> programs_of(const CommandLine& line, const std::string& directory) {
  std::vector<Program> programs;
  for (const ProgramLine& given : line.programs) {
    Program& program = programs.emplace_back();
    program.command = given.command;
    program.set = given.set;
    program.working_directory = absolute(given.working_directory, directory);
    if (line.programs.size() > 1) program.ranks = given.ranks.value_or(1);
  }
  return programs;
}

const std::string* variable(const Variables& environment, std::string_view name) {
  for (const auto& [each, value] : environment) {
    if (each == name) return &value;
  }
  return nullptr;
}

Inheritance global_inheritance(const std::optional<Inheritance>& said,
                               const Variables& environment) {
  if (said) return *said;
  const std::string* hydra = variable(environment, "HYDRA_ENV");
  if (hydra == nullptr) hydra = variable(environment, "I_MPI_HYDRA_ENV");
  if (hydra == nullptr) return {};
  if (const auto theirs = parse_inheritance(*hydra)) return *theirs;
  throw Error(Exit::kUsage, fmt::format("HYDRA_ENV={}", *hydra),
              "it says neither all nor none nor which", "HYDRA_ENV=list:A,B");
}

// -envnone and the like, and -x NAME, of each program.
void inherit_for_programs(const CommandLine& line, const Surroundings& around,
                          JobSettings& settings) {
  std::vector<Program>& programs = settings.request.programs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (line.programs[i].inheritance) {
      programs[i].inherited = inherited_by(*line.programs[i].inheritance, around.environment);
      add_own_directory(*programs[i].inherited, around.program_directory);
    }
    for (const std::string& name : line.programs[i].passed) {
      const std::string* value = variable(around.environment, name);
      if (value == nullptr) {
        settings.notices.push_back(
            fmt::format("-x {}: there is no such variable here, so ranks get none", name));
        continue;
      }
      programs[i].set.emplace_back(name, *value);
    }
  }
}

void leave_this_host_out(std::vector<Host>& hosts) {
  const std::string own = own_host_name();
  const std::string prefix = own.substr(0, own.find('.'));
  std::erase_if(hosts, [&](const Host& host) {
    return is_loopback_name(host.name) || host.name == own ||
           host.name.substr(0, host.name.find('.')) == prefix;
  });
  if (!hosts.empty()) return;
  throw Error(Exit::kUsage, "-skip-launch-node", "there is no other host",
              "-f FILE with more hosts");
}

template <typename T>
std::optional<T> first_of(const std::optional<T>& wins, const std::optional<T>& otherwise) {
  return wins ? wins : otherwise;
}

// What the file says where the command line does not.
void take_from_file(const JobFile& file, CommandLine& line) {
  const bool names_program = line.programs.size() > 1 || !line.programs[0].command.empty();
  if (!names_program && !file.programs.empty()) take_programs(line, file.programs);
  line.ranks = first_of(line.ranks, file.ranks);
  line.ranks_per_node = first_of(line.ranks_per_node, file.ranks_per_node);
  line.nodes = first_of(line.nodes, file.nodes);
  // One map or one deal: both from the same place.
  if (!line.deal && line.rank_map.empty()) {
    line.deal = file.deal;
    line.rank_map = file.rank_map;
  }
  line.skip_launch_host = line.skip_launch_host || file.skip_launch_host;
  line.oversubscribe = line.oversubscribe || file.oversubscribe;
  line.inheritance = first_of(line.inheritance, file.inheritance);
  if (line.compat.empty()) line.compat = file.compat;
  if (line.preload.empty()) line.preload = file.preload;
  if (line.interface.empty()) line.interface = file.interface;
  line.ports = first_of(line.ports, file.ports);
  line.agent_start = first_of(line.agent_start, file.agent_start);
  if (line.pinning.bind_to.empty()) line.pinning.bind_to = file.bind_to;
  if (line.pinning.map_by.empty()) line.pinning.map_by = file.map_by;
  if (line.pinning.memory_bind.empty()) line.pinning.memory_bind = file.memory_bind;
  line.comm_cores = first_of(line.comm_cores, file.comm_cores);
}

void apply_file(const JobFile& file, const CommandLine& line, JobSettings& settings) {
  Request& request = settings.request;
  Program& first = request.programs[0];
  if (first.command.empty()) first.command = file.command;
  request.set.insert(request.set.begin(), file.environment.begin(), file.environment.end());
  for (std::size_t i = 0; i < line.programs.size() && file.working_directory; ++i) {
    if (!line.programs[i].working_directory.empty()) continue;
    std::string& directory = request.programs[i].working_directory;
    directory = absolute(*file.working_directory, directory);
  }
  request.threads = file.threads;
  request.pin = file.pin;
  if (!settings.job.timeout && file.timeout) settings.job.timeout = *file.timeout;
  if (!line.grace && file.grace) settings.job.grace = *file.grace;
  if (settings.report.empty() && file.report) settings.report = *file.report;
}

// What is wrong with them is told before any host is spoken to.
void check_pins(JobSettings& settings) {
  settings.notes = pin_request_of(settings.request, nullptr).notes;
  for (const Host& host : settings.request.hosts) pin_request_of(settings.request, &host);
}

void check_interfaces(const Request& request) {
  const InterfaceFilter of_all(request.interface);
  for (const Host& host : request.hosts) {
    try {
      const InterfaceFilter own(host.interface);
    } catch (const Error& error) {
      throw Error(Exit::kBadInput, fmt::format("{}: iface={}", host.where, host.interface),
                  error.reason(), "iface=eth1, iface=10.0.0.0/24 or iface=^docker0");
    }
  }
}

}  // namespace

Surroundings current_surroundings() {
  Surroundings around;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    around.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::error_code failed;
  around.working_directory = std::filesystem::current_path(failed).string();
  if (failed) {
    throw Error(Exit::kOs, "cannot tell the working directory", failed.message(), "-wdir DIR");
  }
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) throw Error(Exit::kOs, "cannot tell where dtlaunch lies", failed.message());
  around.program_directory = self.parent_path().string();
  return around;
}

JobSettings describe_job(const CommandLine& given, const Surroundings& around) {
  CommandLine line = given;
  const std::optional<JobFile> file = read_job_file(line);
  if (file) take_from_file(*file, line);
  JobSettings settings;
  Request& request = settings.request;
  request.programs = programs_of(line, around.working_directory);
  request.ranks = line.ranks;
  request.ranks_per_node = line.ranks_per_node;
  request.oversubscribe = line.oversubscribe;
  request.set = line.set;
  request.interface = line.interface;
  request.inherited =
      inherited_by(global_inheritance(line.inheritance, around.environment), around.environment);
  add_own_directory(request.inherited, around.program_directory);
  if (line.verbosity > 0) request.inherited.emplace_back("DTRING_VERBOSE", "1");
  inherit_for_programs(line, around, settings);
  request.compat = line.compat;
  request.preload = line.preload;
  request.pinning = line.pinning;
  request.pinning.environment = around.environment;
  request.comm_cores = line.comm_cores;
  request.deal = line.deal;
  request.rank_map = line.rank_map;
  OutputChoice shown = line.shown;
  settings.agent_start = line.agent_start.value_or(AgentStart::kSsh);
  settings.job.ports = line.ports.value_or(PortRange{});
  settings.report = line.report;
  settings.job.timeout = line.timeout;
  if (line.grace) settings.job.grace = *line.grace;
  if (file) apply_file(*file, line, settings);
  if (file && file->label) shown.prepend_rank = true;
  settings.console = console_options(shown, around.working_directory);
  settings.label = !settings.console.label.empty();
  settings.stdin_for = input_choice(shown);
  if (request.programs[0].command.empty()) {
    request.programs[0].command = {"dttrain", "--demo"};
    settings.notices.push_back(
        "no program given and no ./dtlaunch.toml here: running the demonstration, dttrain --demo");
  }
  request.grace = settings.job.grace.value_or(kInterruptGrace);
  request.hosts = read_hosts(line, file);
  place_programs(line, request);
  if (line.skip_launch_host) leave_this_host_out(request.hosts);
  if (line.nodes) keep_first_hosts(request.hosts, *line.nodes);
  request.hosts = needed_hosts(request);
  check_pins(settings);
  check_interfaces(request);
  return settings;
}

std::vector<Host> needed_hosts(const Request& request) {
  const auto first = [&](std::size_t count) {
    const auto end = static_cast<std::ptrdiff_t>(std::min(count, request.hosts.size()));
    return std::vector<Host>(request.hosts.begin(), request.hosts.begin() + end);
  };
  if (!request.rank_map.empty()) {
    const int last = *std::max_element(request.rank_map.begin(), request.rank_map.end());
    return first(static_cast<std::size_t>(last) + 1);
  }
  if (!request.ranks) return request.hosts;
  std::int64_t offered = 0;  // where ranks are dealt: in the first round, which uses new hosts only
  for (std::size_t i = 0; i < request.hosts.size(); ++i) {
    const std::optional<int> slots = first_of(request.ranks_per_node, request.hosts[i].slots);
    if (!slots && request.deal != 1) break;
    offered += request.deal ? std::min(*request.deal, slots.value_or(1)) : *slots;
    if (offered >= *request.ranks) return first(i + 1);
  }
  return request.hosts;
}

}  // namespace dtl
