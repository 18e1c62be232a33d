// Functions that are newer than glibc 2.28 (RHEL 8), for hosts with that glibc: our code, the C++
// runtime of g++ 12 and later and the libraries inside call these in place of glibc's. Hidden, so
// that no other library sees them. Not for static programs, which contain their glibc. Those of
// 2.28 itself are here because the oldest glibc on which tests can run is 2.27, of Ubuntu 18.04.

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>

// tests/rules/used.py knows that others call these.
#define DTL_HIDDEN extern "C" __attribute__((visibility("hidden")))

// glibc 2.28.
DTL_HIDDEN int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

// glibc 2.33; before it, inline functions called __xstat and others. The kernel fills the same
// struct on 64-bit machines, whether its name ends in 64 or not.
#define DTL_STAT(SUFFIX)                                                                \
  DTL_HIDDEN int stat##SUFFIX(const char* path, struct stat##SUFFIX* facts) noexcept {  \
    return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, facts, 0));       \
  }                                                                                     \
  DTL_HIDDEN int lstat##SUFFIX(const char* path, struct stat##SUFFIX* facts) noexcept { \
    constexpr int kFlags = AT_SYMLINK_NOFOLLOW;                                         \
    return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, facts, kFlags));  \
  }                                                                                     \
  DTL_HIDDEN int fstat##SUFFIX(int descriptor, struct stat##SUFFIX* facts) noexcept {   \
    return static_cast<int>(::syscall(SYS_fstat, descriptor, facts));                   \
  }                                                                                     \
  static_assert(sizeof(struct stat##SUFFIX) == sizeof(struct stat))
DTL_STAT();
DTL_STAT(64);

// glibc 2.32 sets it while a process has one thread, so that counters need no atomic instructions.
// Never set, they always have them.
DTL_HIDDEN char __libc_single_threaded;  // NOLINT: its name
char __libc_single_threaded = 0;         // NOLINT

// glibc 2.32. Null for a number without a name, as for real-time signals.
DTL_HIDDEN const char* sigabbrev_np(int signal_number) noexcept {
  static constexpr struct {
    int number;
    const char* name;
  } kSignals[] = {
      {SIGHUP, "HUP"},   {SIGINT, "INT"},       {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
      {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"},     {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
      {SIGKILL, "KILL"}, {SIGUSR1, "USR1"},     {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
      {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"},     {SIGTERM, "TERM"}, {SIGSTKFLT, "STKFLT"},
      {SIGCHLD, "CHLD"}, {SIGCONT, "CONT"},     {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"},
      {SIGTTIN, "TTIN"}, {SIGTTOU, "TTOU"},     {SIGURG, "URG"},   {SIGXCPU, "XCPU"},
      {SIGXFSZ, "XFSZ"}, {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"},
      {SIGPOLL, "POLL"}, {SIGPWR, "PWR"},       {SIGSYS, "SYS"},
  };
  for (const auto& signal : kSignals) {
    if (signal.number == signal_number) return signal.name;
  }
  return nullptr;
}

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;  // in nanoseconds

// The time from now until the deadline, at most a second; 0 or less once it has passed.
std::int64_t left_until(clockid_t clock, const timespec& deadline) {
  timespec now;
  ::clock_gettime(clock, &now);
  const std::int64_t seconds = deadline.tv_sec - now.tv_sec;
  if (seconds > 1) return kSecond;
  return std::min(kSecond, seconds * kSecond + deadline.tv_nsec - now.tv_nsec);
}

// An older glibc waits on a condition variable only by CLOCK_REALTIME, which may be set meanwhile.
// So this wakes up each second without a cause, as any wait may.
int wait_by_real_time(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                      const timespec* deadline) {
  const std::int64_t left = left_until(clock, *deadline);
  if (left <= 0) return ETIMEDOUT;
  timespec until;
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += (until.tv_nsec + left) / kSecond;
  until.tv_nsec = (until.tv_nsec + left) % kSecond;
  const int status = ::pthread_cond_timedwait(condition, mutex, &until);
  return status == ETIMEDOUT && left_until(clock, *deadline) > 0 ? 0 : status;
}

}  // namespace

// glibc 2.30. libstdc++ waits by it until a time of steady_clock, on condition variables without
// attributes. The host's own is used where it exists.
DTL_HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                      clockid_t clock, const timespec* deadline) {
  using Wait = decltype(&wait_by_real_time);
  static std::atomic<Wait> chosen = nullptr;
  Wait wait = chosen.load(std::memory_order_relaxed);
  if (wait == nullptr) {
    wait = reinterpret_cast<Wait>(::dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
    if (wait == nullptr) wait = wait_by_real_time;
    chosen.store(wait, std::memory_order_relaxed);
  }
  return wait(condition, mutex, clock, deadline);
}

// glibc 2.36. libstdc++ needs it for std::random_device, which no code here uses (base/random.h).
DTL_HIDDEN std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) std::abort();
  return number;
}

// glibc 2.38 has a new version of it. Only SQLite names it, for the function mod() of SQL. Exact:
// the result of fmod(3) is always a double. Under another name in C++, where g++ knows fmod()
// itself and does not hide it.
DTL_HIDDEN double fmod_of_any_glibc(double number, double divisor) noexcept __asm__("fmod");
double fmod_of_any_glibc(double number, double divisor) noexcept {
  const double size = __builtin_fabs(divisor);
  const double rest = __builtin_remainder(__builtin_fabs(number), size);
  return __builtin_copysign(rest < 0 ? rest + size : rest, number);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // glibc 2.35: its manual, "Dynamic Linker Introspection"

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

// Fills in the object if one of its segments contains the address; 1 ends the iteration.
int look_at(dl_phdr_info* object, std::size_t, void* data) {
  const auto& search = *static_cast<Search*>(data);
  std::uintptr_t low = UINTPTR_MAX, high = 0;
  const ElfW(Phdr)* frames = nullptr;
  bool holds = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type == PT_GNU_EH_FRAME) frames = &header;
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t start = object->dlpi_addr + header.p_vaddr, end = start + header.p_memsz;
    if (start < low) low = start;
    if (end > high) high = end;
    if (search.address >= start && search.address < end) holds = true;
  }
  // An object without unwind tables counts as not found: exceptions cannot pass it.
  if (!holds || frames == nullptr) return 0;
  *search.found = {};
  search.found->dlfo_map_start = reinterpret_cast<void*>(low);
  search.found->dlfo_map_end = reinterpret_cast<void*>(high);
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + frames->p_vaddr);
  return 1;
}

}  // namespace

// Finds the object that contains an address, and its unwind tables: called for each frame that an
// exception passes. dl_iterate_phdr() works on any glibc; libgcc 11 used it itself.
DTL_HIDDEN int _dl_find_object(void* address, dl_find_object* found) noexcept {  // NOLINT: its name
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return ::dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}

#endif

// Old functions that newer versions of glibc have in a new version too: calls go to that of glibc
// 2.28 and before, which every glibc keeps. The new ones do nothing new: 2.34 moved libpthread and
// libdl into libc, and 2.29 took the handler of errors from exp(3). Each is a jump, so that
// dlopen() and dlsym() still see who calls. tests/rules/symbol_versions.sh names those that are
// missing here.
//
// from_glibc FUNCTION, VERSION [, NAME]: calls go to NAME@GLIBC_VERSION; NAME is FUNCTION without
// it. On arm64, glibc began with 2.17, whatever the version on x86-64.
#if defined(__x86_64__)
#define DTL_VERSION_OF_GLIBC "\\version"
#define DTL_JUMP "endbr64; jmp *older_\\function\\()@GOTPCREL(%rip)"
#elif defined(__aarch64__)
#define DTL_VERSION_OF_GLIBC "2.17"
#define DTL_JUMP                                    \
  "hint 34; adrp x16, :got:older_\\function\\();  " \
  "ldr x16, [x16, :got_lo12:older_\\function\\()]; br x16"  // hint 34: bti c
#endif

#ifdef DTL_JUMP

__asm__(R"(
  .macro from_glibc function, version, name
    .ifb \name
      .symver older_\function, \function\()@GLIBC_)" DTL_VERSION_OF_GLIBC R"(
    .else
      .symver older_\function, \name\()@GLIBC_)" DTL_VERSION_OF_GLIBC R"(
    .endif
    .globl \function
    .hidden \function
    .type \function, %function
  \function:
    .cfi_startproc
    )" DTL_JUMP R"(
    .cfi_endproc
    .size \function, . - \function
  .endm

  .pushsection .text

  # libpthread
  from_glibc __pthread_key_create, 2.2.5
  from_glibc pthread_condattr_setclock, 2.3.3
  from_glibc pthread_create, 2.2.5
  from_glibc pthread_detach, 2.2.5
  from_glibc pthread_getaffinity_np, 2.3.4
  from_glibc pthread_getspecific, 2.2.5
  from_glibc pthread_join, 2.2.5
  from_glibc pthread_key_create, 2.2.5
  from_glibc pthread_key_delete, 2.2.5
  from_glibc pthread_mutex_trylock, 2.2.5
  from_glibc pthread_mutexattr_destroy, 2.2.5
  from_glibc pthread_mutexattr_init, 2.2.5
  from_glibc pthread_mutexattr_settype, 2.2.5
  from_glibc pthread_once, 2.2.5
  from_glibc pthread_rwlock_destroy, 2.2.5
  from_glibc pthread_rwlock_init, 2.2.5
  from_glibc pthread_rwlock_rdlock, 2.2.5
  from_glibc pthread_rwlock_unlock, 2.2.5
  from_glibc pthread_rwlock_wrlock, 2.2.5
  from_glibc pthread_setaffinity_np, 2.3.4
  from_glibc pthread_setname_np, 2.12
  from_glibc pthread_setspecific, 2.2.5
  from_glibc pthread_sigmask, 2.2.5

  # libdl
  from_glibc dladdr, 2.2.5
  from_glibc dlclose, 2.2.5
  from_glibc dlerror, 2.2.5
  from_glibc dlopen, 2.2.5
  from_glibc dlsym, 2.2.5

  # libm
  from_glibc exp, 2.2.5
  from_glibc log, 2.2.5
  from_glibc log2, 2.2.5
  from_glibc pow, 2.2.5

  # Another name for the same, where files are always large
  from_glibc fcntl64, 2.2.5, fcntl

  # What the headers of 2.38 call instead, with the same answers but for 0b101
  from_glibc __isoc23_sscanf, 2.7, __isoc99_sscanf
  from_glibc __isoc23_strtol, 2.2.5, strtol
  from_glibc __isoc23_strtoll, 2.2.5, strtoll
  from_glibc __isoc23_strtoul, 2.2.5, strtoul
  from_glibc __isoc23_strtoull, 2.2.5, strtoull

  .popsection
)");

#endif
