// A barrier or fence costs each node one message up and one down, unless what a node or the job has
// put exceeds a frame.
#include "launcher/job/mpi.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "launcher/job/losses.h"
#include "launcher/job/machine.h"
#include "launcher/job/rank_events.h"
#include "wire/field_kinds.h"

namespace dtl::job {
namespace {

// Of one PmiFenced. A frame holds 1 MiB.
constexpr std::size_t kMostFencedBytes = 512 << 10;
// Of all of them: each agent gets them at once, and a connection queues 16 MiB.
constexpr std::size_t kMostBarrierBytes = 12 << 20;
// The ranks of a node may be in many at once, one for each group of ranks.
constexpr std::size_t kMostFences = 4096;
constexpr std::uint32_t kPmixNotFound = 46;  // PMIX_ERR_NOT_FOUND is -46

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
  for (PmiFenced& part : done.parts) {
    turn.effects.push_back(SendToMany{turn.job.used, std::move(part)});
  }
}

// No rank is to blame: the sum over all nodes is too much.
void give_up_barrier(Turn& turn, int node, const char* where) {
  turn.job.mpi.barrier = {};
  turn.job.mpi.fences.clear();
  turn.job.mpi.fence_bytes = 0;
  Outcome outcome;
  outcome.cause = Cause::kMpiBroken;
  outcome.node = node;
  outcome.exit_status = static_cast<int>(Exit::kVersion);
  outcome.text = fmt::format("with it, the ranks have put more than {} MiB {}",
                             kMostBarrierBytes >> 20, where);
  abandon(turn, std::move(outcome));
}

std::size_t bytes_of(const std::vector<std::uint32_t>& ranks) {
  return (ranks.size() + 1) * sizeof(std::uint32_t);  // its length is one more
}

// In order, and ranks of the job, one of them on this node.
bool may_fence(Turn& turn, int node, const std::vector<std::uint32_t>& ranks) {
  if (ranks.empty()) return turn.node(node).has_ranks;
  const bool in_order =
      std::adjacent_find(ranks.begin(), ranks.end(), std::greater_equal<>()) == ranks.end();
  return in_order && ranks.back() < turn.job.ranks.size() &&
         std::any_of(ranks.begin(), ranks.end(),
                     [&](std::uint32_t rank) { return turn.job.ranks[rank].node == node; });
}

std::size_t count_nodes(const Turn& turn, const std::vector<std::uint32_t>& ranks) {
  if (ranks.empty()) return turn.job.used.size();
  std::set<int> nodes;
  for (const std::uint32_t rank : ranks) nodes.insert(turn.job.ranks[rank].node);
  return nodes.size();
}

// nullptr: the node may not send a part of it, or not any more.
PmixJoin* join_fence(Turn& turn, int node, const std::vector<std::uint32_t>& ranks) {
  Mpi& mpi = turn.job.mpi;
  if (!may_fence(turn, node, ranks)) return nullptr;
  const auto [at, is_new] = mpi.fences.try_emplace(ranks);
  if (is_new) {
    at->second.nodes = count_nodes(turn, ranks);
    mpi.fence_bytes += bytes_of(ranks);
  }
  const bool may_join = mpi.fences.size() <= kMostFences && !at->second.arrived.contains(node);
  return may_join ? &at->second : nullptr;
}

// The end of a fence names its ranks in each part.
bool is_too_much(const Mpi& mpi, const std::vector<std::uint32_t>& ranks) {
  const std::size_t parts = mpi.fence_bytes / kMaxPmixBytes + 1;
  return mpi.fence_bytes + parts * bytes_of(ranks) > kMostBarrierBytes;
}

void end_fence(Turn& turn, const std::vector<std::uint32_t>& ranks) {
  const PmixJoin done = std::move(turn.job.mpi.fences.extract(ranks).mapped());
  std::string all;
  for (const auto& [node, data] : done.data) all += data;
  turn.job.mpi.fence_bytes -= bytes_of(ranks) + all.size();
  std::size_t sent = 0;
  do {
    PmixFenced part{ranks, all.substr(sent, kMaxPmixBytes), false};
    sent += part.data.size();
    part.more = sent < all.size();
    turn.effects.push_back(SendToMany{{done.arrived.begin(), done.arrived.end()}, std::move(part)});
  } while (sent < all.size());
}

// The number of a node in ServePmix is its place among those with ranks.
bool is_number_of(const Turn& turn, std::uint32_t number, int node) {
  return number < turn.job.used.size() && turn.job.used[number] == node;
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
  if (news.code == 0) ++turn.job.mpi.leavers;
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

// Nodes whose ranks all wait for the ranks of other nodes; nullptr: none.
const std::set<int>* waiting_nodes(const Mpi& mpi) {
  if (!mpi.barrier.arrived.empty()) return &mpi.barrier.arrived;
  const auto of_all = mpi.fences.find({});
  const bool is_open = of_all != mpi.fences.end() && !of_all->second.arrived.empty();
  return is_open ? &of_all->second.arrived : nullptr;
}

// While some nodes wait in a barrier, a rank of another one that has ended will not come. Its own
// agent does not know that others wait.
void look_for_absent(Turn& turn) {
  // early_end: a rank has ended in order.
  if (turn.job.mpi.left || !turn.job.early_end) return;
  const std::set<int>* waiting = waiting_nodes(turn.job.mpi);
  if (waiting == nullptr) return;
  for (std::size_t i = 0; i < turn.job.ranks.size(); ++i) {
    const RankState& rank = turn.job.ranks[i];
    if (rank.phase != RankPhase::kExited || waiting->contains(rank.node)) continue;
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
  if (barrier.bytes > kMostBarrierBytes) return give_up_barrier(turn, node, "at one barrier");
  if (message.more) return;
  barrier.arrived.insert(node);
  if (barrier.arrived.size() == turn.job.used.size()) end_barrier(turn);
}

void hear_pmix_fence(Turn& turn, int node, const PmixFence& message) {
  if (turn.job.state != JobState::kRunning) return;
  Mpi& mpi = turn.job.mpi;
  PmixJoin* fence = join_fence(turn, node, message.ranks);
  if (fence == nullptr) return garbage(turn, node, "a fence of PMIx that it is not in");
  // What one node has put stays together, as its libpmix has packed it.
  fence->data[node] += message.data;
  mpi.fence_bytes += message.data.size();
  if (is_too_much(mpi, message.ranks)) return give_up_barrier(turn, node, "into PMIx_Fence");
  if (message.more) return;
  fence->arrived.insert(node);
  if (fence->arrived.size() == fence->nodes) end_fence(turn, message.ranks);
}

void hear_pmix_wanted(Turn& turn, int node, const PmixWanted& message) {
  if (turn.job.state != JobState::kRunning) return;
  if (message.rank >= turn.job.ranks.size() || !is_number_of(turn, message.node, node)) {
    return garbage(turn, node, "a question of PMIx that is not its own");
  }
  const RankState& rank = turn.job.ranks[message.rank];
  if (!gone(rank) && reachable(turn.node(rank.node))) return turn.send(rank.node, message);
  turn.send(node, PmixGiven{message.node, message.number, kPmixNotFound, {}, false});
}

void hear_pmix_given(Turn& turn, int node, const PmixGiven& message) {
  if (turn.job.state != JobState::kRunning) return;
  if (message.node >= turn.job.used.size()) {
    return garbage(turn, node, "an answer of PMIx to a node that does not exist");
  }
  const int asker = turn.job.used[message.node];
  if (reachable(turn.node(asker))) turn.send(asker, message);
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

Outcome outcome_at_end(const Job& job) {
  const bool some_left = job.mpi.leavers > 0 && job.mpi.leavers < job.ranks.size();
  if (!some_left || !job.mpi.left || job.mpi.left->code != 0) return {};
  Outcome outcome = *job.mpi.left;
  outcome.code = kLeftAlone;
  return outcome;
}

}  // namespace dtl::job
