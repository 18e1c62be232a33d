#pragma once
// How the job handles what ranks do: they start, fail and end, and while they run, some may be odd.
// Decides which failure is the cause.

#include "launcher/job/turn.h"

namespace dtl::job {

// nullptr when it is not a rank of this node. The node is then lost, since a correct agent never
// says that.
RankState* rank_of(Turn& turn, int node, std::uint32_t rank);
void hear_started(Turn& turn, int node, const Started& message);
void hear_spawn_failed(Turn& turn, int node, const SpawnFailed& message);
// words: what the rank's standard error says about whose failure it was.
void hear_exited(Turn& turn, int node, const Exited& message, LastWords words);
// For hangs and slowness: from now on agents report what ranks do.
void begin_watch(Turn& turn);
// look_at_ranks() judges what hear_states() has collected, and is called with each Tick.
void hear_states(Turn& turn, int node, const RankStates& message);
void look_at_ranks(Turn& turn);

}  // namespace dtl::job
