#include "ring/operation.h"

#include <gtest/gtest.h>

#include <vector>

namespace dtl::ring {
namespace {

// The streams of all ranks, run against each other without memory or sockets: what a rank may send
// is handed to the next one in steps of at most `step` bytes.
void expect_streams_end(const Request& request, int world, std::uint64_t step) {
  std::vector<Operation> ranks(static_cast<std::size_t>(world));
  std::vector<std::uint64_t> on_link(ranks.size());
  for (int rank = 0; rank < world; ++rank) {
    auto& operation = ranks[static_cast<std::size_t>(rank)];
    operation.prepare(request, rank, world, 1, 0);
    operation.header_sent = operation.header_received = sizeof(OperationHeader);
  }
  const auto is_done = [](const Operation& o) { return o.is_sent() && o.is_received(); };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const auto bytes = std::min<std::uint64_t>(ranks[r].sendable().bytes, step);
      if (bytes > 0) ranks[r].sent(bytes);
      on_link[(r + 1) % ranks.size()] += bytes;
      const auto taken = std::min<std::uint64_t>(ranks[r].receivable().bytes, on_link[r]);
      if (taken > 0) ranks[r].received(taken);
      on_link[r] -= taken;
      moved = moved || bytes > 0 || taken > 0;
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_TRUE(is_done(ranks[r])) << "rank " << r;
    EXPECT_EQ(on_link[r], 0u) << "left over for rank " << r;
  }
}

Request sum_of(std::uint64_t count) {
  static std::byte nowhere;
  Request request;
  request.opcode = Opcode::kAllreduce;
  request.dtype = DT_F32;
  request.count = count;
  request.in = request.out = &nowhere;
  return request;
}

// Addresses of no memory at all are computed here, so that sizes beyond 4 GiB can be tested.
__attribute__((no_sanitize("undefined"))) void expect_huge_sum_ends(std::uint64_t count,
                                                                    int world) {
  expect_streams_end(sum_of(count), world, std::uint64_t{1} << 30);
}

TEST(Operation, StreamsEndForEveryWorldAndCount) {
  for (int world = 2; world <= 20; ++world) {
    for (std::uint64_t count = 0; count < 45; count += 1 + count / 9) {
      expect_streams_end(sum_of(count), world, 7);
    }
  }
}

TEST(Operation, StreamsEndBeyondFourGibibytes) {
  expect_huge_sum_ends((std::uint64_t{1} << 33) + 5, 2);
  expect_huge_sum_ends((std::uint64_t{1} << 32) + 11, 3);
  expect_huge_sum_ends((std::uint64_t{1} << 34) + 1, 16);
}

TEST(Operation, BroadcastStreamsEndFromEveryRoot) {
  for (int root = 0; root < 5; ++root) {
    Request request = sum_of(1000);
    request.opcode = Opcode::kBroadcast;
    request.root = root;
    expect_streams_end(request, 5, 64);
  }
}

TEST(Operation, GatherStreamsEndWithEmptyParts) {
  const std::vector<std::uint64_t> counts{0, 3, 0, 0, 100, 1};
  Request request = sum_of(104);
  request.opcode = Opcode::kAllgather;
  request.counts = counts.data();
  expect_streams_end(request, 6, 16);
}

TEST(Operation, HeadersDifferWhenAnythingDoes) {
  Operation a, b;
  const auto same = [&](const Request& other) {
    a.prepare(sum_of(10), 0, 3, 1, 0);
    b.prepare(other, 1, 3, 1, 0);
    return same_operation(a.header(), b.header());
  };
  EXPECT_TRUE(same(sum_of(10)));
  EXPECT_FALSE(same(sum_of(11)));
  Request other = sum_of(10);
  other.tag = 1;
  EXPECT_FALSE(same(other));
  other = sum_of(10);
  other.dtype = DT_I32;
  EXPECT_FALSE(same(other));
}

}  // namespace
}  // namespace dtl::ring
