#pragma once
// Request: everything that the user asked for, from the command line, the job file and the
// hostfile, before contacting any node. A plain value. Epochs change hosts and restart_count in
// their own copy.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/request/host.h"
#include "plan/request/job_parts.h"

namespace dtl {

// The program of some of the ranks; `a : b` on the command line makes two.
struct Program {
  std::optional<int> ranks;                 // absent: all ranks, or 1 if there are several programs
  std::vector<std::string> command;         // program and arguments, as typed
  Variables set;                            // only for its ranks; wins over EnvironmentOptions::set
  std::string working_directory;            // absolute; if a node lacks it, the rank fails to start
  std::optional<Variables> inherited = {};  // absent: EnvironmentOptions::inherited
};

struct Request {
  std::vector<Host> hosts;  // empty: this machine, started without ssh
  HostAccess here = {};     // of this machine, if hosts is empty
  // Each host is a task that a scheduler started, with its own agent and one rank. Several tasks
  // may be on one machine.
  bool hosts_are_tasks = false;
  std::vector<Program> programs = {{}};  // at least one; ranks are numbered through them in order
  Placement placement;
  PinOptions pinning;
  EnvironmentOptions environment;
  NetworkOptions network;
  Ending ending;
  RestartLimits restarts;
  Reporting reporting;
  int restart_count = 0;                 // how often the job was restarted
  bool elastic = false;                  // a restart may change the number of ranks
  std::vector<std::string> around = {};  // ids of jobs inside of which this one runs
  std::size_t first_ranks = 0;           // their number in the first epoch; 0: this is the first

  int max_restarts() const { return restarts.max.value_or(0); }
};

}  // namespace dtl
