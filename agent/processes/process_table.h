#pragma once
// The machine's processes as /proc shows them, in a static table: no allocation, so that the guard
// can look while memory is short. Each scan overwrites the last. One thread.

#include <sys/types.h>

#include <span>

namespace dtl {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  bool alive = false;       // not a zombie
  bool descendant = false;  // of the process that scans
};

// All processes in ascending order of pid; at most kMaxProcesses of them. Empty when /proc cannot
// be read. The span is valid up to the next scan.
constexpr unsigned kMaxProcesses = 1 << 17;
std::span<Process> scan_processes();

// The entry of a pid in the latest scan, or nullptr.
const Process* find_process(std::span<const Process> processes, pid_t pid);

// True when the calling process has a child, zombies included, that `known` does not name. Reads
// one file, while a scan reads one for each process. True also when the kernel cannot say
// (CONFIG_PROC_CHILDREN).
bool has_unknown_children(bool (*known)(pid_t));

// False when it is stopped by a signal or a debugger, or gone.
bool can_run(pid_t pid);

// The value of RANK in the environment that a process was started with; -1 when there is none, or
// the process may not be looked into.
int rank_in_environment(pid_t pid);

}  // namespace dtl
