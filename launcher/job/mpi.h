#pragma once
// The part of the job's state machine that serves MPI libraries: barriers of PMI and fences of
// PMIx, through which the ranks of all nodes exchange what they have put, questions of PMIx about
// single ranks, and news of ranks that end their MPI in another way than by MPI_Finalize. The nodes
// have the servers: agents for PMI, dtpmix for PMIx. This joins them.

#include "launcher/job/turn.h"

namespace dtl::job {

// One node's ranks all wait in a barrier. The last node's fence ends it for all of them.
void hear_fence(Turn& turn, int node, const PmiFence& message);
// The same for a fence of PMIx, of all ranks or of some. Fences of different ranks may overlap.
void hear_pmix_fence(Turn& turn, int node, const PmixFence& message);
// Passed on to the rank's node, or answered here if that can no longer answer.
void hear_pmix_wanted(Turn& turn, int node, const PmixWanted& message);
void hear_pmix_given(Turn& turn, int node, const PmixGiven& message);  // passed on to the asker
void hear_mpi_news(Turn& turn, int node, const MpiNews& message);
// Ends the job if a rank left its MPI a while ago and other ranks still run.
void look_at_mpi(Turn& turn);
// Of a job whose ranks have all ended with status 0. A failure if some of them, but not all, left
// without MPI_Finalize: Open MPI's server lets the others pass their last barrier. A program whose
// ranks all leave like that is complete.
Outcome outcome_at_end(const Job& job);

}  // namespace dtl::job
