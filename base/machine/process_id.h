#pragma once
// ProcessId: a process that can be told apart from every other one, also from a later one with the
// same number, on this machine or another. For records in files; inside one program a ProcessHandle
// is better.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtl {

struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // field 22 of /proc/PID/stat, in ticks since boot
  std::string space;             // boot id and PID namespace in which the number counts
};

// Of a process of this machine; start_time 0 when there is none.
ProcessId identify(pid_t pid);

// "812:49210:2f1e...-4026531836", and back.
std::string to_text(const ProcessId& id);
std::optional<ProcessId> parse_process_id(const std::string& text);

// True when the process exists here and is not a zombie.
bool is_running(const ProcessId& id);

// True when it was a process of this boot and PID namespace, and is gone now. False for a process
// of another machine, about which nothing can be known here.
bool has_ended(const ProcessId& id);

// What the kernel says of a process of this machine. A stopped one (state T, by a signal or a
// debugger) goes on only when somebody tells it to; every other one can run.
enum class ProcessState { kGone, kStopped, kRuns };
ProcessState process_state(pid_t pid);

// Its children; empty also where the kernel does not say (CONFIG_PROC_CHILDREN).
std::vector<pid_t> children_of(pid_t pid);

std::string process_name(pid_t pid);  // as the kernel cuts it; empty: there is none

}  // namespace dtl
