#pragma once
// JobSettings: from what the user typed to what the plan needs. The command line, the job file, the
// hostfile and the scheduler's job are merged here, and what contradicts itself is refused. The
// command line wins over the job file, and hosts that the user names over those of the scheduler.
// No host is spoken to. What the plan reads goes into the Request; what only starts or shows the
// job stays beside it.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launcher/job/job.h"
#include "launcher/options/command_line.h"
#include "launcher/options/surroundings.h"
#include "launcher/request/job_inputs.h"
#include "launcher/schedulers/step_plan.h"
#include "plan/request/request.h"

namespace dtl {

struct JobSettings {
  Request request;
  JobOptions job;
  Starting starting;
  const Scheduler* scheduler = nullptr;   // that has started this job
  std::vector<Host> allocation;           // the only hosts that it may have; empty: any
  std::vector<std::string> carrier;       // the command that brings agents to hosts; empty: ssh
  HostAccess access;                      // of its hosts
  std::optional<StepPlan> step;           // or this, in the place of both
  std::string pod_keys;                   // as StartOptions::trust has it
  std::optional<JobTime> hosts_patience;  // how long to wait for hosts that are not there yet
  Streams streams;
  std::vector<TypedOption> typed;       // options as they were given, for messages
  std::optional<SizeRange> host_range;  // --nnodes MIN:MAX
  std::string discover;                 // --discover; empty: none
  std::vector<Host> spares;             // hosts that may take the place of lost ones, in order
  std::vector<std::string> notices;     // for the user, before anything starts
  std::vector<std::string> notes;       // the same, for -v
};

// Reads the hostfile, or has --discover asked. Prints nothing: the caller shows notices and notes.
// Throws Error(kUsage) and Error(kBadInput); kTryAgain where --discover lists too few hosts for
// now.
JobSettings describe_job(const JobInputs& inputs, const Surroundings& around);

// The hosts, from the first on, that a job of this size needs; the rest may be spare ones. All of
// them where a host's slots are known only to itself, as then nobody can count yet. Pure.
std::vector<Host> needed_hosts(const Request& request);

}  // namespace dtl
