// The rank writes the file, so its content is checked: the process must be in the rank's session
// and catch the signal. The end of an answer is inferred: the signal was handled and the file
// stopped growing.
#include "agent/job/stack_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <utility>

#include "agent/job/failure_evidence.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/machine/process_handle.h"
#include "base/text.h"

namespace dtl {
namespace {

struct SignalState {
  bool known = false;  // the process exists
  bool caught = false, pending = false, blocked = false;
};

// Signal masks of the process's first thread, and pending signals of both. A handler runs with its
// own signal blocked.
SignalState signal_state(pid_t pid, int signal) {
  SignalState state;
  for (const std::string& line :
       split(read_up_to("/proc/" + std::to_string(pid) + "/status", 8192), '\n')) {
    const std::size_t colon = line.find(":\t");
    if (colon == std::string::npos || !(line.starts_with("Sig") || line.starts_with("ShdPnd"))) {
      continue;
    }
    const unsigned long long mask = std::strtoull(line.c_str() + colon + 2, nullptr, 16);
    const bool set = (mask >> (signal - 1) & 1) != 0;
    state.known = true;
    if (line.starts_with("SigCgt")) state.caught = set;
    if (line.starts_with("SigBlk")) state.blocked = set;
    // Pending for the thread, or for the process without a thread yet.
    if (line.starts_with("SigPnd") || line.starts_with("ShdPnd")) state.pending |= set;
  }
  return state;
}

pid_t first_number(const std::string& text) {
  int pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  // Without the newline the number may be incomplete.
  const bool complete = error == std::errc() && end < text.data() + text.size() && *end == '\n';
  return complete && pid > 0 ? pid : 0;
}

std::string program_of(pid_t pid) {
  char target[PATH_MAX];
  const ssize_t size =
      ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), target, sizeof target);
  if (size <= 0) return {};
  std::string path(target, static_cast<std::size_t>(size));
  path.erase(0, path.rfind('/') + 1);
  // The kernel adds this if the program's file was replaced.
  return path.substr(0, path.find(" (deleted)"));
}

}  // namespace

bool StackFile::ask() {
  pid_ = first_number(read_up_to(path_, 32));
  if (pid_ == 0) return false;
  // The handle refers to the process checked here, so no other process gets the signal.
  const ProcessHandle process(pid_);
  if (!process.valid() || ::getsid(pid_) != rank_pid_) return false;
  // The default action of kAskSignal would end the process.
  if (!signal_state(pid_, signal_).caught) return false;
  before_ = seen_ = size();
  return process.signal(signal_);
}

bool StackFile::has_answered() {
  const SignalState state = signal_state(pid_, signal_);
  if (!state.known) return true;
  const off_t now = size();
  // If another thread took the signal, only the file shows the end.
  const bool still = now > before_ && now == std::exchange(seen_, now);
  return still && !state.pending && !state.blocked;
}

Stack StackFile::answer(std::uint32_t rank) const {
  Stack stack;
  stack.rank = rank;
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const off_t end = size();
  // Only text appended since ask(), and at most its end.
  const off_t begin = std::max(before_, end - static_cast<off_t>(kMaxStackBytes));
  stack.text.resize(end > begin ? static_cast<std::size_t>(end - begin) : 0);
  const ssize_t got =
      file.valid() ? ::pread(file.get(), stack.text.data(), stack.text.size(), begin) : 0;
  stack.text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  // Cut text begins within a line.
  if (begin > before_) stack.text.erase(0, stack.text.find('\n') + 1);
  stack.answer = stack.text.empty() ? StackAnswer::kSilent : StackAnswer::kTold;
  if (stack.text.empty() && process_state(pid_) == ProcessState::kStopped) stack.text = "stopped";
  return stack;
}

off_t StackFile::size() const {
  struct stat found {};
  return ::lstat(path_.c_str(), &found) == 0 ? found.st_size : 0;
}

pid_t session_of_writer(const std::string& path) {
  const pid_t pid = first_number(read_up_to(path, 32));
  return pid == 0 ? 0 : std::max(::getsid(pid), 0);
}

bool is_python(pid_t pid) {
  return program_of(pid).starts_with("python");
}

std::string program_of_rank(std::span<const Process> processes, pid_t rank_pid) {
  for (const Process& process : processes) {
    if (process.session != rank_pid || !process.alive) continue;
    std::string program = program_of(process.pid);
    if (program.starts_with("python")) return program;
  }
  return program_of(rank_pid);
}

}  // namespace dtl
