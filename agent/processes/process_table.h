#pragma once
// The machine's processes as in /proc, in a static table: no allocation, so that the guard can scan
// when memory is short. Each scan overwrites the last. One thread.

#include <sys/types.h>

#include <span>

namespace dtl {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  bool alive = false;       // not a zombie
  bool descendant = false;  // of the scanning process
  bool tends_container =
      false;  // podman, its conmon or a runtime: they remove a container at its end
};

// All processes in ascending order of pid, at most kMaxProcesses. Empty if /proc cannot be read.
// The span is valid until the next scan.
constexpr unsigned kMaxProcesses = 1 << 17;
std::span<Process> scan_processes();

// The entry of a pid in the latest scan, or nullptr.
const Process* find_process(std::span<const Process> processes, pid_t pid);

// True if the calling process has a child, zombies included, for which `known` is false. Reads one
// file, while a scan reads one per process. Also true if the kernel cannot say
// (CONFIG_PROC_CHILDREN).
bool has_unknown_children(bool (*known)(pid_t));

// False if it is gone, or stopped by a signal or a debugger.
bool can_run(pid_t pid);

// The value of RANK in the environment that a process was started with; -1 if there is none, or the
// environment is not readable.
int rank_in_environment(pid_t pid);

}  // namespace dtl
