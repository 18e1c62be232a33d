#pragma once
// What the engine that has started us means for a job: its hosts, where the user names none, and
// what brings agents to them.

#include <string>
#include <vector>

#include "launcher/options/command_line.h"
#include "launcher/request/job_request.h"
#include "plan/engines/engine.h"

namespace dtl {

// By which the engine says beforehand that the job's time is nearly over, as `sbatch
// --signal=B:USR1@60` has it; 0: by none.
int notice_signal_of(Engine engine);

// Reads the files that the engine names, and asks its tool. Throws Error.
EngineEvidence read_engine(std::optional<Engine> wanted, const Surroundings& around);

// The same, with what the command line or the job file says instead.
EngineEvidence evidence_beside(const CommandLine& line, bool file_has_hosts,
                               const Surroundings& around);

// Of a job of which the engine has started every rank. Throws Error(kUsage) for what says otherwise
// where ranks are, or how many.
void check_tasks(const CommandLine& line, const EngineEvidence& evidence);

// `hosts` is what the user names, from whatever place; empty: nothing. Gives the hosts of the job
// and fills in how its agents start. Throws Error(kUsage): hosts that are not of the allocation, a
// part of the engine's job that dtlaunch cannot take.
std::vector<Host> hosts_of_job(const EngineEvidence& evidence, const CommandLine& line,
                               std::vector<Host> hosts, JobSettings& settings,
                               const Variables& environment);

// The hosts of the engine's job, and what brings agents to them, for a command that runs no job;
// without hosts where there is no such job.
JobSettings settings_of_engine(const Surroundings& around);

// Of a pod of an MPIJob that has not come: what its operator says of it, and what to try.
std::string remark_on_pod(const std::string& host);

// Hosts that the user names, with what the allocation says of them. Throws Error(kUsage) naming
// those that it does not have.
std::vector<Host> within_allocation(const JobSettings& settings, std::vector<Host> hosts);

}  // namespace dtl
