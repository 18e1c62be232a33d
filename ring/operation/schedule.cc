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
  std::uint64_t come = 0;
  switch (gate.kind) {
    case Gate::Kind::kFlow:
      come = flows[gate.index].prefix;
      break;
    case Gate::Kind::kSum:
      come = sums[gate.index].done;
      break;
    case Gate::Kind::kParts:
      for (const GatePart& part : gate_parts[gate.index]) {
        const std::uint64_t here = allowed(part.gate, part.bytes);
        come += here;
        if (here < part.bytes) break;
      }
      break;
    case Gate::Kind::kOpen:
      break;
  }
  return come <= gate.from ? 0 : std::min(bytes, come - gate.from);
}

// Sending counts too: the caller gets its buffers back, and a peer may still read from them.
bool Schedule::is_done() const {
  if (board.is_used) return board.is_taken;
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
  gate_parts.clear();
  board = {};
}

}  // namespace dtl::ring
