#pragma once
// What the job makes of what ranks do: they start, fail and end; while they run, which of them is
// odd.

#include "launcher/job/turn.h"

namespace dtl::job {

// nullptr: it is not a rank of this node, which is then treated as garbage.
RankState* rank_of(Turn& turn, int node, std::uint32_t rank);
void hear_started(Turn& turn, int node, const Started& message);
void hear_spawn_failed(Turn& turn, int node, const SpawnFailed& message);
void hear_exited(Turn& turn, int node, const Exited& message, LastWords words);
// Hang and slowness: agents report what ranks do from now on.
void begin_watch(Turn& turn);
void hear_states(Turn& turn, int node, const RankStates& message);
void look_at_ranks(Turn& turn);

}  // namespace dtl::job
