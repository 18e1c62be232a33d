#pragma once
// Which processes of this node belong to a job: those started with DTLAUNCH_JOB in their
// environment. Each rank has it and passes it to its children, even if they leave the rank's
// session or lose their parent.

#include <sys/types.h>

#include <string>

namespace dtl {

// The readable part of a file of /proc/PID; at most 4 MiB.
std::string read_proc(pid_t pid, const char* name);

// The job's id; empty: the process belongs to no job, or this user may not look into it.
std::string job_of(pid_t pid);

// The same; for a command of --on-event, the job that it was told about. Such a command does not
// belong to the job, but ends with the job's launcher.
std::string owner_of(pid_t pid);

// Whether it belongs to this user. Processes that may not dump core belong to root in /proc.
bool is_own(pid_t pid);

}  // namespace dtl
