#pragma once
// ProcessId: a process that can be told apart from every other one, also from a later one with the
// same number, on this machine or another. For records in files; inside one program a pidfd is
// better.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"

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

// True when the process exists here and is no zombie.
bool is_running(const ProcessId& id);

// A pidfd that surely is this process's; invalid when it has ended.
Fd open_process(const ProcessId& id);

}  // namespace dtl
