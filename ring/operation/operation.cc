#include "ring/operation/operation.h"

#include <algorithm>
#include <cstring>

#include "ring/arithmetic/reduce.h"
#include "ring/operation/schedule.h"

namespace dtl::ring {
namespace {

Lane lane_of(const Request& request, std::uint64_t bytes, int world) {
  if (request.opcode == Opcode::kPair) return Lane::kPair;
  // Of alltoallv no rank knows all counts, and all must choose alike.
  if (request.receive_counts != nullptr) return Lane::kBulk;
  const bool is_per_rank =
      request.opcode == Opcode::kReduceScatter || request.opcode == Opcode::kGather ||
      request.opcode == Opcode::kScatter || request.opcode == Opcode::kAlltoall;
  const std::uint64_t ranks = is_per_rank ? static_cast<std::uint64_t>(world) : 1;
  return bytes <= kSmallBytes / ranks ? Lane::kSmall : Lane::kBulk;
}

}  // namespace

void Operation::prepare(const Request& request, const NodeMap& map, std::uint64_t sequence) {
  const auto world = static_cast<std::size_t>(map.world);
  request_ = request;
  element_ = element_bytes(request.dtype);
  counts_.clear();
  receive_counts_.clear();
  header_ = {};
  header_.magic = kOperationMagic;
  header_.opcode = request.opcode;
  header_.dtype = static_cast<std::uint8_t>(request.dtype);
  header_.op = static_cast<std::uint8_t>(request.op);
  header_.wire = static_cast<std::uint8_t>(request.wire);
  header_.algorithm = request.algorithm;
  header_.root = request.opcode == Opcode::kPair ? 0 : request.root;
  header_.sequence = sequence;
  header_.count = request.count;
  header_.tag = request.tag;
  if (request.opcode == Opcode::kAllgather || request.opcode == Opcode::kAlltoall) {
    if (request.counts != nullptr) {
      counts_.assign(request.counts, request.counts + world);
    } else {
      counts_.assign(world, request.count);
    }
    receive_counts_ = counts_;
    if (request.receive_counts != nullptr) {
      receive_counts_.assign(request.receive_counts, request.receive_counts + world);
    }
  }
  if (request.opcode == Opcode::kAllgather) {
    header_.count = 0;
    for (const std::uint64_t count : counts_) header_.count += count;
    header_.counts_hash = hash_counts(counts_.data(), map.world);
  }
  lane_ = lane_of(request_, header_.count * element_, map.world);
  has_warned = false;
}

void Operation::lay_out(const NodeMap& map, Arena& scratch) {
  arena = &scratch;
  Scheduler(*this, map).plan(counts_, receive_counts_);
}

void Operation::reset() {
  flows.clear();
  sums.clear();
  arena = nullptr;
}

void Operation::finish_alone() {
  const std::size_t bytes = request_.opcode == Opcode::kPair ? 0 : request_.count * element_;
  if (bytes == 0 || request_.in == nullptr || request_.out == nullptr) return;
  const bool is_sum = request_.opcode == Opcode::kAllreduce ||
                      request_.opcode == Opcode::kReduceScatter ||
                      request_.opcode == Opcode::kReduce;
  if (is_sum) {  // a copy, but for truths
    const Operand own{request_.in};
    combine(request_.dtype, request_.op, request_.out, &own, 1, request_.count);
  } else if (request_.in != request_.out) {
    std::memcpy(request_.out, request_.in, bytes);
  }
}

Flow* Operation::find_flow(int peer) {
  for (Flow& flow : flows) {
    if (flow.peer == peer) return &flow;
  }
  return nullptr;
}

// How much of `bytes` may be read now.
std::uint64_t Operation::allowed(const Gate& gate, std::uint64_t bytes) const {
  if (gate.kind == Gate::Kind::kOpen) return bytes;
  const std::uint64_t come =
      gate.kind == Gate::Kind::kFlow ? flows[gate.index].prefix : sums[gate.index].done;
  return come <= gate.from ? 0 : std::min(bytes, come - gate.from);
}

bool Operation::is_done() const {
  for (const Flow& flow : flows) {
    if (!flow.is_sent() || !flow.is_received()) return false;
  }
  for (const Sum& sum : sums) {
    if (sum.done < sum.bytes) return false;
  }
  return true;
}

std::vector<int> Operation::unheard() const {
  std::vector<int> ranks;
  for (const Flow& flow : flows) {
    if (flow.receives && !flow.has_heard) ranks.push_back(flow.peer);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace dtl::ring
