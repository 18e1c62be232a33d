#pragma once
// Lines for the user about ranks that somebody waits for. They decide nothing, so the job is the
// same with and without them.

#include "launcher/job/turn.h"

namespace dtl::job {

void tell_whom_we_wait_for(Turn& turn);
void tell_who_ended_early(Turn& turn);
void tell_what_was_left(Turn& turn);

}  // namespace dtl::job
