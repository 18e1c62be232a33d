// Checks only settings that affect a job of dtlaunch: how long ranks have after scancel, which CPUs
// a step has, and whether processes started over ssh belong to the job.
#include "launcher/doctor/slurm_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/limits.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr const char* kSlurmCheck = "slurm";

// Lines "KillWait                = 30 sec", by the name on the left. The first line of a name
// counts.
std::map<std::string, std::string> settings_in(const std::string& text) {
  std::map<std::string, std::string> settings;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos) continue;
    const std::string name(trim(line.substr(0, equals)));
    settings.try_emplace(name, printable(trim(line.substr(equals + 1))));
  }
  return settings;
}

std::string value_or(const std::map<std::string, std::string>& settings, const std::string& name,
                     const std::string& otherwise) {
  const auto found = settings.find(name);
  return found == settings.end() || found->second.empty() ? otherwise : found->second;
}

// ProctrackType decides whether Slurm finds all processes of a job at its end. TaskPlugin decides
// whether they are kept to its CPUs and memory.
std::string cgroup_mode(const std::map<std::string, std::string>& settings) {
  const bool tracks = value_or(settings, "ProctrackType", "").find("cgroup") != std::string::npos;
  const bool confines = value_or(settings, "TaskPlugin", "").find("cgroup") != std::string::npos;
  if (tracks && confines) return "cgroups hold the job's processes and confine them";
  if (tracks) return "cgroups hold the job's processes";
  if (confines) return "cgroups confine the job's processes";
  return "no cgroups";
}

// scancel sends SIGTERM and, KillWait seconds later, SIGKILL. Ranks get kInterruptGrace after that
// SIGTERM to save their state.
void check_times(const std::map<std::string, std::string>& settings,
                 std::vector<Finding>& findings) {
  const std::string wait = value_or(settings, "KillWait", "");
  const auto seconds = parse_integer(wait.substr(0, wait.find(' ')), 0, INT32_MAX);
  const auto grace = std::chrono::seconds(kInterruptGrace).count();
  if (!seconds || *seconds > grace) return;
  findings.push_back(
      {Level::kWarning,
       kSlurmCheck,
       {},
       fmt::format("KillWait is {} s: after scancel ranks have no {} s to save", *seconds, grace),
       // dtlaunch takes USR1 as a notice in jobs of Slurm. exec, because B: signals the batch shell
       // only.
       fmt::format("sbatch --signal=B:USR1@60 and exec dtlaunch ...; or KillWait={} in "
                   "slurm.conf",
                   2 * grace + 2),
       0});
}

// A step that was started inside another `srun` has only the CPUs of that one, often a single one.
void check_cpus(const SchedulerSeen& slurm, const std::vector<Examination>& hosts,
                std::vector<Finding>& findings) {
  for (const Examination& host : hosts) {
    // Slurm may have the short name and the agent the full one.
    const auto node = std::find_if(slurm.nodes.begin(), slurm.nodes.end(), [&](const Host& each) {
      return same_host_name(each.name, host.name);
    });
    if (host.failure || !host.facts || node == slurm.nodes.end() || !node->max_slots) continue;
    const auto seen = static_cast<int>(host.facts->topology.allowed.count());
    if (seen >= *node->max_slots) continue;
    findings.push_back({Level::kWarning,
                        kSlurmCheck,
                        {host.name},
                        fmt::format("the job has {} there, and its step may use {}",
                                    plural(*node->max_slots, "CPU"), seen),
                        "dtlaunch outside of another srun, or that one with -c for all CPUs",
                        0});
  }
}

// pam_slurm_adopt moves what sshd starts into the job's cgroup. Without it, ranks started over ssh
// escape the job's limits and outlive it. Agents in a step do not need it.
void check_adoption(const SchedulerSeen& slurm, const std::vector<Examination>& hosts,
                    std::vector<Finding>& findings) {
  std::vector<std::string> without;
  for (const Examination& host : hosts) {
    const auto adopts = host.more.find("pam.slurm_adopt");
    if (adopts != host.more.end() && adopts->second == "no") without.push_back(host.name);
  }
  if (without.empty()) return;
  findings.push_back({slurm.by_step ? Level::kOk : Level::kWarning, kSlurmCheck, without,
                      "sshd has no pam_slurm_adopt: what starts over ssh is outside of the job",
                      slurm.by_step ? "" : "without -launcher ssh, and srun on PATH", 0});
}

}  // namespace

ToolQuestion slurm_settings_question() {
  return {"scontrol show config", "srun --version; exec scontrol show config", ""};
}

void check_slurm(const SchedulerSeen& slurm, const std::vector<Examination>& hosts,
                 std::vector<Finding>& findings) {
  const std::string version(printable(trim(slurm.text.substr(0, slurm.text.find('\n')))));
  const auto settings = settings_in(slurm.text);
  // The checks below need no answer from scontrol.
  if (settings.empty()) {
    findings.push_back({Level::kNote,
                        kSlurmCheck,
                        {},
                        "its settings are not known: scontrol show config does not answer",
                        "scontrol show config",
                        0});
  } else {
    findings.push_back({Level::kOk,
                        kSlurmCheck,
                        {},
                        fmt::format("{}, agents start {}; {} ({}, {})", version,
                                    slurm.by_step ? "by one srun" : "over ssh",
                                    cgroup_mode(settings), value_or(settings, "ProctrackType", "?"),
                                    value_or(settings, "TaskPlugin", "?")),
                        {},
                        0});
    check_times(settings, findings);
  }
  check_cpus(slurm, hosts, findings);
  check_adoption(slurm, hosts, findings);
}

}  // namespace dtl
