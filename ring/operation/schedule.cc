// There are few flows, at most one per peer, so they are searched instead of indexed.
#include "ring/operation/schedule.h"

#include <algorithm>

namespace dtl::ring {

Flow* Schedule::find_flow(int peer) {
  for (Flow& flow : flows) {
    if (flow.peer == peer) return &flow;
  }
  return nullptr;
}

std::uint64_t Schedule::allowed(const Gate& gate, std::uint64_t bytes) const {
  if (gate.kind == Gate::Kind::kOpen) return bytes;
  const std::uint64_t come =
      gate.kind == Gate::Kind::kFlow ? flows[gate.index].prefix : sums[gate.index].done;
  return come <= gate.from ? 0 : std::min(bytes, come - gate.from);
}

// Sending counts too: the caller gets its buffers back, and a peer may still read from them.
bool Schedule::is_done() const {
  for (const Flow& flow : flows) {
    if (!flow.is_sent() || !flow.is_received()) return false;
  }
  for (const Sum& sum : sums) {
    if (sum.done < sum.bytes) return false;
  }
  return true;
}

std::vector<int> Schedule::unheard() const {
  std::vector<int> ranks;
  for (const Flow& flow : flows) {
    if (flow.receives && !flow.has_heard) ranks.push_back(flow.peer);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void Schedule::clear() {
  flows.clear();
  sums.clear();
}

}  // namespace dtl::ring
