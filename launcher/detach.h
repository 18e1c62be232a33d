#pragma once
// --detach: the launcher goes on in the background, as the job's keeper, in a session of its own
// and without a terminal, so that neither a logout nor the end of the ssh connection nor a killed
// shell reaches the job. It is dtlaunch as ever: the same states, the same leases; when it is
// killed, the agents end the job.

#include <functional>
#include <string>

#include "launcher/session.h"

namespace dtl {

// What the keeper does, with hooks that tell the foreground how the start goes; its exit status.
using KeepJob = std::function<int(const SessionHooks&)>;

// Returns in the foreground process only: 0 when the ranks run, and the job's status when it ends
// before that. What dtlaunch says until then is shown; ^C ends the job.
int run_in_background(const std::string& job_id, const KeepJob& keep_job);

}  // namespace dtl
