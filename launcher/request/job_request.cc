// describe_job() at the end has the order of steps: programs before hosts, because programs may
// have their own hosts, and hosts before sizes, which are checked against them.
#include "launcher/request/job_request.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options/subcommands.h"
#include "launcher/options/trusted_file.h"
#include "launcher/request/contained.h"
#include "launcher/request/encryption.h"
#include "launcher/request/host_checks.h"
#include "launcher/request/job_file.h"
#include "launcher/request/job_step.h"
#include "launcher/request/program_hosts.h"
#include "launcher/request/ring_variables.h"
#include "launcher/request/scheduler_job.h"
#include "launcher/request/waiting.h"
#include "plan/core_owners.h"
#include "plan/environment.h"
#include "plan/request/host_token.h"
#include "plan/request/hostfile.h"

namespace dtl {
namespace {

// An error about a hostfile in the job file names the job file's line and the path written there.
std::string read_hostfile(const CommandLine& line, const std::optional<JobFile>& file) {
  try {
    return read_trusted_file(line.hostfile, kMaxHostfileBytes, "hostfile");
  } catch (const Error& error) {
    if (!file || file->said.line.hostfile != line.hostfile) throw;
    for (const TypedOption& option : line.given) {
      if (option.name != "-hostfile" || !option.typed.starts_with(file->path + ":")) continue;
      const bool unread = error.attempted().ends_with(": cannot read");
      throw file_error(option.typed, unread ? "cannot read" : "", error.reason(), error.hint());
    }
    throw;
  }
}

std::vector<Host> read_hosts(const CommandLine& line, const std::optional<JobFile>& file,
                             const Surroundings& around) {
  // The parser ensures that at most one of the first three is set. Otherwise the job file's hosts.
  if (!line.discover.empty()) return around.discover(line.discover);
  if (!line.hosts.empty()) return parse_host_option(line.hosts);
  if (!line.hostfile.empty()) {
    return parse_hostfile(read_hostfile(line, file), line.hostfile);
  }
  return file ? file->hosts : std::vector<Host>{};
}

std::string absolute(const std::string& path, const std::string& directory) {
  if (path.empty()) return directory;
  return (std::filesystem::path(directory) / path).lexically_normal().string();
}

// --nnodes N needs N hosts, so fewer are an error; further hosts are not used.
void keep_first_hosts(std::vector<Host>& hosts, int nodes) {
  const std::size_t offered = std::max<std::size_t>(hosts.size(), 1);  // none: this machine
  if (static_cast<std::size_t>(nodes) > offered) {
    throw option_error(
        fmt::format("--nnodes {}", nodes),
        fmt::format("there {} only {}", offered == 1 ? "is" : "are", plural(offered, "host")),
        fmt::format("--nnodes {}, or -f FILE with more hosts", offered));
  }
  if (!hosts.empty()) hosts.resize(static_cast<std::size_t>(nodes));
}

// held: how many of those offered --spares holds back. --discover may list enough hosts later, so
// the status then says "try again".
void check_host_range(std::size_t offered, std::size_t held, SizeRange range, bool listed) {
  const std::size_t left = offered - std::min(held, offered);
  if (static_cast<std::size_t>(range.least) <= left) return;
  throw Error(
      listed ? Exit::kTryAgain : Exit::kUsage,
      fmt::format("--nnodes {}:{}", range.least, range.most),
      fmt::format("there {} only {}{}", left == 1 ? "is" : "are",
                  plural(static_cast<std::int64_t>(left), "host"),
                  held > 0 ? " beside the spare ones" : ""),
      listed ? "the same command again once --discover lists more" : "-f FILE with more hosts");
}

// Options that an elastic job cannot have, because they fix what the range leaves open.
void check_elastic(const CommandLine& line) {
  // Errors name the option that made the size variable.
  const std::string sized =
      line.placement.node_range   ? fmt::format("--nnodes {}:{}", line.placement.node_range->least,
                                                line.placement.node_range->most)
      : line.placement.rank_range ? fmt::format("-np {}:{}", line.placement.rank_range->least,
                                                line.placement.rank_range->most)
                                  : "--discover";
  const auto refuse = [&](const std::string& reason, const std::string& hint) {
    throw option_error(sized, reason, hint);
  };
  if (line.placement.node_range && line.placement.rank_range) {
    refuse(fmt::format("-np {}:{} bounds the ranks, and this the hosts",
                       line.placement.rank_range->least, line.placement.rank_range->most),
           sized + " alone");
  }
  if (line.placement.ranks && line.programs.size() == 1) {
    refuse(fmt::format("-np {} fixes the number of ranks", *line.placement.ranks),
           "-ppn, or -np MIN:MAX");
  }
  if (line.placement.nodes) {
    refuse(fmt::format("--nnodes {} fixes the number of hosts", *line.placement.nodes),
           "--nnodes MIN:MAX");
  }
  if (line.programs.size() > 1) refuse("each of several programs has its own ranks", "-np N");
  if (!line.placement.rank_map.empty())
    refuse("-rankmap says the host of each rank", "the same command without -rankmap");
}

// Sets whether the job's size may change, and its bounds.
void take_size(const CommandLine& line, JobSettings& settings) {
  Request& request = settings.request;
  request.elastic =
      line.placement.node_range || line.placement.rank_range || !line.discover.empty();
  // An elastic job needs restarts to go on with other hosts, so it has some by default.
  if (!request.restarts.max) request.restarts.max = request.elastic ? kElasticRestarts : 0;
  if (!request.elastic) return;
  check_elastic(line);
  settings.discover = line.discover;
  settings.host_range = line.placement.node_range.value_or(SizeRange{1, kMaxRanks});
  const auto held = static_cast<std::size_t>(line.restarts.spares.value_or(0));
  const std::size_t offered = std::max<std::size_t>(request.hosts.size(), 1);
  check_host_range(offered, held, *settings.host_range, !line.discover.empty());
}

// dttrain is beside dtlaunch; each host searches this folder last.
void add_own_directory(Variables& environment, const std::string& directory) {
  for (auto& [name, value] : environment) {
    if (name != "PATH") continue;
    const auto places = split(value, ':');
    if (std::find(places.begin(), places.end(), directory) == places.end())
      value += ":" + directory;
    return;
  }
  // -genvnone leaves no PATH, so use a common one.
  environment.emplace_back("PATH", "/usr/local/bin:/usr/bin:/bin:" + directory);
}

// A Python script that is not executable, as torchrun accepts it: "train.py", looked up here and
// not on PATH. Other hosts are assumed to have the same file.
bool is_python_script(const std::string& program, const std::string& directory) {
  if (!program.ends_with(".py")) return false;
  const std::string path = absolute(program, directory);
  return ::access(path.c_str(), X_OK) != 0 || program.find('/') == program.npos;
}

std::vector<Program> programs_of(const CommandLine& line, const std::string& directory) {
  std::vector<Program> programs;
  for (const ProgramLine& given : line.programs) {
    Program& program = programs.emplace_back();
    program.command = given.command;
    program.set = given.set;
    const bool has_own = !given.working_directory.empty();
    program.working_directory =
        absolute(has_own ? given.working_directory : line.working_directory, directory);
    // A single program may have all slots, which only the plan can count.
    if (line.programs.size() > 1) program.ranks = given.ranks.value_or(1);
    const bool script = line.as_torchrun && !program.command.empty() &&
                        is_python_script(program.command[0], program.working_directory);
    // -u as torchrun does: otherwise Python keeps output to a pipe until its buffer is full.
    if (script) program.command.insert(program.command.begin(), {"python3", "-u"});
  }
  return programs;
}

Inheritance global_inheritance(const std::optional<Inheritance>& said,
                               const Variables& environment) {
  if (said) return *said;
  // Options override Hydra's variables, and these override Intel MPI's.
  const std::string* hydra = find_variable(environment, "HYDRA_ENV");
  if (hydra == nullptr) hydra = find_variable(environment, "I_MPI_HYDRA_ENV");
  if (hydra == nullptr) return {};
  if (const auto theirs = parse_inheritance(*hydra)) return *theirs;
  throw option_error(fmt::format("HYDRA_ENV={}", *hydra), "not all, none or list:A,B",
                     "HYDRA_ENV=list:A,B");
}

// -envnone and similar options, and -x NAME, of each program.
void inherit_for_programs(const CommandLine& line, const Surroundings& around,
                          JobSettings& settings) {
  std::vector<Program>& programs = settings.request.programs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    // Absent: the program inherits what the job's programs inherit.
    if (line.programs[i].inheritance) {
      programs[i].inherited = inherited_by(*line.programs[i].inheritance, around.environment);
      // A container has a PATH of its own.
      if (line.container.empty()) {
        add_own_directory(*programs[i].inherited, around.program_directory);
      }
    }
    for (const std::string& name : line.programs[i].passed) {
      const std::string* value = find_variable(around.environment, name);
      if (value == nullptr) {
        settings.notices.push_back(
            fmt::format("-x {}: not set here, so the ranks do not get it", name));
        continue;
      }
      programs[i].set.emplace_back(name, *value);
    }
  }
}

Ending ending_of(const CommandLine& line) {
  Ending ending = line.ending;
  if (!ending.hang_notice) ending.hang_notice = kHangNotice;
  // After the default, so that an explicit 0 does not become the default again.
  if (*ending.hang_notice == JobTime(0)) ending.hang_notice.reset();  // never
  return ending;
}

void leave_this_host_out(std::vector<Host>& hosts) {
  const std::string own = own_host_name();
  // The hostfile may have the short name and this machine the long one, or the other way round.
  const std::string prefix = own.substr(0, own.find('.'));
  std::erase_if(hosts, [&](const Host& host) {
    return is_loopback_name(host.name) || host.name == own ||
           host.name.substr(0, host.name.find('.')) == prefix;
  });
  if (!hosts.empty()) return;
  throw option_error("-skip-launch-node", "no other host is named", "-f FILE with more hosts");
}

template <typename T>
std::optional<T> first_of(const std::optional<T>& wins, const std::optional<T>& otherwise) {
  return wins ? wins : otherwise;
}

// The file's settings that are not options of the command line.
void apply_file(const JobFile& file, Request& request) {
  Program& first = request.programs[0];
  if (first.command.empty()) first.command = file.command;
  // In front: the command line's values come later, and the last one wins.
  request.environment.set.insert(request.environment.set.begin(), file.environment.begin(),
                                 file.environment.end());
  request.pinning.threads = file.threads;
  request.pinning.enabled = file.pin;
}

// Spare hosts are the last N with --spares N, and then all that the job's size does not need.
// request.hosts keeps those with which the job begins.
std::vector<Host> take_spares(std::optional<SizeRange> host_range, Request& request) {
  const std::optional<int>& kept = request.restarts.spares;
  std::vector<Host> spares;
  if (kept) {
    if (request.max_restarts() == 0 && !request.elastic) {
      throw option_error(fmt::format("--spares {}", *kept),
                         "spare hosts are used only after a restart",
                         fmt::format("--spares {} --max-restarts 3", *kept));
    }
    const auto held = static_cast<std::size_t>(*kept);
    if (held >= request.hosts.size() && held > 0) {
      throw option_error(
          fmt::format("--spares {}", *kept),
          fmt::format("there are {} in all",
                      plural(static_cast<std::int64_t>(request.hosts.size()), "host")),
          request.hosts.size() < 2
              ? "-f FILE with more hosts"
              : fmt::format("--spares {}, or -f FILE with more hosts", request.hosts.size() - 1));
    }
    spares.assign(request.hosts.end() - *kept, request.hosts.end());
    request.hosts.resize(request.hosts.size() - held);
  }
  std::vector<Host> needed = needed_hosts(request);
  if (host_range) {
    needed.resize(std::min(needed.size(), static_cast<std::size_t>(host_range->most)));
  }
  // Before those of --spares, so that hosts are used in the user's order.
  spares.insert(spares.begin(), request.hosts.begin() + static_cast<std::ptrdiff_t>(needed.size()),
                request.hosts.end());
  request.hosts = std::move(needed);
  return spares;
}

// Whether a line without a program can ask for the demonstration: what belongs to a program cannot.
void check_demonstration(const CommandLine& line) {
  if (line.program_taken) throw *line.program_taken;
  for (const TypedOption& option : line.given) {
    if (option.typed != kSubmitCommand) continue;
    throw option_error(option.typed, "it needs a program, or a job file that names one",
                       "dtlaunch submit -np 2 dttrain --demo");
  }
  if (line.is_given("-env")) {
    throw option_error("-env", "it is for one program, and the line has none",
                       "-genv in its place, or the program at the end of the line");
  }
}

}  // namespace

JobSettings describe_job(const JobInputs& inputs, const Surroundings& around) {
  const CommandLine& line = inputs.line;
  const std::optional<JobFile>& file = inputs.file;
  JobSettings settings;
  Request& request = settings.request;
  // Relative paths start here: the nodes do not know this folder.
  request.programs = programs_of(line, around.working_directory);
  request.placement = line.placement;
  settle_waiting(line, request.placement, settings.notices);
  request.pinning = line.pinning;
  request.pinning.environment = around.environment;
  request.environment = line.environment;
  if (!request.environment.umask) request.environment.umask = around.umask;
  check_contained(line);
  request.network = line.network;
  request.ending = ending_of(line);
  request.restarts = line.restarts;
  request.reporting = line.reporting;
  settings.starting = line.starting;
  settings.typed = line.given;
  request.around = jobs_around(around.environment);
  Variables& inherited = request.environment.inherited;
  inherited = inherited_by(global_inheritance(inheritance_of(line), around.environment),
                           around.environment);
  if (line.container.empty()) add_own_directory(inherited, around.program_directory);
  add_ring_variables(inherited, line);
  inherit_for_programs(line, around, settings);
  // Checked before the job starts, not at its first event.
  check_trusted_command(request.reporting.on_event, "program of --on-event");
  if (file) apply_file(*file, request);
  settings.folders = take_code_folders(line, around, request);
  settings.streams.console = console_options(line.shown, around.working_directory);
  settings.streams.stdin_for = input_choice(line.shown);
  // Neither the command line nor a job file names a program.
  if (request.programs[0].command.empty()) {
    check_demonstration(line);
    request.programs[0].command = {"dttrain", "--demo"};
    settings.notices.push_back((file ? file->path + ": names no program"
                                     : "no program given and no ./dtlaunch.toml here") +
                               ": running the demonstration, dttrain --demo");
  }
  if (request.network.encrypts) encrypt(request, settings.notices);
  request.hosts = read_hosts(line, file, around);
  place_programs(line, request);
  request.hosts_are_tasks = inputs.nodes && inputs.nodes->are_tasks;
  // Takes the user's hosts and returns the job's: the scheduler's if the user names none.
  request.hosts = hosts_of_job(inputs, request.hosts, settings, around.environment);
  if (request.placement.skip_launch_host) leave_this_host_out(request.hosts);
  // Each task is a host here, so --nnodes would count ranks.
  if (request.placement.nodes && !request.hosts_are_tasks) {
    keep_first_hosts(request.hosts, *request.placement.nodes);
  }
  take_size(line, settings);
  settings.spares = take_spares(settings.host_range, request);
  plan_step(inputs, settings);
  check_hosts(settings);
  return settings;
}

std::vector<Host> needed_hosts(const Request& request) {
  const auto first = [&](std::size_t count) {
    const auto end = static_cast<std::ptrdiff_t>(std::min(count, request.hosts.size()));
    return std::vector<Host>(request.hosts.begin(), request.hosts.begin() + end);
  };
  if (!request.placement.rank_map.empty()) {
    const int last =
        *std::max_element(request.placement.rank_map.begin(), request.placement.rank_map.end());
    return first(static_cast<std::size_t>(last) + 1);
  }
  const std::optional<int> ranks = request.placement.rank_range
                                       ? std::optional<int>(request.placement.rank_range->most)
                                       : request.placement.ranks;
  if (!ranks) return request.hosts;
  std::int64_t offered = 0;  // places for ranks; when dealing, in the first round
  for (std::size_t i = 0; i < request.hosts.size(); ++i) {
    const std::optional<int> slots =
        first_of(request.placement.ranks_per_node, request.hosts[i].slots);
    // Only the host knows its slots, so nobody can say how many hosts are enough. With one rank at
    // a time, each host takes one in the first round in any case.
    if (!slots && request.placement.deal != 1) break;
    offered +=
        request.placement.deal ? std::min(*request.placement.deal, slots.value_or(1)) : *slots;
    if (offered >= *ranks) return first(i + 1);
  }
  return request.hosts;
}

}  // namespace dtl
