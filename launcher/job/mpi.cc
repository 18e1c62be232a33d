// A fence costs each node one message up and one down, unless the entries of a node or of the job
// exceed a frame.
#include "launcher/job/mpi.h"

#include <fmt/format.h>

#include <utility>

#include "launcher/job/losses.h"
#include "launcher/job/machine.h"
#include "launcher/job/rank_events.h"

namespace dtl::job {
namespace {

// Of one PmiFenced. A frame holds 1 MiB.
constexpr std::size_t kMostFencedBytes = 512 << 10;
// Of all of them: each agent gets them at once, and a connection queues 16 MiB.
constexpr std::size_t kMostBarrierBytes = 12 << 20;

std::size_t bytes_of(const PmiEntry& entry) {
  return entry.key.size() + entry.value.size() + 8;  // two lengths
}

void add_entry(PmiBarrier& barrier, const PmiEntry& entry) {
  if (barrier.parts.empty() || barrier.last_bytes + bytes_of(entry) > kMostFencedBytes) {
    if (!barrier.parts.empty()) barrier.parts.back().more = true;
    barrier.parts.emplace_back();
    barrier.last_bytes = 0;
  }
  barrier.parts.back().entries.push_back(entry);
  barrier.last_bytes += bytes_of(entry);
  barrier.bytes += bytes_of(entry);
}

void end_barrier(Turn& turn) {
  PmiBarrier done = std::exchange(turn.job.mpi.barrier, {});
  if (done.parts.empty()) done.parts.emplace_back();
  for (const int node : turn.job.used) {
    for (const PmiFenced& part : done.parts) turn.send(node, part);
  }
}

// No rank is to blame: the sum over all nodes is too much.
void give_up_barrier(Turn& turn, int node) {
  turn.job.mpi.barrier = {};
  Outcome outcome;
  outcome.cause = Cause::kMpiBroken;
  outcome.node = node;
  outcome.exit_status = static_cast<int>(Exit::kVersion);
  outcome.text = fmt::format("with it, the ranks have put more than {} MiB at one barrier",
                             kMostBarrierBytes >> 20);
  abandon(turn, std::move(outcome));
}

Outcome outcome_of(const MpiNews& news, int node) {
  Outcome outcome;
  outcome.rank = static_cast<int>(news.rank);
  outcome.node = node;
  outcome.text = news.text;
  return outcome;
}

// Waits a while before it counts: all ranks of a program may end without MPI_Finalize, one by one.
void note_left(Turn& turn, const MpiNews& news, int node) {
  if (turn.job.mpi.left) return;
  Outcome outcome = outcome_of(news, node);
  outcome.cause = Cause::kMpiLeft;
  outcome.code = static_cast<int>(news.code);
  outcome.exit_status = static_cast<int>(Exit::kVersion);
  turn.job.mpi.left = std::move(outcome);
  turn.job.mpi.left_by = turn.now + kMpiPatience;
}

// MPI_Abort's code as an exit status. A process has only 8 bits, and 0 would be no failure.
int abort_status(std::uint32_t code) {
  const int status = static_cast<int>(code & 0xff);
  return status == 0 ? 1 : status;
}

// While some nodes wait in a barrier, a rank of another one that has ended will not come. Its own
// agent does not know that others wait.
void look_for_absent(Turn& turn) {
  Mpi& mpi = turn.job.mpi;
  // early_end: a rank has ended in order.
  if (mpi.left || mpi.barrier.arrived.empty() || !turn.job.early_end) return;
  for (std::size_t i = 0; i < turn.job.ranks.size(); ++i) {
    const RankState& rank = turn.job.ranks[i];
    if (rank.phase != RankPhase::kExited || mpi.barrier.arrived.contains(rank.node)) continue;
    return note_left(turn, {static_cast<std::uint32_t>(i), MpiEvent::kLeft, 1, {}}, rank.node);
  }
}

}  // namespace

void hear_fence(Turn& turn, int node, const PmiFence& message) {
  if (turn.job.state != JobState::kRunning) return;
  PmiBarrier& barrier = turn.job.mpi.barrier;
  if (!turn.node(node).has_ranks || barrier.arrived.contains(node)) {
    return garbage(turn, node, "a barrier of MPI that it is not in");
  }
  for (const PmiEntry& entry : message.entries) add_entry(barrier, entry);
  if (barrier.bytes > kMostBarrierBytes) return give_up_barrier(turn, node);
  if (message.more) return;
  barrier.arrived.insert(node);
  if (barrier.arrived.size() == turn.job.used.size()) end_barrier(turn);
}

void hear_mpi_news(Turn& turn, int node, const MpiNews& message) {
  if (rank_of(turn, node, message.rank) == nullptr || turn.job.state != JobState::kRunning) return;
  Outcome outcome = outcome_of(message, node);
  switch (message.event) {
    case MpiEvent::kAborted:
      outcome.cause = Cause::kMpiAbort;
      outcome.code = static_cast<int>(message.code);
      outcome.exit_status = abort_status(message.code);
      return abandon(turn, std::move(outcome));
    case MpiEvent::kBroken:
      outcome.cause = Cause::kMpiBroken;
      outcome.exit_status = static_cast<int>(Exit::kVersion);
      return abandon(turn, std::move(outcome));
    case MpiEvent::kAlone:
      outcome.cause = Cause::kMpiAlone;
      outcome.exit_status = static_cast<int>(Exit::kConfig);
      return abandon(turn, std::move(outcome));
    case MpiEvent::kLeft:
      return note_left(turn, message, node);
  }
}

void look_at_mpi(Turn& turn) {
  Mpi& mpi = turn.job.mpi;
  look_for_absent(turn);
  if (!mpi.left || turn.job.state != JobState::kRunning || turn.now < mpi.left_by) return;
  abandon(turn, *mpi.left);
}

}  // namespace dtl::job
