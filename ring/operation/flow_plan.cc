// A piece without bytes is not added, since no frame could complete it. The flow itself is added,
// so that the ranks still compare their headers.
#include "ring/operation/flow_plan.h"

#include <algorithm>
#include <utility>

namespace dtl::ring {
namespace {

// The gate opens where the part ends.
bool follows(const GatePart& part, const Gate& gate) {
  if (gate.kind != part.gate.kind) return false;
  if (gate.kind == Gate::Kind::kOpen) return true;
  // An open gate has no position, so two of them always follow each other.
  return gate.index == part.gate.index && gate.from == part.gate.from + part.bytes;
}

}  // namespace

FlowPlan::FlowPlan(const Operation& operation, std::size_t senders, Schedule& schedule)
    : operation_(operation), schedule_(schedule) {
  // kMost is kMostFrameBytes. kBudget limits two frames for each sender.
  constexpr std::uint64_t kMost = 128 << 10, kLeast = 16 << 10, kBudget = 8 << 20;
  schedule_.frame_bytes = kMost;
  while (schedule_.frame_bytes > kLeast && schedule_.frame_bytes * 2 * senders > kBudget) {
    schedule_.frame_bytes /= 2;
  }
}

std::size_t FlowPlan::flow_with(int peer) {
  auto& flows = schedule_.flows;
  const auto at =
      std::find_if(flows.begin(), flows.end(), [&](const Flow& flow) { return flow.peer == peer; });
  if (at != flows.end()) return static_cast<std::size_t>(at - flows.begin());
  flows.emplace_back(peer);
  return flows.size() - 1;
}

void FlowPlan::send(int peer, const std::byte* data, std::uint64_t bytes, Wire wire, Gate gate) {
  Flow& flow = schedule_.flows[flow_with(peer)];
  flow.sends = true;
  if (bytes > 0) flow.out.push_back({data, bytes, wire, gate});
}

void FlowPlan::expect_answer(int peer, std::byte* answer) {
  auto& sent = schedule_.flows[flow_with(peer)].out;
  if (!sent.empty()) sent.back().answer = answer;
}

Gate FlowPlan::receive(int peer, Incoming piece) {
  const std::size_t index = flow_with(peer);
  Flow& flow = schedule_.flows[index];
  flow.receives = true;
  Gate gate{Gate::Kind::kFlow, index, 0};
  // A flow delivers its pieces in order, so this piece begins where those before it end.
  for (const Incoming& before : flow.in) gate.from += before.bytes;
  if (piece.bytes > 0) flow.in.push_back(piece);
  return gate;
}

void FlowPlan::add(Sum sum) {
  schedule_.sums.push_back(std::move(sum));
}

Gate FlowPlan::join(std::vector<GatePart> parts) {
  std::size_t kept = 0;
  for (const GatePart& part : parts) {
    if (part.bytes == 0) continue;
    if (kept > 0 && follows(parts[kept - 1], part.gate)) {
      parts[kept - 1].bytes += part.bytes;
    } else {
      parts[kept++] = part;
    }
  }
  parts.resize(kept);
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts[0].gate;
  schedule_.gate_parts.push_back(std::move(parts));
  return {Gate::Kind::kParts, schedule_.gate_parts.size() - 1, 0};
}

void FlowPlan::set_headers() {
  const Request& request = operation_.request();
  for (Flow& flow : schedule_.flows) {
    flow.out_header = flow.in_header = operation_.header();
    for (const Incoming& piece : flow.in) {
      flow.in_bytes += operation_.travelling(piece.wire, piece.bytes);
    }
    if (request.opcode != Opcode::kAlltoall || request.receive_counts == nullptr) continue;
    // For alltoallv each pair of ranks agrees on its own counts.
    const auto sum = [&](const auto& pieces) {
      std::uint64_t total = 0;
      for (const auto& piece : pieces) total += piece.bytes;
      return total / operation_.element();
    };
    flow.out_header.count = sum(flow.out);
    flow.in_header.count = sum(flow.in);
  }
}

}  // namespace dtl::ring
