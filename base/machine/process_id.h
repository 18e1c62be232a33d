#pragma once
// ProcessId: identifies a process uniquely, even against a later one with the same pid or one on
// another machine. For records in files; inside one program prefer a ProcessHandle.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtl {

struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // field 22 of /proc/PID/stat, in ticks since boot
  std::string space;             // boot id and PID namespace in which the pid is valid
};

// For a process of this machine; start_time 0 if there is none.
ProcessId identify(pid_t pid);

// "812:49210:2f1e...-4026531836"; parse_process_id() reverses it.
std::string to_text(const ProcessId& id);
std::optional<ProcessId> parse_process_id(const std::string& text);

// True when the process exists here and is not a zombie.
bool is_running(const ProcessId& id);

// True if it was a process of this boot and PID namespace and is gone. False for processes of other
// machines, whose state is unknown here.
bool has_ended(const ProcessId& id);

// The kernel's state of a process on this machine. A stopped one (state T, by a signal or a
// debugger) waits for SIGCONT; every other one can run.
enum class ProcessState { kGone, kStopped, kRuns };
ProcessState process_state(pid_t pid);

// Its children; also empty if the kernel does not report them (CONFIG_PROC_CHILDREN).
std::vector<pid_t> children_of(pid_t pid);

std::string process_name(pid_t pid);  // the kernel may cut it; empty: no such process

}  // namespace dtl
