#pragma once
// The states of a job and the moves between them: the table, and what a state begins with. It
// decides nothing about ranks or nodes; whoever finds something out calls abandon() or
// transition().

#include "launcher/job/turn.h"

namespace dtl::job {

enum class Move { kAllUp, kAbandon, kProbed, kPlanned, kRanksGone, kAgentsGone, kDeadline };

// As the table says; a move that it does not have for this state does nothing.
void transition(Turn& turn, Move move);
// The job ends for this, unless it is ending for something else.
void abandon(Turn& turn, Outcome outcome);
// From SIGTERM to SIGKILL, as long as hosts that must go allow.
JobTime stop_grace(Turn& turn);
// Tells ranks that are ending that a host goes earlier.
void hurry_stop(Turn& turn);
// These move the job once no rank runs, or no agent is left.
void check_ranks(Turn& turn);
void check_agents(Turn& turn);

}  // namespace dtl::job
