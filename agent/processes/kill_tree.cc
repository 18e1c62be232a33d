// Kills and scans again until wait(2) reports no more children. A scan of /proc may miss a process
// that is just being forked, so a single scan proves nothing. When its parent dies, such a process
// becomes our child, and the next scan finds it.
#include "agent/processes/kill_tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "agent/processes/process_table.h"

namespace dtl {
namespace {

constexpr pid_t kMaxPid = 1 << 22;  // PID_MAX_LIMIT of 64-bit Linux
// One bit per pid already counted as killed: a slow process gets SIGKILL in several rounds, but
// counts once.
std::uint8_t g_counted[kMaxPid / 8];

bool count_once(pid_t pid) {
  if (pid >= kMaxPid) return false;
  std::uint8_t& byte = g_counted[pid / 8];
  const auto bit = static_cast<std::uint8_t>(1 << (pid % 8));
  const bool fresh = (byte & bit) == 0;
  byte = static_cast<std::uint8_t>(byte | bit);
  return fresh;
}

// What tends a container removes it once its processes are gone: podman needs a third of a second
// for that on two cores. Killed earlier, it would leave the container's files and record behind.
constexpr std::int64_t kContainerMs = 5000;

std::uint32_t kill_living_descendants(KillCount& count, bool spare_containers) {
  std::uint32_t living = 0;
  for (const Process& process : scan_processes()) {
    if (!process.descendant || !process.alive) continue;
    ++living;
    if (spare_containers && process.tends_container) continue;
    if (::kill(process.pid, SIGKILL) == 0 && count_once(process.pid)) ++count.killed;
  }
  return living;
}

// True if no child is left.
bool reap_all(Reaped reaped) {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid > 0 && reaped != nullptr) reaped(pid, status, usage);
    if (pid == 0) return false;
    if (pid < 0 && errno != EINTR) return errno == ECHILD;
  }
}

}  // namespace

KillCount end_descendants(std::int64_t deadline_ms, Reaped reaped) {
  KillCount count;
  // Usually nothing is left, and /proc need not be read.
  if (reap_all(reaped)) return count;
  std::fill(std::begin(g_counted), std::end(g_counted), std::uint8_t{0});
  const std::int64_t spared_ms = boot_time_ms() + kContainerMs;
  // Most processes end within a millisecond of SIGKILL. Later scans are rare, since each reads all
  // of /proc.
  for (int pause_ms = 1; !reap_all(reaped); pause_ms = std::min(2 * pause_ms, 20)) {
    count.unkillable = kill_living_descendants(count, boot_time_ms() < spared_ms);
    if (boot_time_ms() > deadline_ms) return count;
    sleep_ms(pause_ms);
  }
  count.unkillable = 0;
  return count;
}

std::int64_t boot_time_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void sleep_ms(int milliseconds) {
  const timespec duration{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  ::nanosleep(&duration, nullptr);
}

}  // namespace dtl
