#pragma once
// dtagent --clean, --clean-job and --sweep: end what jobs left on this node whose launcher and
// agent are gone, and remove their files. In doubt a process is left alone: killing somebody's
// running job is worse than a leftover.

#include <string>

#include "base/error.h"

namespace dtl {

// Says what it does, one line each. A process belongs to a job by DTLAUNCH_JOB in its environment.
// Never touched: a running job's processes, those of other users, and whatever lives below a
// dtagent, a dtguard or a launcher.
Exit clean_up();

// dtagent --clean-job: the same for one job whose agent here is gone, while its launcher may run.
// Says a line for each process; nothing when an agent of it runs.
Exit clean_up_after(const std::string& job);

// dtagent --sweep: the same for all jobs of which a launcher or an agent was killed here and none
// runs here any more. Each agent and dtlaunch does it once, while its own job begins. Says one line
// for each job that has left something. Does nothing while another sweep is under way.
Exit sweep_up();

}  // namespace dtl
