#pragma once
// The guard's ranks: one slot each, in a static table. Starts them, notices that they ended, ends
// what they left behind, and keeps what is still to be told to the agent. One thread.

#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>

#include "agent/guard/guard_protocol.h"
#include "agent/processes/kill_tree.h"

namespace dtl::ranks {

// Starts a rank and closes the descriptors, in any case. A failure is told by a report, as one in
// the child is. refuse() tells one without a try.
void start(std::uint32_t rank, const int* fds);
void refuse(std::uint32_t rank, const int* fds, int error_number);

// signal, and SIGCONT if wanted, to the group of every rank that runs.
void signal_all(int signal, bool go_on);

// Reaps whatever has ended. What a rank left behind is killed before the rank itself is reaped.
void reap();

// SIGKILL until nothing is left below the guard, for kReapDeadline at most.
KillCount end_all();

// The error pipes of ranks that are starting: fills in polls (room for kMaxLocalRanks), and reads
// those that answered.
unsigned add_polls(pollfd* polls);
void read_error_pipes(const pollfd* polls, unsigned count);

// The next report not yet told, in the order of the slots; false when there is none. told() marks
// the one that next_report gave.
bool next_report(GuardReport& report);
void told();

}  // namespace dtl::ranks
