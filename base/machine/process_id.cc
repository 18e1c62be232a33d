// A pid, its start time and the space in which both are valid. /proc is the only source; a process
// that has ended gives zeros.
#include "base/machine/process_id.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/text.h"

namespace dtl {
namespace {

struct Stat {
  char state = 'X';
  std::uint64_t start_time = 0;
};

// "pid (name) state ppid ..."; the name may contain anything, even parentheses.
Stat read_stat(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return {};
  std::istringstream fields(text.substr(after_name + 1));
  Stat stat;
  fields >> stat.state;
  std::string skipped;
  // Fields as proc(5) numbers them: state is 3, start time 22.
  for (int field = 4; field < 22; ++field) fields >> skipped;
  fields >> stat.start_time;
  return fields ? stat : Stat{};
}

// Pids are valid in one PID namespace of one boot.
const std::string& own_space() {
  // Read once: neither changes while a process runs.
  static const std::string kSpace = [] {
    std::string boot_id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
    char link[64];
    const ssize_t size = ::readlink("/proc/self/ns/pid", link, sizeof link);
    std::string digits;
    for (ssize_t i = 0; i < size; ++i) {
      if (link[i] >= '0' && link[i] <= '9') digits += link[i];
    }
    return boot_id + "-" + digits;
  }();
  return kSpace;
}

}  // namespace

ProcessId identify(pid_t pid) {
  static thread_local ProcessId own;  // used often, and constant until a fork
  if (pid == own.pid && pid == ::getpid()) return own;
  const ProcessId found{pid, read_stat(pid).start_time, own_space()};
  if (pid == ::getpid()) own = found;
  return found;
}

std::string to_text(const ProcessId& id) {
  return std::to_string(id.pid) + ":" + std::to_string(id.start_time) + ":" + id.space;
}

std::optional<ProcessId> parse_process_id(const std::string& text) {
  const auto pieces = split(text, ':');
  if (pieces.size() != 3) return std::nullopt;
  const auto pid = parse_integer(pieces[0], 1, std::numeric_limits<pid_t>::max());
  const auto start = parse_integer(pieces[1], 1, std::numeric_limits<std::int64_t>::max());
  if (!pid || !start) return std::nullopt;
  return ProcessId{static_cast<pid_t>(*pid), static_cast<std::uint64_t>(*start), pieces[2]};
}

bool has_ended(const ProcessId& id) {
  return id.space == own_space() && !is_running(id);
}

bool is_running(const ProcessId& id) {
  if (id.space != own_space()) return false;
  const Stat stat = read_stat(id.pid);
  return stat.start_time == id.start_time && stat.start_time != 0 && stat.state != 'Z' &&
         stat.state != 'X';
}

ProcessState process_state(pid_t pid) {
  const char state = read_stat(pid).state;
  if (state == 'X' || state == 'Z') return ProcessState::kGone;
  return state == 'T' || state == 't' ? ProcessState::kStopped : ProcessState::kRuns;
}

// Children forked by the main thread: each thread has a separate list (proc(5)).
std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

std::string process_name(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace dtl
