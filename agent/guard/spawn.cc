// The steps between fork and exec, with system calls only. The order matters: the container first,
// as entering it undoes PR_SET_PDEATHSIG; descriptors next, so later steps can report errors; the
// session before the program can start anything; the folder before the program, whose path may be
// relative to it.
#include "agent/guard/spawn.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/guard/shell_text.h"
#include "agent/guard/spawn_spec.h"
#include "base/machine/close_from.h"
#include "base/machine/descriptor_limit.h"
#include "plan/environment.h"
#include "plan/pinning/topology.h"

namespace dtl {
namespace {

// In the child, until exec closes it (close-on-exec), which ends the pipe.
constexpr int kErrorPipeFd = kPmiFd + 1;

struct Spec {
  char* base = nullptr;
  SpawnHeader header;
  char** arguments = nullptr;
  char** environment = nullptr;
  char** candidates = nullptr;
};

// Turns the offsets of a table into pointers, in place: the mapping is private, so the file does
// not change. False if an offset lies outside the image.
bool relocate(const Spec& spec, std::uint64_t at, std::uint64_t count, char**& table) {
  const std::uint64_t total = spec.header.total_bytes;
  if (at % 8 != 0 || at > total || count >= (total - at) / 8) return false;
  auto* slots = reinterpret_cast<std::uint64_t*>(spec.base + at);
  table = reinterpret_cast<char**>(slots);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (slots[i] == 0 || slots[i] >= total) return false;
    table[i] = spec.base + slots[i];
  }
  return slots[count] == 0;
}

bool map_spec(int fd, Spec& spec) {
  struct stat status {};
  // A missing descriptor is -1, and fails here.
  if (::fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(SpawnHeader))) {
    return false;
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  // Private, hence writable although the file is sealed.
  void* image = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (image == MAP_FAILED) return false;
  spec.base = static_cast<char*>(image);
  spec.header = *static_cast<const SpawnHeader*>(image);
  const SpawnHeader& header = spec.header;
  return header.magic == kSpawnSpecMagic && header.total_bytes == size && header.directory < size &&
         header.cpu_mask <= size && header.cpu_mask_bytes <= size - header.cpu_mask &&
         header.node_mask <= size && header.node_mask_bytes <= size - header.node_mask &&
         header.arguments > sizeof(SpawnHeader) && header.argument_count > 0 &&
         relocate(spec, header.arguments, header.argument_count, spec.arguments) &&
         relocate(spec, header.environment, header.environment_count, spec.environment) &&
         relocate(spec, header.candidates, header.candidate_count, spec.candidates);
}

// The guard reads the error from the pipe; 127 is only the status that a shell would use.
[[noreturn]] void fail(SpawnStage stage, int error_number) {
  const SpawnError error{stage, static_cast<std::uint32_t>(error_number)};
  [[maybe_unused]] const ssize_t n = ::write(kErrorPipeFd, &error, sizeof error);
  ::_exit(127);
}

// Uses the system call: libc hides two signals that it uses itself, and posix_spawn leaves those
// ignored in the child. Zeros mean SIG_DFL without flags in every layout of the kernel's structure.
void reset_signals() {
  const unsigned long kDefault[8] = {};
  for (int number = 1; number < NSIG; ++number) {  // fails for KILL and STOP
    ::syscall(SYS_rt_sigaction, number, kDefault, nullptr, NSIG / 8);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Keeps the standard descriptors, the secret, PMI's and the error pipe; closes the rest. Failures
// here cannot be reported, as the pipe is not in place yet: the rank exits with 127.
void arrange_files(const int* fds, int error_pipe) {
  const int targets[] = {kStdinFd, kStdoutFd, kStderrFd, kSecretSourceFd};
  for (int number = 0; number < 4; ++number) {
    if (::dup2(fds[targets[number]], number) < 0) ::_exit(127);
  }
  if (fds[kPmiSourceFd] >= 0 && ::dup2(fds[kPmiSourceFd], kPmiFd) < 0) ::_exit(127);
  if (error_pipe != kErrorPipeFd && ::dup3(error_pipe, kErrorPipeFd, O_CLOEXEC) < 0) ::_exit(127);
  if (fds[kPmiSourceFd] < 0) ::close(kPmiFd);
  close_from(kErrorPipeFd + 1);
}

// Enters the container's namespaces: this becomes the rank's view of files. The user namespace
// makes an ordinary user the container's root, so that it may enter the other one; root's
// containers are in the namespace of this process. Returns errno.
int enter_container(const int* fds) {
  if (fds[kMountNamespaceFd] < 0) return 0;
  struct stat theirs {
  }, ours{};
  const bool other_users = ::fstat(fds[kUserNamespaceFd], &theirs) == 0 &&
                           ::stat("/proc/self/ns/user", &ours) == 0 && theirs.st_ino != ours.st_ino;
  if (other_users && ::setns(fds[kUserNamespaceFd], CLONE_NEWUSER) != 0) return errno;
  return ::setns(fds[kMountNamespaceFd], CLONE_NEWNS) == 0 ? 0 : errno;
}

// Whether /bin/sh may run a file that the kernel has refused.
bool is_for_shell(const char* program) {
  static char beginning[kShellTextLook];
  const int file = ::open(program, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::size_t filled = 0;
  ssize_t got = 0;
  do {
    got = ::read(file, beginning + filled, sizeof beginning - filled);
    if (got > 0) filled += static_cast<std::size_t>(got);
  } while (got > 0 && filled < sizeof beginning);
  ::close(file);
  // Reports the kernel's reason, not an error of this check.
  errno = ENOEXEC;
  return got >= 0 && is_shell_text({beginning, filled});
}

// Like execvpe(3), but with paths computed before the fork, and binary data never reaches a shell.
[[noreturn]] void execute(const Spec& spec) {
  int problem = ENOENT;
  bool found = false;
  for (std::uint64_t i = 0; i < spec.header.candidate_count; ++i) {
    char* program = spec.candidates[i];
    ::execve(program, spec.arguments, spec.environment);
    if (errno == ENOEXEC && is_for_shell(program)) {
      static char shell[] = "/bin/sh";
      // The free slot before the table (spawn_spec.h).
      spec.arguments[-1] = shell;
      spec.arguments[0] = program;
      ::execve(shell, spec.arguments - 1, spec.environment);
    }
    // EACCES says more than folders without the program, as in a shell.
    if (errno == EACCES) problem = EACCES;
    // The file exists, so the kernel did not find its interpreter or dynamic loader.
    if (errno == ENOENT && ::access(program, F_OK) == 0) {
      found = true;
      continue;
    }
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) fail(SpawnStage::kExec, errno);
  }
  fail(found && problem == ENOENT ? SpawnStage::kInterpreter : SpawnStage::kExec, problem);
}

// Never an error: many containers refuse it without CAP_SYS_NICE, and old kernels lack it. The
// rank's pages are then allocated on the node that first touches them.
void set_memory_policy(const Spec& spec) {
  const SpawnHeader& header = spec.header;
  const auto set = [&](int mode) {
    return ::syscall(SYS_set_mempolicy, mode, spec.base + header.node_mask,
                     header.node_mask_bytes * 8 + 1) == 0;
  };
  switch (static_cast<MemoryPolicy>(header.memory_policy)) {
    case MemoryPolicy::kDefault:
      break;
    case MemoryPolicy::kPreferred:
      // The old call takes only the first node of a mask; Linux 5.15 takes all.
      if (!set(MPOL_PREFERRED_MANY)) set(MPOL_PREFERRED);
      break;
    case MemoryPolicy::kBind:
      set(MPOL_BIND);
      break;
    case MemoryPolicy::kInterleave:
      set(MPOL_INTERLEAVE);
      break;
  }
}

[[noreturn]] void become_rank(const Spec& spec, const int* fds, int error_pipe, pid_t guard) {
  const int refused = enter_container(fds);
  arrange_files(fds, error_pipe);
  if (refused != 0) fail(SpawnStage::kContainer, refused);
  // The guard knows a rank's processes by the session; signals go to its group.
  if (::setsid() < 0) fail(SpawnStage::kSetsid, errno);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The kernel kills the rank when the guard dies. If the guard died before that prctl(), the
  // parent has changed.
  if (::getppid() != guard) ::_exit(127);
  reset_signals();
  restore_descriptor_limit();
  // The umask of the user at the launcher: the one of a login would differ from host to host.
  ::umask(static_cast<mode_t>(spec.header.umask));
  const char* directory = spec.base + spec.header.directory;
  if (*directory != '\0' && ::chdir(directory) != 0) fail(SpawnStage::kChdir, errno);
  if (spec.header.cpu_mask_bytes > 0 &&
      ::sched_setaffinity(0, spec.header.cpu_mask_bytes,
                          reinterpret_cast<const cpu_set_t*>(spec.base + spec.header.cpu_mask)) !=
          0) {
    fail(SpawnStage::kAffinity, errno);
  }
  set_memory_policy(spec);
  execute(spec);
}

}  // namespace

Spawned spawn_rank(const int* fds) {
  Spawned spawned;
  Spec spec;
  int pipe_ends[2] = {-1, -1};
  if (!map_spec(fds[kSpecFd], spec)) {
    spawned.error = {SpawnStage::kGuard, EINVAL};
  } else if (::pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    spawned.error = {SpawnStage::kFork, static_cast<std::uint32_t>(errno)};
  } else {
    const pid_t guard = ::getpid();
    spawned.pid = ::fork();
    if (spawned.pid == 0) become_rank(spec, fds, pipe_ends[1], guard);
    if (spawned.pid < 0) spawned.error = {SpawnStage::kFork, static_cast<std::uint32_t>(errno)};
    // The pipe ends only when nobody holds its write end.
    ::close(pipe_ends[1]);
    if (spawned.pid < 0) {
      ::close(pipe_ends[0]);
    } else {
      spawned.error_pipe = pipe_ends[0];
    }
  }
  if (spec.base != nullptr) ::munmap(spec.base, spec.header.total_bytes);
  return spawned;
}

}  // namespace dtl
