#pragma once
// The command lines of dtlaunch ps, logs, attach, kill and clean: dtlaunch-jobs(1).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/options/options.h"
#include "plan/host.h"

namespace dtl {

struct JobsCommand {
  bool help = false;
  std::vector<Host> hosts;  // to ask; this machine when none are named
  std::string job;          // a beginning of its id; not for ps and clean
  bool all = false;         // ps -a
  bool follow = false;      // logs -f
  bool label = false;       // logs -l, attach -l
  std::optional<int> rank;  // logs --rank
  int signal = 15;          // kill --signal
};

// Reads the hostfile. Throws Error(kUsage) and Error(kBadInput).
JobsCommand parse_jobs_command(const std::string& name, const std::vector<std::string>& arguments);

std::vector<Option> jobs_options(const std::string& name);

// Whether the subcommand takes the id of a job.
bool wants_job(const std::string& name);

// dtlaunch ps --help
std::string jobs_help(const std::string& name);

// The hosts of -f FILE or -hosts LIST; at most one of them is given.
std::vector<Host> read_host_options(const std::string& hostfile, const std::string& hosts);

// "TERM", "SIGTERM", "15"; nullopt when there is no such signal.
std::optional<int> signal_by_name(std::string_view text);

}  // namespace dtl
