#pragma once
// Who wants the job to end but its ranks: the user, a scheduler or cloud, the output, the clock.

#include "launcher/job/turn.h"

namespace dtl::job {

void signalled(Turn& turn, const Signalled& event);
void told_to_go(Turn& turn, const ToldToGo& event);
void hosts_changed(Turn& turn);
void output_closed(Turn& turn);
void refused(Turn& turn, const Refused& event);
// The current state has waited long enough: whoever has not answered is given up.
void deadline_passed(Turn& turn);

}  // namespace dtl::job
