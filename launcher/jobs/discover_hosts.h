#pragma once
// --discover: the hosts that a command prints or a file lists, requested repeatedly while a job
// runs. Also the only place that runs a scheduler's program. Blocks; the membership's thread calls
// it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/host.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// Lines as in a hostfile, usually HOST or HOST:SLOTS, or a script's "echo HOST". Errors name
// `what`. Throws Error(kBadInput), also for a list without hosts. Pure.
std::vector<Host> parse_discovered(std::string_view text, const std::string& what);

// what: a file that is not executable is read; anything else is run by the shell, within
// kDiscoverPatience. When the descriptor `give_up` becomes readable, ends the command and returns
// no hosts. -1: never. Throws Error.
std::vector<Host> discover_hosts(const std::string& what, int give_up = -1);

// The output of a scheduler's program, within 5 s. nullopt if it is missing, fails or hangs.
std::optional<std::string> ask_tool(const ToolQuestion& question);

}  // namespace dtl
