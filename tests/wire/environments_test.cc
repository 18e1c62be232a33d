#include "wire/environments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/limits.h"
#include "frame_bytes.h"

namespace dtl::environments_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Rank {
  std::vector<std::string> lines;
  int program = 0;
};

SharedEnvironments share(const std::vector<Rank>& ranks) {
  std::vector<RankVariables> variables;
  for (const Rank& rank : ranks) variables.push_back({rank.lines, rank.program});
  return share_environments(variables);
}

// The agent must decode exactly the ranks that the launcher encoded.
void expect_unchanged(const std::vector<Rank>& ranks) {
  const SharedEnvironments shared = share(ranks);
  Environments environments;
  for (const Environment& each : shared.common) environments.add(each);
  ASSERT_EQ(shared.own.size(), ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto lines = environments.lines(shared.own[i]);
    EXPECT_EQ(std::vector<std::string>(lines.begin(), lines.end()), ranks[i].lines) << i;
  }
}

std::string problem_of(const Environments& environments, const Environment& environment) {
  try {
    environments.lines(environment);
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kVersion);
    return error.what();
  }
}

// About 10 KiB each, with the variables that differ between ranks in a plan.
std::vector<Rank> ranks_of_a_node(int count) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < count; ++rank) {
    const std::string number = std::to_string(rank);
    Rank& each = ranks.emplace_back();
    for (int i = 0; i < 100; ++i) {
      each.lines.push_back("VARIABLE_" + std::to_string(100 + i) + "=" + std::string(89, 'v'));
      if (i % 12 != 0) continue;
      each.lines.push_back("VARIABLE_" + std::to_string(100 + i) + "_RANK=" + number);
    }
  }
  return ranks;
}

std::size_t bytes_of(const std::vector<std::string>& lines) {
  std::size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  return bytes;
}

TEST(Environments, CrossOnceForAllRanksOfANode) {
  const std::vector<Rank> ranks = ranks_of_a_node(64);
  const std::size_t once = bytes_of(ranks[0].lines);
  EXPECT_GE(once, 10u << 10);
  const SharedEnvironments shared = share(ranks);
  Start start;
  start.secret = std::string(32, 's');
  for (const Environment& own : shared.own) start.ranks.emplace_back().environment = own;
  ASSERT_EQ(shared.common.size(), 1u);
  const std::size_t common = frame_bytes(shared.common[0], 0).size();
  const std::size_t own = frame_bytes(start, 0).size();
  RecordProperty("common_bytes", static_cast<int>(common));
  RecordProperty("own_bytes", static_cast<int>(own));
  std::printf("    64 ranks: %zu bytes in common and %zu of their own, not %zu\n", common, own,
              64 * once);
  EXPECT_LE(common, once + once / 10);
  EXPECT_LE(common + own, 4 * once);
  expect_unchanged(ranks);
}

TEST(Environments, OfTwoProgramsCrossOnceAndWhatIsThePrograms) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < 6; ++rank) {
    const std::string own = "RANK=" + std::to_string(rank);
    ranks.push_back({{"A=1", "B=2", own, "Z=26"}, rank / 3});
    if (rank >= 3) ranks.back().lines.insert(ranks.back().lines.begin() + 1, "ACTOR=yes");
  }
  const SharedEnvironments shared = share(ranks);
  ASSERT_EQ(shared.common.size(), 2u);
  EXPECT_EQ(shared.common[0].added.size(), 3u);
  EXPECT_EQ(shared.common[1].base, 1u);
  ASSERT_EQ(shared.common[1].added.size(), 1u);
  EXPECT_EQ(shared.common[1].added[0].variable, "ACTOR=yes");
  EXPECT_EQ(shared.own[0].base, 1u);
  EXPECT_EQ(shared.own[5].base, 2u);
  expect_unchanged(ranks);
}

TEST(Environments, ArriveAsTheyWereWhateverTheyHaveInCommon) {
  expect_unchanged({});
  expect_unchanged({{{"A=1", "B=2"}}});
  expect_unchanged({{{}}, {{"A=1"}}});
  expect_unchanged({{{"A=1", "B=2"}}, {{"B=2", "A=1"}}});
  expect_unchanged({{{"A=1", "A=1", "B=2"}}, {{"A=1", "B=2", "A=1"}}});
  expect_unchanged({{{"A=1"}, 0}, {{"B=1"}, 1}, {{"B=1", "C=1"}, 1}, {{"A=1", "C=1"}, 0}});
  expect_unchanged({{{"A=1"}, 0}, {{"A=1", "B=1"}, 1}, {{"A=2", "B=1"}, 1}});
}

TEST(Environments, OfOneRankNeedNoOther) {
  const SharedEnvironments shared = share({{{"A=1", "B=2"}}});
  EXPECT_TRUE(shared.common.empty());
  EXPECT_EQ(shared.own[0].base, 0u);
}

TEST(Environments, AreRefusedWhenTheyBuildOnWhatIsNotThere) {
  Environments environments;
  EXPECT_THAT(problem_of(environments, {1, {}}), HasSubstr("built on number 1 of 0"));
  EXPECT_THAT(problem_of(environments, {0, {{1, "A=1"}}}), HasSubstr("a variable after 1 of 0"));
  environments.add({0, {{0, "A=1"}, {0, "B=2"}}});
  EXPECT_THAT(problem_of(environments, {1, {{2, "C=3"}, {1, "D=4"}}}),
              HasSubstr("a variable after 1 of 2"));
  EXPECT_THAT(environments.lines({1, {{1, "A=2"}}}), ElementsAre("A=1", "A=2", "B=2"));
}

TEST(Environments, AreRefusedWhenTheyAreTooManyTooDeepOrTooLong) {
  Environments environments;
  environments.add({0, {{0, "A=" + std::string(100'000, 'x')}}});
  environments.add({1, {}});
  EXPECT_EQ(problem_of(environments, {2, {}}), "accepted");
  EXPECT_THROW(environments.add({2, {}}), Error);  // a third level
  Environment large{1, {}};
  large.added.assign(10, {0, "B=" + std::string(100'000, 'x')});
  EXPECT_THAT(problem_of(environments, large), HasSubstr("bytes are more than 1048576"));
  EXPECT_THROW(environments.add(large), Error);
  Environment many;
  many.added.assign(65536, {});
  EXPECT_EQ(problem_of(environments, many), "accepted");
  many.base = 1;
  EXPECT_THAT(problem_of(environments, many), HasSubstr("more than 65536 variables"));
  for (int i = 2; i < 4096; ++i) environments.add({});
  EXPECT_THROW(environments.add({}), Error);
}

}  // namespace
}  // namespace dtl::environments_test
