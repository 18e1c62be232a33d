#pragma once
// The states of a job and the moves between them: the table, and what each state begins with.
// Decides nothing about ranks or nodes: whoever finds something out calls abandon() or
// transition().

#include "launcher/job/turn.h"

namespace dtl::job {

// Events that may move a job. kDeadline: an awaited answer did not come in time.
enum class Move {
  kAllUp,
  kAbandon,
  kProbed,
  kPlaced,
  kPlanned,
  kMustWait,
  kTaken,
  kClaimed,
  kRanksGone,
  kAgentsGone,
  kDeadline
};

// Moves as the table says. A move that the table does not have for this state does nothing, so that
// callers need not ask for the state.
void transition(Turn& turn, Move move);
// The job ends for this reason, unless it is ending for another one already.
void abandon(Turn& turn, Outcome outcome);
// From SIGTERM to SIGKILL: shorter when a host has to go earlier.
JobTime stop_grace(Turn& turn);
// Tells ranks that are ending that a host goes earlier than they were told.
void hurry_stop(Turn& turn);
// These move the job once no rank runs, or no agent is left. Call them after each change.
void check_ranks(Turn& turn);
void check_agents(Turn& turn);

}  // namespace dtl::job
