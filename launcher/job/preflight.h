#pragma once
// What nodes must answer before ranks start. From placed ranks to a network: the nodes listen, try
// to reach each other, and their answers are judged. It only collects; launcher/network judges, by
// the effect JudgeNetwork. After the plan: the nodes claim its cores. Before each of the two the
// job may have to wait in line for cores.

#include "launcher/job/turn.h"

namespace dtl::job {

// On entering and leaving kWaiting.
void get_in_line(Turn& turn);
void leave_line(Turn& turn);
void must_wait(Turn& turn, const MustWait& event);
void waited_too_long(Turn& turn);
void ranks_placed(Turn& turn, const Placed& event);
void network_judged(Turn& turn, const Judged& event);
// Each of these goes on when the last node has answered. Late answers change nothing.
void hear_listening(Turn& turn, int node, const Listening& message);
void hear_examined(Turn& turn, int node, const Examined& message);
void hear_reached(Turn& turn, int node, const Reached& message);
void hear_seen(Turn& turn, int node, const CoresSeen& message);
void hear_claimed(Turn& turn, int node, const CoresClaimed& message);

}  // namespace dtl::job
