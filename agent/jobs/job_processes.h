#pragma once
// Which processes of this node belong to a job: those that have DTLAUNCH_JOB in their environment.

#include <sys/types.h>

#include <string>

namespace dtl {

// A file of /proc/PID as far as it can be read; at most 4 MiB.
std::string read_proc(pid_t pid, const char* name);

// The job's id; empty: of none, or somebody else's.
std::string job_of(pid_t pid);

// The same, or the job about which a command of --on-event was told, which is none of its
// processes.
std::string owner_of(pid_t pid);

// This user's.
bool is_own(pid_t pid);

}  // namespace dtl
