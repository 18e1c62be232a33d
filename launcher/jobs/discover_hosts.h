#pragma once
// --discover: the hosts that a command prints or a file has, asked for again and again while a job
// runs. Also the one place that runs a scheduler's own program. Blocks; a thread for membership
// calls it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/host.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// Lines as in a hostfile, mostly HOST or HOST:SLOTS, or a script's "echo HOST". `what` is named in
// errors. Throws Error(kBadInput), also for a list without hosts. Pure.
std::vector<Host> parse_discovered(std::string_view text, const std::string& what);

// what: a file that is not executable is read; anything else is run by the shell, within
// kDiscoverPatience. Once the descriptor `give_up` is readable, the command is ended and no hosts
// are returned. -1: never. Throws Error.
std::vector<Host> discover_hosts(const std::string& what, int give_up = -1);

// What a scheduler's own program prints, within 5 s. nullopt when it is not there, fails or hangs.
std::optional<std::string> ask_tool(const ToolQuestion& question);

}  // namespace dtl
