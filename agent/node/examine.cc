// Each function reports the facts that it finds and omits the rest: a file may be missing in a
// container or in an older kernel, which is not an error.
#include "agent/node/examine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "agent/node/examine_python.h"
#include "base/error.h"
#include "base/machine/runtime_folder.h"
#include "base/text.h"

namespace dtl {
namespace {

class Facts {
 public:
  // An empty value means unknown, and is omitted.
  void add(const std::string& name, const std::string& value) {
    if (!value.empty()) facts_.push_back({name, value.substr(0, kMostBytes)});
  }
  void add(const std::string& name, std::uint64_t value) { add(name, std::to_string(value)); }
  std::vector<Fact> take() { return std::move(facts_); }

 private:
  static constexpr std::size_t kMostBytes = 4096;
  std::vector<Fact> facts_;
};

std::string read_first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// The rest of the first line that begins with `key` and a separator: "model name : Xeon".
std::string value_in(const std::string& path, const std::string& key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(separator);
    if (at != std::string::npos && trim(line.substr(0, at)) == key) {
      return std::string(trim(line.substr(at + 1)));
    }
  }
  return {};
}

// "yes", or the error.
std::string worked(long result) {
  return result >= 0 ? "yes" : errno_text(errno);
}

// In a child: unshare() cannot be undone, and fails in a process with several threads.
std::string user_namespaces() {
  const pid_t pid = ::fork();
  // The exit status returns the error number.
  if (pid == 0) ::_exit(::unshare(CLONE_NEWUSER) == 0 ? 0 : errno & 0xff);
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return {};
  return WEXITSTATUS(status) == 0 ? "yes" : errno_text(WEXITSTATUS(status));
}

void tell_kernel(Facts& facts) {
  utsname name{};
  if (::uname(&name) == 0) {
    facts.add("kernel.release", name.release);
    facts.add("kernel.architecture", name.machine);
  }
  // Quoted, as the file is in shell syntax.
  std::string system = value_in("/etc/os-release", "PRETTY_NAME", '=');
  std::erase(system, '"');
  facts.add("os.name", system);
  // Tried, not inferred from the release: a seccomp filter may refuse calls that the kernel has.
  const long own = ::syscall(SYS_pidfd_open, ::getpid(), 0);
  facts.add("kernel.pidfd", worked(own));
  if (own >= 0) ::close(static_cast<int>(own));
#ifdef SYS_close_range
  // No descriptor has this number, so the call closes nothing.
  facts.add("kernel.close_range", worked(::syscall(SYS_close_range, ~0u, ~0u, 0)));
#endif
  facts.add("kernel.user_namespaces", user_namespaces());
}

// Whether an ssh login joins its user's Slurm job on this node.
void tell_adoption(Facts& facts) {
  std::ifstream file("/etc/pam.d/sshd");
  if (!file) return;
  bool adopts = false;
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = trim(line);
    adopts |= !text.starts_with('#') && text.find("pam_slurm_adopt") != text.npos;
  }
  facts.add("pam.slurm_adopt", adopts ? "yes" : "no");
}

void tell_cgroup(Facts& facts) {
  std::error_code failed;
  // Only the root of version 2 has this file. With both versions mounted, version 1 has the
  // controllers.
  const bool unified = std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers", failed);
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const bool is_ours = unified ? parts[0] == "0" : parts[1] == "pids" || parts[1] == "freezer";
    if (!is_ours) continue;
    const std::string folder =
        "/sys/fs/cgroup" + (unified ? "" : "/" + parts[1]) + (parts[2] == "/" ? "" : parts[2]);
    facts.add("cgroup.version", unified ? "2" : "1");
    facts.add("cgroup.writable", ::access(folder.c_str(), W_OK) == 0 ? "yes" : "no");
    return;
  }
  facts.add("cgroup.version", "none");
}

// The limits that ranks get: those of the guard, the only child of our first thread, since we have
// raised our own. Without a guard, reports our own.
void tell_limits(Facts& facts) {
  const std::string children =
      read_first_line("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  const std::string guard(trim(children.substr(0, children.find(' '))));
  std::ifstream file("/proc/" + (guard.empty() ? std::string("self") : guard) + "/limits");
  // Soft and hard limit, as the kernel prints them; "unlimited" is a valid value.
  const std::pair<const char*, const char*> wanted[] = {{"Max open files", "limit.nofile"},
                                                        {"Max processes", "limit.nproc"},
                                                        {"Max locked memory", "limit.memlock"},
                                                        {"Max core file size", "limit.core"}};
  for (std::string line; std::getline(file, line);) {
    for (const auto& [title, name] : wanted) {
      if (!line.starts_with(title)) continue;
      std::istringstream words(line.substr(std::string(title).size()));
      std::string soft, hard;
      words >> soft >> hard;
      facts.add(name, soft + " " + hard);
    }
  }
}

void tell_memory(Facts& facts) {
  const std::pair<const char*, const char*> wanted[] = {{"MemAvailable", "memory.available_kib"},
                                                        {"SwapTotal", "memory.swap_kib"}};
  for (const auto& [title, name] : wanted) {
    const std::string value = value_in("/proc/meminfo", title, ':');
    facts.add(name, value.substr(0, value.find(' ')));
  }
  for (const auto& [path, name] : {std::pair("/dev/shm", "shm"), std::pair("/tmp", "tmp")}) {
    struct statvfs file_system {};
    if (::statvfs(path, &file_system) != 0) continue;
    facts.add(std::string(name) + ".total_bytes", file_system.f_blocks * file_system.f_frsize);
    // The space for a user: the file system may reserve some for root.
    facts.add(std::string(name) + ".free_bytes", file_system.f_bavail * file_system.f_frsize);
  }
}

void tell_cpu(Facts& facts) {
  facts.add("cpu.model", value_in("/proc/cpuinfo", "model name", ':'));
  std::string line = value_in("/proc/cpuinfo", "flags", ':');
  if (line.empty()) line = value_in("/proc/cpuinfo", "Features", ':');  // arm64
  const auto flags = split(line, ' ');
  const std::set<std::string> all(flags.begin(), flags.end());
  std::string found;
  for (const char* flag : {"avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8",
                           "amx_bf16", "asimdhp", "asimddp", "sve", "sve2", "bf16", "i8mm"}) {
    if (all.contains(flag)) found += (found.empty() ? "" : " ") + std::string(flag);
  }
  if (!all.empty() && !flags[0].empty()) facts.add("cpu.features", found.empty() ? "none" : found);
  // Of all CPUs: one in power-saving mode slows the whole job.
  std::set<std::string> governors;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/cpu", failed)) {
    const std::string name = read_first_line(entry.path().string() + "/cpufreq/scaling_governor");
    if (!name.empty()) governors.insert(name);
  }
  facts.add("cpu.governor",
            join(std::vector<std::string>(governors.begin(), governors.end()), " "));
  const std::string load = read_first_line("/proc/loadavg");
  facts.add("cpu.load", load.substr(0, load.find(' ')));
}

void tell_records(Facts& facts) {
  const std::string problem = runtime_problem();
  facts.add("records.problem", problem);
  facts.add("records.taken", taken_runtime_folder());
  if (problem.empty()) facts.add("records.folder", runtime_folder());
}

}  // namespace

std::vector<Fact> examine_clock() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
  return {{"clock.realtime_us", std::to_string(us)}};
}

std::vector<Fact> examine_node(const std::vector<Fact>& parameters) {
  Facts facts;
  tell_kernel(facts);
  tell_cgroup(facts);
  tell_adoption(facts);
  tell_limits(facts);
  tell_memory(facts);
  tell_cpu(facts);
  tell_records(facts);
  for (const Fact& fact : examine_python(parameters)) facts.add(fact.name, fact.value);
  return facts.take();
}

}  // namespace dtl
