#pragma once
// dtagent --clean, --clean-job and --sweep: end processes that jobs left on this node when both
// launcher and agent are gone, and remove their files. In doubt a process is left alone: killing
// somebody's running job is worse than a leftover.

#include <string>

#include "base/error.h"

namespace dtl {

// Prints a line for each action. A process belongs to the job in its DTLAUNCH_JOB variable. Never
// touches a running job's processes, other users' processes, or anything below a dtagent, a dtguard
// or a launcher.
Exit clean_up();

// dtagent --clean-job: the same for one job whose agent here is gone, though its launcher may run.
// Prints a line for each process; nothing if an agent of the job runs.
Exit clean_up_after(const std::string& job);

// dtagent --sweep: the same for all jobs whose launcher or agent was killed here, if none of them
// still runs here. Each agent and dtlaunch runs it once at the start of its job. Prints a line for
// each job that left something. Does nothing while another sweep runs.
Exit sweep_up();

}  // namespace dtl
