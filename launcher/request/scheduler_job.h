#pragma once
// The effect of the surrounding scheduler's job: its hosts, if the user names none, and what starts
// agents on them. plan/schedulers judges the evidence; this file gathers it from this machine and
// combines it with the user's settings.

#include <string>
#include <vector>

#include "launcher/options/command_line.h"
#include "launcher/request/job_request.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// Gathers the evidence: reads the scheduler's files and runs its program. wanted: --scheduler;
// nullptr: none; absent: any that is found. Throws Error.
SchedulerEvidence read_scheduler(std::optional<const Scheduler*> wanted,
                                 const Surroundings& around);

// The evidence with the command line's and the job file's settings applied. For --show-scheduler,
// which starts nothing.
SchedulerEvidence evidence_beside(const JobInputs& inputs, const Variables& environment);

// Checks a job whose ranks the scheduler has started. Throws Error(kUsage) for an option about the
// number or place of ranks: the scheduler has decided that.
void check_tasks(const CommandLine& line, const SchedulerEvidence& evidence);

// `hosts`: what the user names, in any way; empty: nothing. Returns the job's hosts and sets how
// its agents start. Throws Error(kUsage) for hosts outside the allocation, and for parts of the
// scheduler's job that dtlaunch cannot use.
std::vector<Host> hosts_of_job(const JobInputs& inputs, std::vector<Host> hosts,
                               JobSettings& settings, const Variables& environment);

// The hosts of the scheduler's job and how to start agents on them, for a command that runs no job;
// no hosts if there is no such job.
JobSettings settings_of_scheduler(const Surroundings& around);

// What an MPIJob's operator says about a pod that did not arrive; empty: nothing.
std::string remark_on_pod(const std::string& host);

// The user's hosts with the allocation's data about them. Throws Error(kUsage) that names those
// outside the allocation.
std::vector<Host> within_allocation(const JobSettings& settings, std::vector<Host> hosts);

}  // namespace dtl
