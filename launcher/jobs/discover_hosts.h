#pragma once
// --discover: the hosts that a command prints or a file has, asked anew again and again.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/host.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// Lines as a hostfile has them, HOST or HOST:SLOTS above all, or a script's "echo HOST". `what` is
// named in errors. Throws Error(kBadInput), also for a list without hosts. Pure.
std::vector<Host> parse_discovered(std::string_view text, const std::string& what);

// what: a file that is not executable is read; all else is for the shell, within kDiscoverPatience.
// Ends it and returns no host once give_up, a descriptor, is readable. Throws Error.
std::vector<Host> discover_hosts(const std::string& what, int give_up = -1);

// What a scheduler's own program prints, within 5 s; nullopt where it is not there or has no
// answer.
std::optional<std::string> ask_tool(const ToolQuestion& question);

}  // namespace dtl
