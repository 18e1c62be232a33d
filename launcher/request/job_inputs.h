#pragma once
// JobInputs: the sources of a job's description. Reads the job file and the scheduler once, so a
// file that changes during a start cannot describe the job in two ways. All code that describes the
// job uses this value.

#include <optional>

#include "launcher/options/command_line.h"
#include "launcher/options/surroundings.h"
#include "launcher/request/job_file.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// The nodes of a job if a scheduler has started dtlaunch on each node and all have connected
// (launcher/gather). JobInputs::line.hosts then has their names, as if the user had typed them.
struct NodesThatCame {
  const Scheduler* started_by = nullptr;
  bool are_tasks = false;  // each is one rank; a machine may have several
};

struct JobInputs {
  CommandLine line;  // with the job file's values for what the command line does not set
  std::optional<JobFile> file;
  SchedulerEvidence evidence;
  // Absent: this dtlaunch alone starts the agents.
  std::optional<NodesThatCame> nodes;

  bool names_hosts() const;  // true if the command line or the job file names hosts
};

// Reads ./dtlaunch.toml or the file of -c, then the scheduler, which the file may select. Throws
// Error(kUsage) and Error(kBadInput).
JobInputs read_job_inputs(const CommandLine& line, const Surroundings& around);

}  // namespace dtl
