// Uses posix_spawn(3), not fork(2): this runs on threads, and in a forked child of a program with
// several threads any lock may be held.
#include "agent/node/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

// Reads the program's output to its end; false on timeout.
bool read_until(int fd, Clock::time_point deadline, std::size_t most_bytes, std::string& text) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{fd, POLLIN, 0};
    // A signal may interrupt it; the loop checks the deadline again.
    if (::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[1024];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) return true;
    // Reads and drops the excess, or the program would block on a full pipe.
    const std::size_t room = most_bytes - text.size();
    text.append(buffer, std::min(static_cast<std::size_t>(n), room));
  }
}

// This process's own variables. `storage` owns the changed one.
std::vector<char*> variables_for(const RunOptions& options, std::string& storage) {
  constexpr std::string_view kName = "LD_LIBRARY_PATH=";
  std::vector<char*> variables;
  std::string_view before;
  for (char** at = environ; *at != nullptr; ++at) {
    const bool is_path = std::string_view(*at).starts_with(kName);
    if (is_path) before = std::string_view(*at).substr(kName.size());
    if (!is_path || options.library_folder.empty()) variables.push_back(*at);
  }
  if (!options.library_folder.empty()) {
    storage = std::string(kName) + options.library_folder;
    if (!before.empty()) storage += ":" + std::string(before);
    variables.push_back(storage.data());
  }
  variables.push_back(nullptr);
  return variables;
}

}  // namespace

ProgramOutput run_program(std::vector<std::string> arguments, std::chrono::milliseconds patience,
                          std::size_t most_bytes, const RunOptions& options) {
  ProgramOutput ran;
  Pipe pipe;
  try {
    pipe = make_pipe();
  } catch (const Error& error) {
    // Callers are the roots of threads, where nobody else would catch it.
    ran.problem = error.what();
    return ran;
  }
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, pipe.write_end.get(), STDOUT_FILENO);
  if (options.with_errors) {
    ::posix_spawn_file_actions_adddup2(&files, pipe.write_end.get(), STDERR_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  std::string changed;
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, words[0], &files, nullptr, words.data(),
                                   variables_for(options, changed).data());
  ::posix_spawn_file_actions_destroy(&files);
  // From here on only the program holds it, so that its end is visible.
  pipe.write_end.reset();
  if (failed != 0) {
    ran.problem = errno_text(failed);
    return ran;
  }
  if (!read_until(pipe.read_end.get(), Clock::now() + patience, most_bytes, ran.text)) {
    ran.problem = fmt::format("does not answer within {} s", (patience.count() + 500) / 1000);
  }
  ::kill(pid, SIGKILL);  // it has closed its output, or timed out
  int status = 0;
  ::waitpid(pid, &status, 0);
  return ran;
}

}  // namespace dtl
