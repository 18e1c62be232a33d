// A new check is a function here that reads facts of Examined by name. A missing fact is not a
// finding: an agent leaves out what it could not learn.
#include "launcher/doctor/doctor_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <sstream>

#include "base/text.h"
#include "plan/core_owners.h"

namespace dtl {
namespace {

constexpr double kClockTolerance_s = 1;  // time stamps of logs and checkpoints, make, NFS
// 1024 is the usual soft limit of a login.
constexpr std::uint64_t kLeastFiles = 1024;
// Linux counts the threads of all the user's processes against this limit.
constexpr std::uint64_t kLeastProcesses = 4096;
constexpr std::uint64_t kLeastSharedMemory = 64 << 20;  // what a container gets by default
constexpr double kBusyPart = 0.5;  // load per core from which a host is not idle

std::string value_of(const Examination& host, const std::string& name) {
  const auto at = host.more.find(name);
  return at == host.more.end() ? std::string() : at->second;
}

// The first number of a fact. nullopt when there is none; "unlimited" is the largest number.
std::optional<std::uint64_t> number_of(const Examination& host, const std::string& name) {
  const std::string text = value_of(host, name);
  const std::string first = text.substr(0, text.find(' '));
  if (first == "unlimited") return UINT64_MAX;
  const auto number = parse_integer(first, 0, INT64_MAX);
  if (!number) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// Findings of one kind become one line with all the hosts that have it. On 200 hosts with one
// mistake in their image, 200 equal lines would hide the others.
class Collector {
 public:
  explicit Collector(std::vector<Finding>& findings) : findings_(findings) {}
  void add(const Examination& host, Level level, const std::string& check, const std::string& text,
           const std::string& fix = {}) {
    for (Finding& finding : findings_) {
      const bool same = finding.check == check && finding.text == text && finding.level == level;
      if (!same) continue;
      finding.hosts.push_back(host.name);
      return;
    }
    findings_.push_back({level, check, {host.name}, text, fix, 0});
  }

 private:
  std::vector<Finding>& findings_;
};

// A shell that prints when no one logs in breaks scp and rsync too. dtlaunch finds its agent behind
// what was printed, hence a warning and not an error.
void check_noise(const Examination& host, Collector& to) {
  if (host.noise.empty()) return;
  const std::string text(trim(host.noise));
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  std::string first = text.substr(0, std::min<std::size_t>(text.find('\n'), 40));
  // The line comes from the host, and goes to a terminal.
  for (char& c : first) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  to.add(host, Level::kWarning, "shell",
         fmt::format("its login shell prints {} when no one logs in: '{}'", plural(lines, "line"),
                     first),
         "in ~/.bashrc there: [[ $- == *i* ]] || return, before what prints");
}

// Only this host's clock is known, so all others are compared with it.
void check_clock(const Examination& host, Collector& to) {
  if (!host.clock_ahead_s) return;
  const double ahead = *host.clock_ahead_s;
  // The answer was in transit for an unknown part of the round trip, so only a difference beyond
  // half of it is certain.
  if (std::abs(ahead) - host.clock_uncertain_s <= kClockTolerance_s) return;
  to.add(host, Level::kWarning, "clock",
         fmt::format("its clock is {:.1f} s {} this host's", std::abs(ahead),
                     ahead > 0 ? "ahead of" : "behind"),
         "timedatectl set-ntp true, there");
}

void check_limits(const Examination& host, Collector& to) {
  const auto files = number_of(host, "limit.nofile");
  if (files && *files < kLeastFiles) {
    to.add(host, Level::kWarning, "limits",
           fmt::format("a rank may open {} files (ulimit -n)", *files),
           "LimitNOFILE of sshd, or nofile in /etc/security/limits.conf there");
  }
  const auto processes = number_of(host, "limit.nproc");
  if (processes && *processes < kLeastProcesses) {
    to.add(host, Level::kWarning, "limits",
           fmt::format("its user may have {} threads (ulimit -u)", *processes),
           "nproc in /etc/security/limits.conf there");
  }
  const auto shared = number_of(host, "shm.total_bytes");
  // PyTorch's data loaders pass batches through /dev/shm, and die of SIGBUS when it is full.
  if (shared && *shared <= kLeastSharedMemory) {
    to.add(host, Level::kWarning, "shared memory",
           fmt::format("/dev/shm has {} MiB, too few for PyTorch's data loaders", *shared >> 20),
           "mount -o remount,size=50% /dev/shm there, or --shm-size of the container");
  }
}

// Notes, not warnings: dtlaunch works without each of these. They help to explain other findings.
void check_kernel(const Examination& host, Collector& to) {
  const std::string pidfd = value_of(host, "kernel.pidfd");
  if (!pidfd.empty() && pidfd != "yes") {
    to.add(host, Level::kNote, "kernel", fmt::format("pidfd_open does not work: {}", pidfd));
  }
  const std::string ranges = value_of(host, "kernel.close_range");
  if (!ranges.empty() && ranges != "yes") {
    to.add(host, Level::kNote, "kernel", fmt::format("close_range does not work: {}", ranges));
  }
  const std::string spaces = value_of(host, "kernel.user_namespaces");
  if (!spaces.empty() && spaces != "yes") {
    to.add(host, Level::kNote, "kernel", fmt::format("no user namespaces: {}", spaces));
  }
  const std::string version = value_of(host, "cgroup.version");
  if (version == "none" || value_of(host, "cgroup.writable") == "no") {
    to.add(host, Level::kNote, "cgroup",
           version == "none"
               ? std::string("no control groups")
               : fmt::format("control groups v{} that this user cannot write", version));
  }
}

// How much load the jobs that have cores there may cause.
int claimed_cpus(const NodeFacts& facts) {
  CpuSet all;
  for (const CoreClaim& claim : facts.claims) all = all | claim.cpus;
  return all.count();
}

void check_load(const Examination& host, Collector& to) {
  const std::string governor = value_of(host, "cpu.governor");
  // Empty where the kernel shows none, as in most virtual machines.
  if (!governor.empty() && governor != "performance") {
    to.add(host, Level::kNote, "cpu", fmt::format("frequency governor {}", governor),
           "cpupower frequency-set -g performance, there");
  }
  double load = 0;
  std::istringstream(value_of(host, "cpu.load")) >> load;
  const auto cores = static_cast<double>(host.facts->topology.cores.size());
  // check_claims() names the jobs that have cores there.
  const int claimed = claimed_cpus(*host.facts);
  const double unexplained = load - claimed;
  // A load of 1 is a single busy process, which any host may have for a moment.
  if (unexplained > 1 && cores > 0 && unexplained > kBusyPart * cores) {
    to.add(host, Level::kNote, "cpu",
           fmt::format("load {:.0f} on {:.0f} core{}: something else runs there{}", load, cores,
                       cores == 1 ? "" : "s", claimed > 0 ? ", beside dtlaunch's jobs" : ""));
  }
}

void check_claims(const Examination& host, Collector& to) {
  const NodeFacts& facts = *host.facts;
  if (facts.claims.empty()) return;
  to.add(host, Level::kNote, "cores", owners_text(facts.claims, facts.topology));
}

// ps, kill, clean and up find jobs by the records that agents leave there.
void check_records(const Examination& host, Collector& to) {
  const std::string folder = value_of(host, "records.folder");
  const std::string problem = value_of(host, "records.problem");
  const std::string taken = value_of(host, "records.taken");
  if (!folder.empty()) {
    to.add(host, Level::kOk, "records", "records and sockets of jobs are in " + folder);
  }
  if (!problem.empty()) {
    to.add(host, Level::kWarning, "records", "ps, kill and clean find no job there: " + problem);
  } else if (!taken.empty()) {
    to.add(host, Level::kNote, "records", fmt::format("not used: {}", taken));
  }
}

void check_python(const Examination& host, Collector& to) {
  const std::string problem = value_of(host, "python.problem");
  if (problem.empty()) return;
  to.add(host, Level::kWarning, "python",
         fmt::format("{} {}", value_of(host, "python.path"), problem));
}

// One line per value, the most common first: "eth0 MTU 1500 on 3 hosts, 1280 on node3". The finding
// is about the hosts that have a rarer value, since these are mostly the ones to mend.
void compare(const std::vector<Examination>& hosts, const std::string& check,
             const std::string& what, Level level, const std::string& fix,
             const std::function<std::string(const Examination&)>& value,
             std::vector<Finding>& findings) {
  std::map<std::string, std::vector<std::string>> by_value;
  for (const Examination& host : hosts) {
    if (host.failure || !host.facts) continue;
    const std::string found = value(host);
    // A host without an answer differs from those with one.
    by_value[found.empty() ? "unknown" : found].push_back(host.name);
  }
  if (by_value.size() < 2) {
    if (!by_value.empty() && by_value.begin()->first != "unknown") {
      findings.push_back(
          {Level::kOk, check, {}, fmt::format("{} {}", what, by_value.begin()->first), {}, 0});
    }
    return;
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> sorted(by_value.begin(),
                                                                       by_value.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::vector<std::string> pieces, odd;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& names = sorted[i].second;
    // Lists the odd hosts only if they are few; the finding itself has all of them.
    pieces.push_back(
        fmt::format("{} on {}", sorted[i].first,
                    names.size() > 3 ? fmt::format("{} hosts", names.size()) : join(names, ", ")));
    if (i > 0) odd.insert(odd.end(), names.begin(), names.end());
  }
  findings.push_back({level, check, odd, fmt::format("{} differs: {}", what, join(pieces, "; ")),
                      fix, level == Level::kError ? static_cast<int>(Exit::kConfig) : 0});
}

// Whole GiB: the kernel keeps a little for itself, and not the same amount on every host.
std::string gibibytes(const Examination& host) {
  const double bytes = static_cast<double>(host.facts->topology.memory_bytes);
  return fmt::format("{:.0f} GiB", bytes / (1 << 30));
}

// All CPUs, allowed or not: this compares machines. slurm_check.cc checks which may be used.
std::string cores(const Examination& host) {
  std::set<int> packages, numa;
  for (const Core& core : host.facts->topology.cores) {
    packages.insert(core.package);
    numa.insert(core.numa);
  }
  return fmt::format("{}, {}, {}", plural(host.facts->topology.cores.size(), "core"),
                     plural(packages.size(), "socket"), plural(numa.size(), "NUMA node"));
}

// The MTU of the interface to the other hosts; other interfaces may differ without harm. The large
// packets decide, because they used the chosen network.
std::string link_of(const Examination& host) {
  std::string address = host.facts->reached_at;
  for (const Attempt& attempt : host.large_attempts) {
    if (attempt.reached) address = attempt.local_address;
  }
  for (const Nic& nic : host.facts->nics) {
    const auto& own = nic.addresses;
    if (std::find(own.begin(), own.end(), address) != own.end()) return fmt::format("{}", nic.mtu);
  }
  return {};
}

std::function<std::string(const Examination&)> fact(const std::string& name) {
  return [name](const Examination& host) { return value_of(host, name); };
}

}  // namespace

void check_each_host(const std::vector<Examination>& hosts, std::vector<Finding>& findings) {
  Collector to(findings);
  for (const Examination& host : hosts) {
    // Before the check for a failure: an ignored keyword may be the reason why the host failed.
    for (const IgnoredKeyword& keyword : host.ignored) {
      to.add(host, Level::kWarning, "ssh_config",
             fmt::format("{}: {} is not obeyed", keyword.where, keyword.keyword), keyword.effect);
    }
    if (host.failure || !host.facts) continue;
    check_noise(host, to);
    check_clock(host, to);
    check_kernel(host, to);
    check_limits(host, to);
    check_load(host, to);
    check_claims(host, to);
    check_python(host, to);
    check_records(host, to);
  }
}

void check_equality(const std::vector<Examination>& hosts, std::vector<Finding>& findings) {
  // Each step of a training job ends with an allreduce.
  const std::string slowest = "all ranks wait for the slowest";
  compare(hosts, "architecture", "the architecture", Level::kWarning, "hosts of one kind",
          fact("kernel.architecture"), findings);
  compare(hosts, "cpu", "the CPU", Level::kWarning, slowest, fact("cpu.model"), findings);
  compare(hosts, "cpu", "the topology", Level::kWarning, slowest, cores, findings);
  compare(hosts, "cpu", "what the CPU offers for training", Level::kWarning,
          // oneDNN chooses its kernels by what the CPU offers, and another kernel rounds
          // differently.
          "results and speed differ with it: set DNNL_MAX_CPU_ISA, or leave these hosts out",
          fact("cpu.features"), findings);
  compare(hosts, "memory", "the memory", Level::kWarning, {}, gibibytes, findings);
  compare(hosts, "mtu", "the MTU", Level::kWarning, "ip link set dev NAME mtu N, there", link_of,
          findings);
  compare(hosts, "python", "python", Level::kWarning, "one environment for all hosts",
          fact("python.version"), findings);
  compare(hosts, "torch", "torch", Level::kWarning, "one environment for all hosts",
          fact("torch.version"), findings);
  compare(hosts, "numpy", "numpy", Level::kNote, {}, fact("numpy.version"), findings);
  compare(hosts, "kernel", "the kernel", Level::kNote, {}, fact("kernel.release"), findings);
  compare(hosts, "shared memory", "memory locking (ulimit -l)", Level::kNote, {},
          fact("limit.memlock"), findings);
}

}  // namespace dtl
