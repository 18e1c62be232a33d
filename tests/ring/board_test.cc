// The board, through which the ranks of a node show each other the values of short operations.
#include "ring/links/shm_board.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <vector>

#include "ring/links/shm_node.h"

namespace dtl::ring::test::board_test {
namespace {

// Two ranks of one node, in one process.
struct Two {
  ShmNode left{2}, right{2};
  Two() {
    const std::vector<std::string> addresses{left.address(), right.address()};
    EXPECT_EQ(left.open(0, addresses), "");
    EXPECT_EQ(right.open(1, addresses), "");
  }
};

std::vector<std::byte> pattern(std::size_t bytes, std::size_t seed) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::byte>(i * 7 + seed);
  return values;
}

// What the right rank shows as its next entry.
std::vector<std::byte> next_of_right(Two& two, std::size_t bytes) {
  ShmBoard& board = two.left.board();
  if (!board.has_next(1)) return {};
  const std::byte* values = board.values(1, board.next(1), bytes);
  return {values, values + bytes};
}

OperationHeader numbered(std::uint64_t sequence) {
  OperationHeader header;
  header.magic = kOperationMagic;
  header.opcode = Opcode::kAllreduce;
  header.sequence = sequence;
  header.tag = 7;
  return header;
}

TEST(Board, ShowsEveryEntryWithItsHeaderUntilItIsPassed) {
  Two two;
  for (std::uint64_t number = 1; number <= 3 * kBoardEntries; ++number) {
    for (const std::size_t bytes : {number % 9, kBoardBytes - number % 3}) {
      const auto sent = pattern(bytes, number);
      EXPECT_FALSE(two.left.board().has_next(1)) << number;
      two.right.board().show(two.left.board().next(1), numbered(number), sent.data(), bytes);
      two.right.board().wake_peers(number);
      ASSERT_TRUE(two.left.board().has_next(1)) << number;
      EXPECT_EQ(next_of_right(two, bytes), sent);
      EXPECT_TRUE(same_operation(two.left.board().operation(1, two.left.board().next(1)),
                                 numbered(number)));
      two.left.board().pass(1);
    }
  }
}

TEST(Board, WakesASleeperOnceForEachEntry) {
  Two two;
  ASSERT_TRUE(two.left.begin_sleep());
  two.right.board().show(1, numbered(1), nullptr, 0);
  two.right.board().wake_peers(1);
  pollfd wake{two.left.wake_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wake, 1, 0), 1);
  two.left.clear_wake();
  two.left.end_sleep();
  EXPECT_FALSE(two.left.begin_sleep()) << "nobody has looked at it";
  two.left.end_sleep();
  // Seen, but not passed: no caller of this rank has begun it.
  ASSERT_TRUE(two.left.board().has_next(1));
  EXPECT_TRUE(two.left.begin_sleep());
  EXPECT_EQ(::poll(&wake, 1, 0), 0);
}

TEST(Board, PassesAnEntryThatAllPeersShowOfTheSameOperation) {
  Two two;
  ShmBoard& board = two.left.board();
  EXPECT_FALSE(board.pass_all(1, numbered(1), 3)) << "not shown";
  two.right.board().show(1, numbered(2), nullptr, 0);
  EXPECT_FALSE(board.pass_all(1, numbered(1), 3)) << "another operation";
  EXPECT_FALSE(board.pass_all(2, numbered(2), 3)) << "not the next entry";
  EXPECT_EQ(board.next(1), 1u);
  EXPECT_TRUE(board.has_next(1));
  EXPECT_TRUE(board.pass_all(1, numbered(2), 0));
  EXPECT_EQ(board.next(1), 2u);
}

}  // namespace
}  // namespace dtl::ring::test::board_test
