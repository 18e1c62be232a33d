#pragma once
// The guard's ranks: one slot each, in a static table. Starts ranks, notices when they end, kills
// what they left behind, and keeps reports until they are sent to the agent. One thread.

#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>

#include "agent/guard/guard_protocol.h"
#include "agent/processes/kill_tree.h"

namespace dtl::ranks {

// Starts a rank and always closes the descriptors. A report tells of any failure, here or in the
// child. refuse() only reports a failure.
void start(std::uint32_t rank, const int* fds);
void refuse(std::uint32_t rank, const int* fds, int error_number);

// Sends signal, and SIGCONT if go_on, to the group of every running rank.
void signal_all(int signal, bool go_on);

// Reaps all ended processes. Kills a rank's leftovers before it reaps the rank itself.
void reap();

// SIGKILL until nothing is left below the guard, for kReapDeadline at most.
KillCount end_all();

// The error pipes of starting ranks: add_polls() fills in polls (room for kMaxLocalRanks),
// read_error_pipes() reads those that are ready.
unsigned add_polls(pollfd* polls);
void read_error_pipes(const pollfd* polls, unsigned count);

// The next unsent report, in the order of the slots; false if there is none. told() marks the
// report of the last next_report() as sent.
bool next_report(GuardReport& report);
void told();

}  // namespace dtl::ranks
