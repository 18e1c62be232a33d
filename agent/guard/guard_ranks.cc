// Slots are never reused: a guard serves one job, and a rank starts once. Unsent reports stay in
// the slots as flags, so nothing is queued and nothing is lost.
#include "agent/guard/guard_ranks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/guard/spawn.h"
#include "agent/processes/process_table.h"
#include "base/limits.h"

namespace dtl::ranks {
namespace {

enum class Phase : std::uint8_t { kStarting, kRunning, kFailed, kEnded };

struct Slot {
  Phase phase = Phase::kStarting;
  bool tell_start = false;  // kStarted or kSpawnFailed is due
  bool tell_end = false;    // kExited is due
  std::uint32_t rank = 0;
  // -1 once reaped: from then on another process may have the pid, so never signal it.
  pid_t pid = -1;
  pid_t started = 0;    // its pid, for the report
  int error_pipe = -1;  // open until the program runs or could not start
  SpawnError error;
  int status = 0;
  std::uint32_t left_behind = 0;
  std::uint64_t max_rss_kib = 0;
};

// Static: a guard must not fail when memory is short.
Slot g_slots[kMaxLocalRanks];
unsigned g_count = 0;
unsigned g_first_untold = 0;  // no slot before this one has a report to send

Slot* slot_of(pid_t pid) {
  for (unsigned i = 0; i < g_count; ++i) {
    if (g_slots[i].pid == pid) return &g_slots[i];
  }
  return nullptr;
}

// Whether it is the first process of a rank, not yet reaped.
bool is_leader(pid_t pid) {
  return slot_of(pid) != nullptr;
}

void close_descriptors(const int* fds) {
  for (int i = 0; i < kSpawnFds; ++i) {
    if (fds[i] >= 0) ::close(fds[i]);
  }
}

Slot* add_slot(std::uint32_t rank) {
  if (g_count == kMaxLocalRanks) return nullptr;
  Slot& slot = g_slots[g_count++];
  slot.rank = rank;
  return &slot;
}

// Sets the flag, and makes next_report() start at this slot or before.
void tell(const Slot& slot, bool& what) {
  what = true;
  g_first_untold = std::min(g_first_untold, static_cast<unsigned>(&slot - g_slots));
}

void mark_failed(Slot& slot, SpawnError error) {
  slot.phase = Phase::kFailed;
  slot.error = error;
  tell(slot, slot.tell_start);
}

void read_error_pipe(Slot& slot) {
  if (slot.error_pipe < 0) return;
  SpawnError error;
  const ssize_t n = ::read(slot.error_pipe, &error, sizeof error);
  // No result yet. If the pipe ends without an error, the program runs (spawn.h).
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  ::close(slot.error_pipe);
  slot.error_pipe = -1;
  if (n == static_cast<ssize_t>(sizeof error)) {
    mark_failed(slot, error);
  } else {
    slot.phase = Phase::kRunning;
    tell(slot, slot.tell_start);
  }
}

// Whether a process belongs to an ended rank. It does if it or an ancestor is in the rank's session
// or has its RANK. But a descendant of another rank's first process belongs to that rank.
bool belongs(std::span<const Process> processes, const Process& process, const Slot& slot) {
  const pid_t guard = ::getpid();
  bool ours = false;
  for (const Process* p = &process; p != nullptr && p->pid != guard;
       p = find_process(processes, p->parent)) {
    const Slot* leader = slot_of(p->pid);
    if (leader != nullptr && leader != &slot) return false;
    // RANK finds processes that created another session (setsid, a daemon).
    ours = ours || p->session == slot.pid ||
           rank_in_environment(p->pid) == static_cast<int>(slot.rank);
  }
  return ours;
}

// Called while the rank's first process is a zombie: its pid cannot be reused, so the session of
// that number is still the rank's.
std::uint32_t end_what_it_left(const Slot& slot) {
  constexpr int kPasses = 50;  // about 0.1 s; what forks faster is killed at the end of the job
  std::uint32_t left_behind = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    // Usually nothing is left, and one small file shows it.
    if (!has_unknown_children(is_leader)) break;
    std::uint32_t living = 0;
    const std::span<const Process> processes = scan_processes();
    for (const Process& process : processes) {
      if (!process.descendant || !process.alive || process.pid == slot.pid) continue;
      if (!belongs(processes, process, slot)) continue;
      ++living;
      ::kill(process.pid, SIGKILL);
    }
    // Processes found in later passes were forked meanwhile.
    if (pass == 0) left_behind = living;
    if (living == 0) break;
    sleep_ms(1);
  }
  ::kill(-slot.pid, SIGKILL);  // in case /proc could not be read
  return left_behind;
}

void note_end(Slot& slot, int status, const rusage& usage) {
  // A child that failed before exec has ended too: its error may still be in the pipe.
  read_error_pipe(slot);
  slot.pid = -1;
  slot.status = status;
  slot.max_rss_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
  // The launcher already knows that this rank did not start. Do not report it again.
  if (slot.phase == Phase::kFailed) return;
  slot.phase = Phase::kEnded;
  tell(slot, slot.tell_end);
}

void note_reaped(pid_t pid, int status, const rusage& usage) {
  if (Slot* slot = slot_of(pid)) note_end(*slot, status, usage);
}

GuardReport start_report(const Slot& slot) {
  GuardReport report;
  report.rank = slot.rank;
  if (slot.phase == Phase::kFailed) {
    report.news = GuardNews::kSpawnFailed;
    report.stage = slot.error.stage;
    report.error_number = slot.error.error_number;
  } else {
    report.news = GuardNews::kStarted;
    report.pid = static_cast<std::uint32_t>(slot.started);
  }
  return report;
}

GuardReport end_report(const Slot& slot) {
  GuardReport report;
  report.news = GuardNews::kExited;
  report.rank = slot.rank;
  if (WIFSIGNALED(slot.status)) {
    report.signal = static_cast<std::uint32_t>(WTERMSIG(slot.status));
  } else {
    report.code = static_cast<std::uint32_t>(WEXITSTATUS(slot.status));
  }
  report.max_rss_kib = slot.max_rss_kib;
  report.left_behind = slot.left_behind;
  return report;
}

}  // namespace

void start(std::uint32_t rank, const int* fds) {
  if (Slot* slot = add_slot(rank)) {
    const Spawned spawned = spawn_rank(fds);
    slot->pid = slot->started = spawned.pid;
    slot->error_pipe = spawned.error_pipe;
    // Without a child, no error pipe reports the failure.
    if (spawned.pid < 0) mark_failed(*slot, spawned.error);
  }
  close_descriptors(fds);
}

void refuse(std::uint32_t rank, const int* fds, int error_number) {
  close_descriptors(fds);
  if (Slot* slot = add_slot(rank)) {
    mark_failed(*slot, {SpawnStage::kGuard, static_cast<std::uint32_t>(error_number)});
  }
}

void signal_all(int signal, bool go_on) {
  for (unsigned i = 0; i < g_count; ++i) {
    const pid_t pid = g_slots[i].pid;
    if (pid < 0) continue;
    // A rank that is just starting may not lead a group yet. SIGCONT, because a stopped process
    // only handles the signal once it continues.
    if (::kill(-pid, signal) != 0) ::kill(pid, signal);
    if (go_on) ::kill(-pid, SIGCONT);
  }
}

void reap() {
  for (;;) {
    siginfo_t info{};
    // WNOWAIT keeps it a zombie while its leftovers are killed, so its pid is not reused.
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (Slot* slot = slot_of(info.si_pid)) slot->left_behind = end_what_it_left(*slot);
    int status = 0;
    rusage usage{};
    if (::wait4(info.si_pid, &status, 0, &usage) > 0) note_reaped(info.si_pid, status, usage);
  }
}

KillCount end_all() {
  const auto deadline = boot_time_ms() + std::chrono::milliseconds(kReapDeadline).count();
  return end_descendants(deadline, note_reaped);
}

unsigned add_polls(pollfd* polls) {
  unsigned count = 0;
  for (unsigned i = 0; i < g_count; ++i) {
    if (g_slots[i].error_pipe >= 0) polls[count++] = {g_slots[i].error_pipe, POLLIN, 0};
  }
  return count;
}

void read_error_pipes(const pollfd* polls, unsigned count) {
  // polls has the slots that add_polls() found, in the same order.
  for (unsigned i = 0, at = 0; i < g_count && at < count; ++i) {
    if (g_slots[i].error_pipe != polls[at].fd) continue;
    if (polls[at].revents != 0) read_error_pipe(g_slots[i]);
    ++at;
  }
}

bool next_report(GuardReport& report) {
  for (; g_first_untold < g_count; ++g_first_untold) {
    const Slot& slot = g_slots[g_first_untold];
    if (slot.tell_start || slot.tell_end) {
      report = slot.tell_start ? start_report(slot) : end_report(slot);
      return true;
    }
  }
  return false;
}

void told() {
  Slot& slot = g_slots[g_first_untold];
  (slot.tell_start ? slot.tell_start : slot.tell_end) = false;
}

}  // namespace dtl::ranks
