#pragma once
// Request: everything that the user asked for, after the command line, the job file and the
// hostfile have been read and before any node has been spoken to. A plain value. The epochs of a
// job change a copy of their own: hosts and restart_count.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/request/host.h"
#include "plan/request/job_parts.h"

namespace dtl {

// What some of the ranks run; `a : b` on the command line makes two.
struct Program {
  std::optional<int> ranks;  // absent: all there are, and 1 where there are several programs
  std::vector<std::string> command;  // program and arguments, as typed
  Variables set;                     // for its ranks alone; wins over EnvironmentOptions::set
  std::string working_directory;     // absolute; must exist on a node or the rank fails to start
  std::optional<Variables> inherited = {};  // absent: EnvironmentOptions::inherited
};

struct Request {
  std::vector<Host> hosts;  // empty: this machine, started without ssh
  HostAccess here = {};     // of this machine, where hosts is empty
  // Each host is one task that a scheduler has started, with an agent and a rank of its own.
  // Several of them may be on one machine.
  bool hosts_are_tasks = false;
  std::vector<Program> programs = {{}};  // at least one; ranks are numbered through them in order
  Placement placement;
  PinOptions pinning;
  EnvironmentOptions environment;
  NetworkOptions network;
  Ending ending;
  RestartLimits restarts;
  Reporting reporting;
  int restart_count = 0;        // how often the job has been started again
  bool elastic = false;         // the number of ranks may be another after a restart
  std::size_t first_ranks = 0;  // how many it was at first; 0: this is the first time

  int max_restarts() const { return restarts.max.value_or(0); }
};

}  // namespace dtl
