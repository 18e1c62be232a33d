#include "agent/pmix/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/pmix/contribution.h"
#include "base/error.h"

namespace dtl::pmix {
namespace {

// Of all nodes together: the ranks of other nodes have the same limit, and heads are short.
constexpr std::size_t kMaxHeadBytes = 4 << 10;
constexpr std::uint64_t kContextsOfNodes = 1 << 16;  // a job has fewer nodes

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::kFence:
      return "PMIx_Fence";
    case Collective::kConnect:
      return "PMIx_Connect";
    case Collective::kDisconnect:
      return "PMIx_Disconnect";
    case Collective::kMakeGroup:
      return "PMIx_Group_construct";
    case Collective::kEndGroup:
      return "PMIx_Group_destruct";
  }
  return "";
}

}  // namespace

// Sorts the ranks; all of the job become none. False if one of them does not exist.
bool Collectives::normalise(Ranks& ranks) const {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (!ranks.empty() && ranks.back() >= places_.ranks.size()) return false;
  if (ranks.size() == places_.ranks.size()) ranks.clear();
  return true;
}

std::vector<Effect> Collectives::refuse(const Entered& collective, std::string why) {
  const Ranks& ranks = collective.ranks;
  const auto here = std::find_if(ranks.begin(), ranks.end(),
                                 [&](std::uint32_t rank) { return places_.is_here(rank); });
  const std::uint32_t rank = here == ranks.end() ? places_.here().front() : *here;
  std::vector<Effect> effects;
  effects.push_back(Send{MpiNews{rank, MpiEvent::kBroken, 0, std::move(why)}});
  EndCollective end;
  end.id = collective.id;
  end.failure = kNoResource;
  effects.push_back(std::move(end));
  return effects;
}

// No other node proposes the same: the lowest 16 bits are the node's number. Open MPI uses 0
// itself.
std::uint64_t Collectives::next_context() {
  return ++contexts_ * kContextsOfNodes + places_.node;
}

std::vector<Effect> Collectives::entered(Entered collective) {
  std::vector<Effect> effects;
  if (!normalise(collective.ranks)) {
    return refuse(collective, fmt::format("called {} with a rank that the job lacks",
                                          name_of(collective.collective)));
  }
  const std::size_t bytes = collective.data.size() + collective.name.size();
  if (bytes > kMaxCollectiveBytes || waiting_bytes_ + bytes > kMaxWaitingBytes) {
    return refuse(collective,
                  fmt::format("put more into {} than a node may ({} MiB)",
                              name_of(collective.collective), kMaxCollectiveBytes >> 20));
  }
  const Ranks& ranks = collective.ranks;
  const bool local = ranks.empty()
                         ? places_.here().size() == places_.ranks.size()
                         : std::all_of(ranks.begin(), ranks.end(),
                                       [&](std::uint32_t rank) { return places_.is_here(rank); });
  if (local) {
    if (ranks.empty()) all_met_ = true;
    std::string data = std::move(collective.data);
    effects.push_back(result_of(collective, next_context(), std::move(data)));
    return effects;
  }
  waiting_bytes_ += bytes;
  std::deque<Waiting>& queue = waiting_[ranks];
  queue.push_back({std::move(collective), {}});
  if (queue.size() == 1) send(queue.front().collective, effects);
  return effects;
}

void Collectives::send(const Entered& collective, std::vector<Effect>& effects) {
  const std::uint64_t context = collective.wants_context ? next_context() : 0;
  auto parts = cut_into_parts(
      to_bytes({collective.collective, places_.node, context, collective.name, collective.data}));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    effects.push_back(Send{PmixFence{collective.ranks, std::move(parts[i]), i + 1 < parts.size()}});
  }
}

std::vector<Effect> Collectives::fenced(PmixFenced part) {
  const auto found = waiting_.find(part.ranks);
  if (found == waiting_.end()) {
    throw Error(Exit::kVersion, "a fence of PMIx", "no rank of this node waits for it");
  }
  Waiting& first = found->second.front();
  first.joined += part.data;
  if (first.joined.size() > places_.hosts.size() * (kMaxCollectiveBytes + kMaxHeadBytes)) {
    throw Error(Exit::kVersion, "a fence of PMIx", "has more than the nodes may send");
  }
  std::vector<Effect> effects;
  if (part.more) return effects;
  Waiting over = std::move(first);
  found->second.pop_front();
  waiting_bytes_ -= over.collective.data.size() + over.collective.name.size();
  effects = end(over.collective, over.joined);
  if (found->second.empty()) {
    waiting_.erase(found);
  } else {
    send(found->second.front().collective, effects);
  }
  return effects;
}

std::vector<Effect> Collectives::end(const Entered& collective, const std::string& joined) {
  const auto all = read_contributions(joined);
  if (!all || all->empty()) {
    throw Error(Exit::kVersion, "a fence of PMIx", "is not what nodes have sent");
  }
  const Contribution* lowest = &all->front();
  std::string data;
  data.reserve(joined.size());
  for (const Contribution& each : *all) {
    if (each.collective != collective.collective || each.name != collective.name) {
      return refuse(collective,
                    fmt::format("called {} while ranks of another node called {}",
                                name_of(collective.collective), name_of(each.collective)));
    }
    if (each.node < lowest->node) lowest = &each;
    data += each.data;
  }
  if (collective.ranks.empty()) all_met_ = true;
  std::vector<Effect> effects;
  effects.push_back(result_of(collective, lowest->context, std::move(data)));
  return effects;
}

EndCollective Collectives::result_of(const Entered& collective, std::uint64_t context,
                                     std::string data) const {
  EndCollective result;
  result.id = collective.id;
  result.data = std::move(data);
  result.has_context = collective.wants_context;
  result.context = collective.wants_context ? context : 0;
  if (collective.collective == Collective::kMakeGroup) {
    result.members = collective.ranks;
    if (result.members.empty()) {
      for (std::uint32_t rank = 0; rank < places_.ranks.size(); ++rank) {
        result.members.push_back(rank);
      }
    }
  }
  return result;
}

}  // namespace dtl::pmix
