#include "agent/node/examine_python.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(5);  // a Python on a cold network file system
constexpr std::size_t kMostBytes = 4096;
constexpr const char* kScript =
    "import sys\n"
    "print(sys.version.split()[0])\n"
    "from importlib.metadata import version\n"
    "for name in ('torch', 'numpy'):\n"
    "    try: print(version(name))\n"
    "    except Exception: print()\n";

std::string parameter(const std::vector<Fact>& parameters, const std::string& name,
                      const std::string& otherwise) {
  for (const Fact& fact : parameters) {
    if (fact.name == name && !fact.value.empty()) return fact.value;
  }
  return otherwise;
}

// What it prints until its end; false when it takes too long.
bool read_until(int fd, Clock::time_point deadline, std::string& text) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[1024];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) return true;
    if (text.size() < kMostBytes) text.append(buffer, static_cast<std::size_t>(n));
  }
}

struct Ran {
  std::string text, problem;
};

Ran run(const std::string& program, const std::string& script) {
  Ran ran;
  Pipe pipe = make_pipe();
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, pipe.write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = program, option = "-c", text = script;
  char* const arguments[] = {name.data(), option.data(), text.data(), nullptr};
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, program.c_str(), &files, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&files);
  pipe.write_end.reset();
  if (failed != 0) {
    ran.problem = errno_text(failed);
    return ran;
  }
  if (!read_until(pipe.read_end.get(), Clock::now() + kPatience, ran.text)) {
    ran.problem = "does not answer within 5 s";
  }
  ::kill(pid, SIGKILL);  // it has closed its output, or takes too long
  int status = 0;
  ::waitpid(pid, &status, 0);
  return ran;
}

}  // namespace

std::string find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  for (const std::string& folder : split(path, ':')) {
    const std::string found = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(found.c_str(), X_OK) == 0) return found;
  }
  return {};
}

std::vector<Fact> examine_python(const std::vector<Fact>& parameters) {
  const char* own_path = std::getenv("PATH");
  const std::string path =
      parameter(parameters, "PATH", own_path == nullptr ? "/usr/bin:/bin" : own_path);
  const std::string program = find_program(parameter(parameters, "python", "python3"), path);
  if (program.empty()) return {};
  std::vector<Fact> facts = {{"python.path", program}};
  const Ran ran = run(program, kScript);
  const auto lines = split(ran.text, '\n');
  const char* names[] = {"python.version", "torch.version", "numpy.version"};
  for (std::size_t i = 0; i < std::size(names) && i < lines.size(); ++i) {
    if (!lines[i].empty()) facts.push_back({names[i], lines[i]});
  }
  if (!ran.problem.empty()) facts.push_back({"python.problem", ran.problem});
  return facts;
}

}  // namespace dtl
