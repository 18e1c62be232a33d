#pragma once
// dtagent --clean: ends what jobs left on this node whose launcher and agent are gone, and removes
// their files.

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

// dtagent --sweep: the same for jobs of which a launcher or an agent was killed here, of which none
// runs here any more, before or while another job begins. One line for each of them of which
// something was left. Does nothing while another sweep is under way.
Exit sweep_up();

}  // namespace dtl
