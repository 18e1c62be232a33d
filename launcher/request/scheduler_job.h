#pragma once
// What the scheduler that has started us means for a job: its hosts, where the user names none, and
// what brings agents to them. plan/schedulers judges the evidence; here it is gathered from this
// machine and laid beside what the user says.

#include <string>
#include <vector>

#include "launcher/options/command_line.h"
#include "launcher/request/job_request.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// Gathers the evidence: reads the files that the scheduler names, and asks its program. wanted: as
// --scheduler says; nullptr: none; absent: whichever shows itself. Throws Error.
SchedulerEvidence read_scheduler(std::optional<const Scheduler*> wanted,
                                 const Surroundings& around);

// The evidence, with what the command line or the job file says instead. For --show-scheduler,
// which starts nothing.
SchedulerEvidence evidence_beside(const JobInputs& inputs, const Variables& environment);

// Checks a job of which the scheduler has started every rank. Throws Error(kUsage) for an option
// that says otherwise where ranks are, or how many: the scheduler has decided that.
void check_tasks(const CommandLine& line, const SchedulerEvidence& evidence);

// `hosts` is what the user names, from whatever place; empty: nothing. Gives the hosts of the job
// and fills in how its agents start. Throws Error(kUsage): hosts that are not of the allocation, a
// part of the scheduler's job that dtlaunch cannot take.
std::vector<Host> hosts_of_job(const JobInputs& inputs, std::vector<Host> hosts,
                               JobSettings& settings, const Variables& environment);

// The hosts of the scheduler's job, and what brings agents to them, for a command that runs no job;
// without hosts if there is no such job.
JobSettings settings_of_scheduler(const Surroundings& around);

// A remark on a pod of an MPIJob that has not come: what its operator says of it. Empty: nothing.
std::string remark_on_pod(const std::string& host);

// Hosts that the user names, with what the allocation says of them. Throws Error(kUsage) naming
// those that it does not have.
std::vector<Host> within_allocation(const JobSettings& settings, std::vector<Host> hosts);

}  // namespace dtl
