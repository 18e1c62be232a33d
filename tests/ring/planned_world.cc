#include "tests/ring/planned_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "ring/operation/scheduler.h"

namespace dtl::ring::test {
namespace {

void add(std::byte* target, const std::byte* one, const std::byte* other, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += sizeof(float)) {
    float a = 0, b = 0;
    std::memcpy(&a, one + at, sizeof a);
    std::memcpy(&b, other + at, sizeof b);
    a += b;
    std::memcpy(target + at, &a, sizeof a);
  }
}

}  // namespace

PlannedWorld::PlannedWorld(std::vector<int> nodes) {
  std::vector<std::string> keys;
  for (const int node : nodes) keys.push_back(std::to_string(node));
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    ranks_.emplace_back().map = NodeMap::from_keys(static_cast<int>(rank), keys);
  }
}

void PlannedWorld::plan(const std::vector<Request>& requests, const Choice& choice) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    rank.schedule.clear();
    rank.scratch.reset();
    rank.operation.prepare(requests[i], choice, rank.map.world, 1);
    Scheduler(rank.operation, rank.map, rank.scratch, rank.schedule).plan();
  }
}

bool PlannedWorld::fits_its_peers(Rank& rank) {
  for (const Flow& flow : rank.schedule.flows) {
    const Rank& peer = ranks_[static_cast<std::size_t>(flow.peer)];
    const auto& flows = peer.schedule.flows;
    const auto back = std::find_if(flows.begin(), flows.end(),
                                   [&](const Flow& each) { return each.peer == rank.map.rank; });
    if (back == flows.end() || back->receives != flow.sends) return false;
    const bool is_equal = std::equal(flow.out.begin(), flow.out.end(), back->in.begin(),
                                     back->in.end(), [](const Outgoing& out, const Incoming& in) {
                                       return out.bytes == in.bytes && out.wire == in.wire;
                                     });
    if (!is_equal) return false;
  }
  return true;
}

void PlannedWorld::run(unsigned seed) {
  random_.seed(seed);
  struct Way {
    Rank *from, *to;
    std::size_t flow;
  };
  std::vector<Way> ways;
  for (Rank& rank : ranks_) {
    ASSERT_TRUE(fits_its_peers(rank)) << "rank " << rank.map.rank;
    for (std::size_t i = 0; i < rank.schedule.flows.size(); ++i) {
      const auto peer = static_cast<std::size_t>(rank.schedule.flows[i].peer);
      ways.push_back({&rank, &ranks_[peer], i});
    }
  }
  for (bool moved = true; moved;) {
    moved = false;
    std::shuffle(ways.begin(), ways.end(), random_);
    for (const Way& way : ways)
      moved |= move(*way.from, way.from->schedule.flows[way.flow], *way.to);
    for (Rank& rank : ranks_) {
      for (Sum& sum : rank.schedule.sums) moved |= advance(rank, sum);
    }
  }
  for (Rank& rank : ranks_) {
    for (const Flow& flow : rank.schedule.flows) {
      ASSERT_EQ(flow.out_piece, flow.out.size()) << "rank " << rank.map.rank << " is stuck";
    }
    for (const Sum& sum : rank.schedule.sums) ASSERT_EQ(sum.done, sum.bytes);
  }
}

// Some of what the gates of both ends allow.
bool PlannedWorld::move(Rank& from, Flow& out, Rank& to) {
  if (out.out_piece == out.out.size()) return false;
  Flow& in = *to.schedule.find_flow(from.map.rank);
  const Outgoing& piece = out.out[out.out_piece];
  const std::uint64_t open = from.schedule.allowed(piece.gate, piece.bytes) - out.out_at;
  const std::uint64_t portion =
      std::min<std::uint64_t>(open, sizeof(float) * (1 + random_() % (piece.bytes / 4)));
  if (portion == 0 || !deliver(to, in, piece.data + out.out_at, portion)) return false;
  out.out_at += portion;
  if (out.out_at == piece.bytes) {
    ++out.out_piece;
    out.out_at = 0;
  }
  return true;
}

bool PlannedWorld::deliver(Rank& to, Flow& in, const std::byte* data, std::uint64_t bytes) {
  const Incoming& piece = in.in[in.prefix_piece];
  const std::uint64_t at = in.prefix_at;
  if (piece.action == Action::kCombine) {
    if (to.schedule.allowed(piece.gate, piece.bytes) < at + bytes) return false;
    add(piece.target + at, piece.own + at, data, bytes);
  } else if (piece.action == Action::kStore) {
    std::memcpy(piece.target + at, data, bytes);
  } else {
    const Sum& sum = to.schedule.sums[piece.sum];
    // The window holds the whole operand: sums in these tests are short.
    EXPECT_LE(piece.window_at + at + bytes, sum.window_bytes);
    std::memcpy(sum.sources[piece.source].window + piece.window_at + at, data, bytes);
  }
  in.prefix += bytes;
  in.prefix_at += bytes;
  if (in.prefix_at == piece.bytes) {
    ++in.prefix_piece;
    in.prefix_at = 0;
  }
  return true;
}

bool PlannedWorld::advance(Rank& rank, Sum& sum) {
  std::uint64_t limit = sum.bytes;
  for (const Sum::Source& source : sum.sources) {
    limit = std::min(limit, source.is_own ? rank.schedule.allowed(sum.own_gate, sum.bytes)
                                          : rank.schedule.flows[source.flow].prefix);
  }
  if (limit <= sum.done) return false;
  for (const Sum::Part& part : sum.parts) {
    const std::uint64_t from = std::max(sum.done, part.at);
    const std::uint64_t to = std::min(limit, part.at + part.bytes);
    for (std::uint64_t at = from; at < to; at += sizeof(float)) {
      float total = 0;
      for (const Sum::Source& source : sum.sources) {
        float value = 0;
        const std::byte* operand = source.is_own ? part.own : source.window + part.window_at;
        std::memcpy(&value, operand + at - part.at, sizeof value);
        total += value;
      }
      std::memcpy(part.out + at - part.at, &total, sizeof total);
    }
  }
  sum.done = limit;
  return true;
}

std::size_t PlannedWorld::most_peers() const {
  std::size_t most = 0;
  for (const Rank& rank : ranks_) most = std::max(most, rank.schedule.flows.size());
  return most;
}

std::uint64_t PlannedWorld::messages() const {
  std::uint64_t count = 0;
  for (const Rank& rank : ranks_) {
    for (const Flow& flow : rank.schedule.flows) {
      if (flow.sends) count += std::max<std::size_t>(1, flow.out.size());
    }
  }
  return count;
}

std::uint64_t PlannedWorld::most_sent() const {
  std::uint64_t most = 0;
  for (const Rank& rank : ranks_) {
    std::uint64_t sent = 0;
    for (const Flow& flow : rank.schedule.flows) {
      for (const Outgoing& piece : flow.out) sent += piece.bytes;
    }
    most = std::max(most, sent);
  }
  return most;
}

}  // namespace dtl::ring::test
