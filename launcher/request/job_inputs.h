#pragma once
// JobInputs: what a job is described from. The job file and the scheduler are read here, once: a
// file that changes while a job starts cannot give the job two truths. Everything that describes
// the job takes it from here.

#include <optional>

#include "launcher/options/command_line.h"
#include "launcher/options/surroundings.h"
#include "launcher/request/job_file.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// A scheduler has started dtlaunch on each node, and all of these have connected (launcher/gather).
// Their names are then in JobInputs::line.hosts, as if the user had typed them.
struct NodesThatCame {
  const Scheduler* started_by = nullptr;
  bool are_tasks = false;  // each of them is one rank, and several may be on one machine
};

struct JobInputs {
  CommandLine line;  // with what the job file says where the command line does not
  std::optional<JobFile> file;
  SchedulerEvidence evidence;
  // Absent: this dtlaunch alone starts the agents.
  std::optional<NodesThatCame> nodes;

  bool names_hosts() const;  // the command line or the job file does
};

// Reads ./dtlaunch.toml or the file of -c, then asks the scheduler; the file may say which one.
// Throws Error(kUsage) and Error(kBadInput).
JobInputs read_job_inputs(const CommandLine& line, const Surroundings& around);

}  // namespace dtl
