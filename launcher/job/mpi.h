#pragma once
// The part of the job's state machine that serves MPI libraries: barriers of PMI, through which the
// ranks of all nodes exchange what they have put, and news of ranks that end their MPI in another
// way than by MPI_Finalize. The agents are the PMI servers; this joins them.

#include "launcher/job/turn.h"

namespace dtl::job {

// One node's ranks all wait in a barrier. The last node's fence ends it for all of them.
void hear_fence(Turn& turn, int node, const PmiFence& message);
void hear_mpi_news(Turn& turn, int node, const MpiNews& message);
// Ends the job if a rank left its MPI a while ago and other ranks still run.
void look_at_mpi(Turn& turn);

}  // namespace dtl::job
