#pragma once
// Reasons other than ranks to end the job: the user, a scheduler or cloud, the output, the clock.
// Each becomes an Outcome for abandon().

#include "launcher/job/turn.h"

namespace dtl::job {

void signalled(Turn& turn, const Signalled& event);
void told_to_go(Turn& turn, const ToldToGo& event);
// Only while ranks run: an epoch that starts or ends takes the hosts that it has.
void hosts_changed(Turn& turn);
void output_closed(Turn& turn);
// No placement, no network or no plan; the shell has reported why.
void refused(Turn& turn, const Refused& event);
// The current state has waited long enough: whoever has not answered is given up.
void deadline_passed(Turn& turn);

}  // namespace dtl::job
