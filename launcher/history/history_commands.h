#pragma once
// dtlaunch history and dtlaunch show: dtlaunch-history(1). They read this machine's file and ask no
// host.

#include <string>
#include <vector>

namespace dtl {

// name: "history" or "show". Returns the exit status. Throws Error, also for a wrong command line.
int run_history_command(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace dtl
