#pragma once
// JobSettings: from the user's input to the plan's input. Merges the command line, the job file,
// the hostfile and the scheduler's job, and refuses contradictions. The command line overrides the
// job file, and hosts that the user names override those of the scheduler. Contacts no host. The
// Request has what the plan reads; other members only start or show the job.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launcher/job/job.h"
#include "launcher/options/command_line.h"
#include "launcher/options/surroundings.h"
#include "launcher/request/code_folders.h"
#include "launcher/request/job_inputs.h"
#include "launcher/schedulers/step_plan.h"
#include "plan/request/request.h"

namespace dtl {

struct JobSettings {
  Request request;
  JobOptions job;
  Starting starting;
  const Scheduler* scheduler = nullptr;   // that has started this job
  std::vector<Host> allocation;           // the only allowed hosts; empty: any
  std::vector<std::string> carrier;       // runs a command on a host; empty: ssh
  HostAccess access;                      // to the job's hosts
  std::optional<StepPlan> step;           // replaces carrier and ssh
  CodeFolders folders;                    // --sync, --venv
  std::string pod_keys;                   // see StartOptions::trust
  std::optional<JobTime> hosts_patience;  // how long to wait for hosts that are not up yet
  Streams streams;
  std::vector<TypedOption> typed;       // options as they were given, for messages
  std::optional<SizeRange> host_range;  // --nnodes MIN:MAX
  std::string discover;                 // --discover; empty: none
  std::vector<Host> spares;             // replacements for lost hosts, in order
  std::vector<std::string> notices;     // for the user, before anything starts
  std::vector<std::string> notes;       // the same, for -v
};

// Reads the hostfile, or runs --discover. Prints nothing: the caller shows notices and notes.
// Throws Error(kUsage) and Error(kBadInput); kTryAgain if --discover lists too few hosts for now.
JobSettings describe_job(const JobInputs& inputs, const Surroundings& around);

// The first hosts that a job of this size needs; the rest may be spare ones. All hosts if a host's
// slots are known only to its agent, because nobody can count yet. Pure.
std::vector<Host> needed_hosts(const Request& request);

}  // namespace dtl
