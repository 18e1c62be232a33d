// Who talks to dtlaunch through whom.
#include "launcher/tree/tree_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "launcher/tree/branches.h"

namespace dtl {
namespace {

using Places = std::vector<std::size_t>;

TEST(TreeShape, GivesEachTopItsChildrenInOrder) {
  const TreeShape shape(13, 3);
  EXPECT_EQ(shape.text(), "tree of agents: 3 direct, 10 behind others, depth 3");
  for (const std::size_t child : {3u, 4u, 5u}) EXPECT_EQ(shape.parent(child), 0u);
  for (const std::size_t child : {6u, 7u, 8u}) EXPECT_EQ(shape.parent(child), 1u);
  EXPECT_EQ(shape.parent(12), 3u);
  EXPECT_EQ(shape.depth(12), 3u);
  EXPECT_TRUE(shape.relays(3)) << "it has a child";
  EXPECT_FALSE(shape.relays(4));
  EXPECT_TRUE(shape.relays(2)) << "a top, to which others go that have lost theirs";
}

TEST(TreeShape, OffersTheWholeWayUpAndThenOtherTops) {
  const TreeShape shape(64, 4);
  EXPECT_EQ(shape.candidates(2), Places{});
  EXPECT_EQ(shape.candidates(8), (Places{1, 2, 3}));
  EXPECT_EQ(shape.candidates(63), (Places{14, 2, 3, 0}));
  EXPECT_EQ(TreeShape(5, 2).candidates(4), (Places{1, 0}));
  EXPECT_EQ(TreeShape(5, 1).candidates(4), (Places{3, 2, 1, 0}));
}

TEST(TreeShape, HasNoCyclesAndLimitsChildren) {
  for (const std::size_t width : {2u, 3u, 7u, 32u}) {
    const TreeShape shape(1000, width);
    std::vector<std::size_t> children(shape.count());
    for (std::size_t place = 0; place < shape.count(); ++place) {
      const Places above = shape.candidates(place);
      EXPECT_EQ(above.empty(), shape.is_top(place));
      EXPECT_LE(above.size(), 64u) << "as JoinTree allows";
      EXPECT_EQ(std::set<std::size_t>(above.begin(), above.end()).size(), above.size());
      for (const std::size_t other : above) {
        EXPECT_LT(shape.depth(other), shape.depth(place));
        EXPECT_TRUE(shape.relays(other));
      }
      if (!shape.is_top(place)) ++children[shape.parent(place)];
    }
    EXPECT_LE(*std::max_element(children.begin(), children.end()), width);
  }
}

TEST(TreeShape, IsThereByTheNumberOfHostsOrByChoice) {
  EXPECT_FALSE(tree_shape(1024, {}));
  EXPECT_EQ(tree_shape(1025, {})->tops(), 32u);
  EXPECT_FALSE(tree_shape(5000, 0));
  EXPECT_EQ(tree_shape(7, 2)->tops(), 2u);
  EXPECT_FALSE(tree_shape(4, 4)) << "nobody would be behind another";
}

TEST(Branches, FollowTheNewestBranchOnly) {
  Branches branches(3);
  EXPECT_TRUE(branches.arrive(1, {0, 1}));
  EXPECT_TRUE(branches.is_current(1, {0, 1}));
  EXPECT_FALSE(branches.is_current(1, {2, 1})) << "another top";
  EXPECT_TRUE(branches.arrive(1, {2, 2}));
  EXPECT_FALSE(branches.leave(1, {0, 1})) << "late news of the first branch";
  EXPECT_FALSE(branches.arrive(1, {0, 1}));
  EXPECT_EQ(branches.way(1)->top, 2);
  EXPECT_TRUE(branches.leave(1, {2, 2}));
  EXPECT_FALSE(branches.way(1));
  EXPECT_FALSE(branches.arrive(1, {2, 2})) << "a branch does not begin twice";
  EXPECT_FALSE(branches.arrive(9, {2, 1})) << "no such node";
}

TEST(Branches, EndWithTheirTop) {
  Branches branches(5);
  for (const std::size_t node : {2u, 3u, 4u}) branches.arrive(node, {node == 3 ? 1 : 0, 1});
  EXPECT_EQ(branches.lose_top(0), (Places{2, 4}));
  EXPECT_EQ(branches.lose_top(0), Places{});
  EXPECT_TRUE(branches.way(3));
}

}  // namespace
}  // namespace dtl
