#pragma once
// Waiting in line for cores (--wait, dtlaunch submit), as far as other options decide it, and the
// texts about it. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "launcher/options/command_line.h"
#include "plan/request/request.h"

namespace dtl {

// An option of the line as the user typed it: "--detach", or "submit", which stands for it.
std::string typed_name(const CommandLine& line, std::string_view canonical);

// Clears Placement::waits where waiting has no effect, with a line to `notices` for each option
// that the user gave for it.
void settle_waiting(const CommandLine& line, Placement& placement,
                    std::vector<std::string>& notices);

// The command that shows the line of the job's hosts: "dtlaunch queue -f hosts".
std::string queue_command(const CommandLine& line, const Request& request);

}  // namespace dtl
