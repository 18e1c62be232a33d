// watch_test --limit SECONDS [--] COMMAND [ARGUMENT...]: runs one test of this tree, as ctest does
// with each.
//
// The test sees few variables of the machine that runs it (kKept), has a time limit, and leaves no
// process behind. Waits for a CPU do not count, up to kMostLimits times the limit: starved is not
// hung. At the limit its processes are named and their stacks printed, by gdb where there is one
// and from /proc elsewhere; then they are killed, and the exit status is 124. Otherwise the exit
// status is the test's own, 128 + N where signal N ended it; 125 instead of 0 for a test that left
// processes behind.
//
// It owns everything that the test starts: as subreaper, it becomes the parent of a daemon's
// orphans. One thread. It starts 4,000 times in a run, so it links none of our code or sanitizers.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kHung = 124;            // as timeout(1) has it
constexpr int kLeftBehind = 125;      // the test's own status was 0, and something of it ran on
constexpr int kUsage = 64;            // EX_USAGE
constexpr int kMostLimits = 4;        // tests/CMakeLists.txt gives ctest's own limit by it
constexpr auto kStackTime = 20s;      // gdb reads the symbols of one program in a few seconds
constexpr auto kAllStacksTime = 60s;  // below DTL_STACKS_SECONDS of tests/CMakeLists.txt
constexpr auto kEndTime = 10s;  // until what was killed is gone: the kernel frees namespaces first
constexpr auto kLeaveTime = 10s;  // what ends by itself this soon was not left behind

// Names, or beginnings of names that end with '*'. Whatever else the machine has set, tests do not
// see: an exported PYTHONUNBUFFERED has hidden what every user met. The language is C.UTF-8.
constexpr std::array kKept{"PATH", "HOME", "USER", "LOGNAME",
                           // what builds and downloads of tests need, and what corrects a machine's
                           // broken OpenBLAS kernels
                           "CC", "CXX", "CCACHE_*", "CMAKE_*", "PIP_*", "http_proxy", "https_proxy",
                           "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_*",
                           "REQUESTS_CA_BUNDLE", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
                           // what is said to tests
                           "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
                           "GTEST_*", "DTL_BIN", "DTL_E2E_WORK", "DTL_TEST_PYTHON", "DTL_TEST_MPI",
                           "DTL_DEBIAN_PYTHON", "DTL_CRD_DIR", "DTL_SIM_*", "DTL_KNOWN_HOSTS_*",
                           "DTL_BASH_COMPLETION", "DTL_WRITE_TABLES", "DTL_CLUSTER_TOOL",
                           "DTL_PROGRAMS"};

constexpr const char* kDebianPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool is_kept(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::any_of(kKept.begin(), kKept.end(), [&](std::string_view kept) {
    return kept.back() == '*' ? name.starts_with(kept.substr(0, kept.size() - 1)) : name == kept;
  });
}

struct Process {
  pid_t parent = 0;
  char state = '?';
  double seconds = 0;  // since it started
};

double seconds_since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string read_link(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), std::size_t(size)) : std::string();
}

// /proc/PID/stat: the name in brackets may have anything in it, so fields are counted from its last
// bracket.
bool read_process(pid_t pid, Process& process) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return false;
  std::istringstream fields(text.substr(bracket + 1));
  std::string skipped;
  double started = 0;
  fields >> process.state >> process.parent;
  for (int field = 5; field < 22; ++field) fields >> skipped;
  fields >> started;
  process.seconds = seconds_since_boot() - started / double(::sysconf(_SC_CLK_TCK));
  return true;
}

// All descendants of this process, parents before their children.
std::vector<std::pair<pid_t, Process>> descendants() {
  std::map<pid_t, Process> all;
  if (DIR* folder = ::opendir("/proc")) {
    while (const dirent* entry = ::readdir(folder)) {
      const pid_t pid = std::atoi(entry->d_name);
      Process process;
      if (pid > 0 && read_process(pid, process)) all.emplace(pid, process);
    }
    ::closedir(folder);
  }
  std::vector<std::pair<pid_t, Process>> found;
  std::set<pid_t> parents{::getpid()};
  for (bool more = true; more;) {
    more = false;
    for (const auto& [pid, process] : all) {
      if (!parents.contains(process.parent) || !parents.insert(pid).second) continue;
      found.emplace_back(pid, process);
      more = true;
    }
  }
  return found;
}

// The longest time that one of the living processes was ready to run and had no CPU. 0: not
// counted.
std::chrono::milliseconds longest_wait_for_cpu() {
  double longest_ns = 0, ran_ns = 0, waited_ns = 0;
  for (const auto& [pid, process] : descendants()) {
    std::istringstream counts(read_file("/proc/" + std::to_string(pid) + "/schedstat"));
    if (counts >> ran_ns >> waited_ns) longest_ns = std::max(longest_ns, waited_ns);
  }
  return std::chrono::milliseconds(long(longest_ns / 1e6));
}

std::string command_line(pid_t pid) {
  std::string text = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  std::replace(text.begin(), text.end(), '\0', ' ');
  if (text.empty()) text = "[" + read_file("/proc/" + std::to_string(pid) + "/comm") + "]";
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  constexpr std::size_t kLongest = 200;
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

bool have_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void kill_descendants() {
  for (const auto& [pid, process] : descendants()) ::kill(pid, SIGKILL);
}

sigset_t awaited_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  return signals;
}

// ctest has died, or somebody ends this process: leave nothing of the test.
[[noreturn]] void end_at_once(int number) {
  for (const auto deadline = Clock::now() + kEndTime; have_children() && Clock::now() < deadline;) {
    kill_descendants();
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    ::usleep(10'000);
  }
  ::_exit(128 + number);
}

// Waits until `deadline` for one child (0: for none); true if it has ended. Reaps other children
// meanwhile.
bool wait_for(pid_t child, Clock::time_point deadline, int& status) {
  const sigset_t signals = awaited_signals();
  for (;;) {
    for (int ended_status = 0;;) {
      const pid_t ended = ::waitpid(-1, &ended_status, WNOHANG);
      if (ended <= 0) break;
      if (ended == child) {
        status = ended_status;
        return true;
      }
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left <= 0ms) return false;
    const timespec wait{left.count() / 1000, left.count() % 1000 * 1'000'000};
    const int number = ::sigtimedwait(&signals, nullptr, &wait);
    if (number > 0 && number != SIGCHLD) end_at_once(number);
  }
}

// The stacks of all threads by gdb; false where there is none, or where it may not look.
bool print_stacks_by_gdb(pid_t pid, std::chrono::seconds time) {
  std::fflush(stdout);
  const std::string number = std::to_string(pid);
  const sigset_t signals = awaited_signals();
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null, 0);
    ::dup2(null, 2);
    ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    ::execlp("gdb", "gdb", "-nx", "-batch", "-iex", "set auto-load python-scripts off", "-p",
             number.c_str(), "-ex", "thread apply all backtrace 24", nullptr);
    ::_exit(127);
  }
  int status = 0;
  if (child > 0 && !wait_for(child, Clock::now() + time, status)) {
    ::kill(child, SIGKILL);
    wait_for(child, Clock::now() + kEndTime, status);
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void print_stacks_of_kernel(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string tasks = folder + "/task";
  DIR* threads = ::opendir(tasks.c_str());
  if (threads == nullptr) return;
  while (const dirent* entry = ::readdir(threads)) {
    if (entry->d_name[0] == '.') continue;
    const std::string thread = tasks + "/" + entry->d_name;
    std::printf("  thread %s in %s, system call %s\n%s", entry->d_name,
                read_file(thread + "/wchan").c_str(), read_file(thread + "/syscall").c_str(),
                read_file(thread + "/stack").c_str());
  }
  ::closedir(threads);
}

// A shell or a listening sshd only waits; its child or its caller has the useful stack.
bool has_telling_stack(pid_t pid) {
  const std::string program = read_link("/proc/" + std::to_string(pid) + "/exe");
  const std::string name = program.substr(program.rfind('/') + 1);
  for (const char* silent :
       {"bash", "dash", "sh", "sleep", "sshd", "timeout", "env", "setsid", "gdb", "ctest"}) {
    if (name == silent) return false;
  }
  return !name.empty();  // a zombie has none
}

void print_processes(const std::vector<std::pair<pid_t, Process>>& processes) {
  for (const auto& [pid, process] : processes) {
    std::printf("  %d, child of %d, state %c, for %.1f s, in %s: %s\n", pid, process.parent,
                process.state, process.seconds,
                read_file("/proc/" + std::to_string(pid) + "/wchan").c_str(),
                command_line(pid).c_str());
  }
}

void report_hang(std::chrono::milliseconds after) {
  const auto processes = descendants();
  std::printf("\nwatch_test: hung: still running after %.0f s; its %zu processes:\n",
              double(after.count()) / 1e3, processes.size());
  print_processes(processes);
  const auto deadline = Clock::now() + kAllStacksTime;
  for (const auto& [pid, process] : processes) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(deadline - Clock::now());
    if (left <= 0s || !has_telling_stack(pid)) continue;
    std::printf("\nwatch_test: stacks of %d: %s\n", pid, command_line(pid).c_str());
    if (!print_stacks_by_gdb(pid, std::min(left, kStackTime))) print_stacks_of_kernel(pid);
  }
  std::fflush(stdout);
}

// Kills until nothing is left: the next round finds processes forked meanwhile.
void end_descendants() {
  const auto deadline = Clock::now() + kEndTime;
  while (have_children() && Clock::now() < deadline) {
    kill_descendants();
    int status = 0;
    wait_for(0, Clock::now() + 20ms, status);
  }
  if (have_children()) {
    std::printf("watch_test: cannot be ended:\n");
    print_processes(descendants());
  }
}

bool left_nothing_behind() {
  int status = 0;
  const auto deadline = Clock::now() + kLeaveTime;
  while (have_children() && Clock::now() < deadline) {
    wait_for(0, Clock::now() + 20ms, status);
  }
  if (!have_children()) return true;
  std::printf("watch_test: left behind by the test, and ended now:\n");
  print_processes(descendants());
  end_descendants();
  return false;
}

// CPU time of all processes that the test started and reaped; summary.py shows it.
void print_cpu_time() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const long microseconds = used.ru_utime.tv_usec + used.ru_stime.tv_usec;
  const long seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec;
  std::printf("watch_test: CPU %.2f s\n", double(seconds) + double(microseconds) / 1e6);
}

void arrange_variables() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_kept(*variable)) names.emplace_back(*variable, std::strcspn(*variable, "="));
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
  ::setenv("LANG", "C.UTF-8", 1);
  // Tests run beside each other on a machine with few cores.
  ::setenv("DTL_SHARE_CORES", "1", 1);
  // Tests leave nothing in the user's own history of jobs.
  ::setenv("DTL_HISTORY_DAYS", "0", 1);
  // Prefer Debian's programs: a version manager's shim takes ten times as long to start python3.
  const char* path = std::getenv("PATH");
  const std::string searched =
      kDebianPath + std::string(path == nullptr ? "" : ":") + (path == nullptr ? "" : path);
  ::setenv("PATH", searched.c_str(), 1);
}

pid_t start(char** command) {
  const pid_t parent = ::getpid();
  const sigset_t signals = awaited_signals();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(128 + SIGKILL);
  ::execvp(command[0], command);
  std::fprintf(stderr, "watch_test: cannot run '%s': %s\n", command[0], std::strerror(errno));
  ::_exit(errno == ENOENT ? 127 : 126);
}

// Waits for the test; false, and a report, once it has had its limit without waits for a CPU.
bool ends_in_time(pid_t child, std::chrono::milliseconds limit, int& status) {
  const auto start = Clock::now();
  for (std::chrono::milliseconds allowed = limit;;) {
    if (wait_for(child, start + allowed, status)) return true;
    const auto more = std::min(limit + longest_wait_for_cpu(), limit * kMostLimits);
    if (more < allowed + 100ms) return report_hang(allowed), false;
    allowed = more;
  }
}

int watch(int seconds, char** command) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  arrange_variables();
  const pid_t child = start(command);
  if (child < 0) {
    std::fprintf(stderr, "watch_test: cannot fork: %s\n", std::strerror(errno));
    return 126;
  }
  int status = 0;
  if (!ends_in_time(child, std::chrono::seconds(seconds), status)) {
    end_descendants();
    return kHung;
  }
  const bool clean = left_nothing_behind();
  print_cpu_time();
  if (WIFEXITED(status) && (clean || WEXITSTATUS(status) != 0)) return WEXITSTATUS(status);
  if (WIFEXITED(status)) return kLeftBehind;
  std::printf("watch_test: ended by signal %d (%s)\n", WTERMSIG(status),
              ::strsignal(WTERMSIG(status)));
  return 128 + WTERMSIG(status);
}

int usage() {
  return std::fputs("usage: watch_test --limit SECONDS [--] COMMAND [ARGUMENT...]\n", stderr),
         kUsage;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4 || std::strcmp(arguments[1], "--limit") != 0) return usage();
  char* end = nullptr;
  const long seconds = std::strtol(arguments[2], &end, 10);
  if (*end != '\0' || seconds < 1 || seconds > 86'400) return usage();
  const int first = std::strcmp(arguments[3], "--") == 0 ? 4 : 3;
  if (first >= count) return usage();
  return watch(int(seconds), arguments + first);
}
