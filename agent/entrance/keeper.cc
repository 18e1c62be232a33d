// The keeper is the process that ssh or dtlaunch started; the agent is its child. So the keeper
// gets the signals meant for the agent, and its exit status is the agent's.
#include "agent/entrance/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "agent/processes/kill_tree.h"
#include "base/limits.h"
#include "base/machine/process_handle.h"
#include "base/signal_disposition.h"
#include "wire/messages.h"

namespace dtl {
namespace {

constexpr std::int64_t kStoppedAgentMs = std::chrono::milliseconds(kGuardLease).count();
constexpr char kName[] = "job-keeper";  // no other program here has a part of it in its name

// Sets the name that ps and pkill show; only /proc/PID/exe still says dtagent. The kernel shows the
// arguments (`pkill -f`) from their place in memory, so they are overwritten in place.
void rename_process(int argument_count, char** arguments) {
  ::prctl(PR_SET_NAME, kName);
  char* const begin = arguments[0];
  const char* const last = arguments[argument_count - 1];
  const auto room = static_cast<std::size_t>(last + std::strlen(last) - begin);
  std::fill_n(begin, room, '\0');
  std::copy_n(kName, std::min(room, sizeof kName - 1), begin);
}

// The other side must see the end of the streams when the agent ends, not when the keeper does.
// Standard error stays open for end_like().
void let_go_of_streams() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
    if (null >= 0) ::dup2(null, fd);
  }
  ::close(kInputDescriptor);
}

// Ends the remaining processes, then exits: our exit tells the other side that nothing runs here.
[[noreturn]] void end_like(int status) {
  const auto deadline = boot_time_ms() + std::chrono::milliseconds(kReapDeadline).count();
  const KillCount count = end_descendants(deadline, nullptr);
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  ::dprintf(STDERR_FILENO,
            "dtagent was ended by signal %d; %u processes that it left were killed%s\n",
            WTERMSIG(status), count.killed, count.unkillable > 0 ? ", but not all can be" : "");
  ::_exit(static_cast<int>(Exit::kOs));
}

// Returns the signal, or 0 if none arrived before give_up_ms, in milliseconds of CLOCK_BOOTTIME; 0
// there waits forever. The signals are blocked.
int wait_for_signal(const sigset_t& signals, std::int64_t give_up_ms) {
  if (give_up_ms == 0) return ::sigwaitinfo(&signals, nullptr);
  const std::int64_t left = std::max<std::int64_t>(give_up_ms - boot_time_ms(), 0);
  const timespec patience{left / 1000, left % 1000 * 1'000'000};
  return std::max(::sigtimedwait(&signals, nullptr, &patience), 0);
}

// Exits with the agent's status. Other children are orphans, inherited when the agent ended. Kills
// an agent that stays stopped for as long as its guard waits for it.
[[noreturn]] void keep(pid_t agent, const sigset_t& signals) {
  std::int64_t give_up_ms = 0;  // set while the agent is stopped
  for (;;) {
    const int signal = wait_for_signal(signals, give_up_ms);
    // Signals are meant for the agent: senders only know our pid.
    if (signal > 0 && signal != SIGCHLD) ::kill(agent, signal);
    int status = 0;
    pid_t changed = 0;
    // One SIGCHLD may stand for several children.
    while ((changed = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
      if (changed != agent) continue;
      if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) end_like(status);
      give_up_ms = WIFSTOPPED(status) ? boot_time_ms() + kStoppedAgentMs : 0;
    }
    if (give_up_ms == 0 || boot_time_ms() < give_up_ms) continue;
    ::kill(agent, SIGKILL);
    give_up_ms = 0;
  }
}

}  // namespace

void go_on_below_keeper(int argument_count, char** arguments) {
  sigset_t signals, before;
  ::sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
    // sigwaitinfo() would take an ignored signal too: with --unsignalled nobody may get it.
    if (!is_ignored(number)) ::sigaddset(&signals, number);
  }
  ::sigprocmask(SIG_BLOCK, &signals, &before);  // from here on no signal is missed
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t agent = ::fork();
  if (agent < 0) throw fork_error("cannot start the agent's process");
  if (agent == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited
    return;
  }
  let_go_of_streams();
  rename_process(argument_count, arguments);
  keep(agent, signals);
}

}  // namespace dtl
