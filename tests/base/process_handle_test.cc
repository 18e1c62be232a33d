#include "base/machine/process_handle.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace dtl::process_handle_test {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kFail = SECCOMP_RET_ERRNO | ENOSYS;

// Makes pidfd calls fail in this process, as on an old kernel. False if that is not permitted.
bool refuse_pidfds() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, kFail),
  };
  sock_fprog program{sizeof code / sizeof code[0], code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

pid_t start_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  return child;
}

bool is_readable_within(const Fd& fd, int patience_ms) {
  pollfd waited{fd.get(), POLLIN, 0};
  return ::poll(&waited, 1, patience_ms) > 0;
}

// Returns 0, or the number of the failed check. Runs in a child process, which may be without
// pidfds.
int look_at_a_child() {
  const pid_t child = start_child();
  const ProcessHandle handle(child), same(identify(child));
  const Fd end = watch_child(child);
  if (!handle.valid() || !same.valid() || handle.pid() != child) return 1;
  if (handle.ends_within(0ms) || handle.ends_within(50ms) || is_readable_within(end, 0)) return 2;
  if (!handle.signal(0) || !handle.signal(SIGTERM)) return 3;
  if (!handle.ends_within(20s) || !same.ends_within(0ms)) return 4;
  if (!is_readable_within(end, 20'000)) return 5;
  if (ProcessHandle(identify(child)).valid()) return 6;  // a zombie counts as ended
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) return 7;
  if (handle.signal(SIGTERM) || !handle.ends_within(0ms)) return 8;
  return ProcessHandle(child).valid() ? 9 : 0;
}

int in_a_process_of_its_own(int (*look)()) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(look());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessHandle, SignalsAProcessAndWaitsForItsEnd) {
  EXPECT_EQ(in_a_process_of_its_own(look_at_a_child), 0);
}

TEST(ProcessHandle, DoesTheSameWithoutPidfds) {
  constexpr int kForbidden = 77;
  const int seen =
      in_a_process_of_its_own([] { return refuse_pidfds() ? look_at_a_child() : kForbidden; });
  if (seen == kForbidden) GTEST_SKIP() << "no system call can be refused here";
  EXPECT_EQ(seen, 0);
}

TEST(ForkError, NamesTheLimitOfProcesses) {
  errno = EAGAIN;
  EXPECT_STREQ(
      fork_error("cannot start it").what(),
      "cannot start it: Resource temporarily unavailable. Try: ulimit -u; ps -eLf | wc -l");
}

TEST(ProcessHandle, OfNobodyIsInvalid) {
  EXPECT_FALSE(ProcessHandle().valid());
  EXPECT_FALSE(ProcessHandle(ProcessId{::getpid(), 1, "another boot"}).valid());
}

}  // namespace
}  // namespace dtl::process_handle_test
