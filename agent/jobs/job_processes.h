#pragma once
// Which processes of this node belong to a job: those that were started with DTLAUNCH_JOB in their
// environment. Each rank has it, and passes it on to what it starts, also when that leaves the
// rank's session or loses its parent.

#include <sys/types.h>

#include <string>

namespace dtl {

// A file of /proc/PID as far as it can be read; at most 4 MiB.
std::string read_proc(pid_t pid, const char* name);

// The job's id; empty: the process belongs to no job, or this user may not look into it.
std::string job_of(pid_t pid);

// The same; of a command of --on-event, the job that it is told about. Such a command is not a
// process of the job, but ends with the job's launcher.
std::string owner_of(pid_t pid);

// Whether it belongs to this user. A process whose memory may not be dumped belongs to root.
bool is_own(pid_t pid);

}  // namespace dtl
