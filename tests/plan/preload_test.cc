#include "plan/preload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl::preload_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// One rank on each of n0, n1...
JobPlan plan_of(int nodes, const std::vector<std::string>& environment) {
  JobPlan plan;
  for (int i = 0; i < nodes; ++i) {
    NodePlan& node = plan.nodes.emplace_back();
    node.host = i;
    node.host_name = "n" + std::to_string(i);
    RankPlan& rank = node.ranks.emplace_back();
    rank.rank = i;
    rank.working_directory = "/w";
    rank.environment = environment;
  }
  return plan;
}

Request request_with(const std::string& preload, const Variables& set = {}) {
  Request request;
  request.programs[0].working_directory = "/w";
  if (!preload.empty()) request.environment.preload = parse_preloads(preload);
  request.environment.set = set;
  return request;
}

std::string refusal(const JobPlan& plan, const Request& request,
                    const std::map<int, LibraryPlaces>& places) {
  JobPlan copy = plan;
  try {
    add_preloads(copy, request, places);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kConfig);
    return error.what();
  }
  return {};
}

TEST(Preload, ReadsNames) {
  EXPECT_THAT(parse_preloads("iomp, TCMalloc,iomp"),
              ElementsAre(Preload::kIomp, Preload::kTcmalloc));
  try {
    parse_preloads("jemaloc");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--preload jemaloc: unknown library 'jemaloc'. Try: --preload jemalloc");
  }
}

TEST(Preload, AsksNothingWithoutNeed) {
  EXPECT_TRUE(libraries_to_find(request_with("", {{"LD_LIBRARY_PATH", "/a"}})).empty());
  EXPECT_TRUE(libraries_to_find(request_with("", {{"LD_PRELOAD", "libx.so $LIB/y.so"}})).empty());
}

TEST(Preload, AsksForPathsAndLooksIntoTheUsersFoldersFirst) {
  Request request = request_with("jemalloc", {{"LD_PRELOAD", "/a.so rel/b.so:/a.so c.so"}});
  request.environment.inherited = {{"CONDA_PREFIX", "/conda"}, {"LD_PRELOAD", "/overruled.so"}};
  request.programs[0].set = {{"LD_LIBRARY_PATH", "/l1:/l2:"}};
  const LibraryQuestion question = libraries_to_find(request);
  EXPECT_THAT(question.files, ElementsAre("/a.so", "/w/rel/b.so"));
  EXPECT_THAT(question.libraries, ElementsAre("libjemalloc.so"));
  EXPECT_THAT(question.folders, ElementsAre("/l1", "/l2", "/conda/lib"));
}

TEST(Preload, PutsWhatEachNodeHasBeforeTheUsersOwn) {
  const Request request = request_with("tcmalloc", {{"LD_PRELOAD", "/mine.so other.so"}});
  JobPlan plan = plan_of(2, {"LC_ALL=C", "LD_PRELOAD=/mine.so other.so", "RANK=0"});
  add_preloads(plan, request,
               {{0, {{"libtcmalloc.so", "/usr/lib/t.so"}, {"/mine.so", "/mine.so"}}},
                {1, {{"libtcmalloc_minimal.so", "/m/t.so.4"}, {"/mine.so", "/mine.so"}}}});
  EXPECT_THAT(plan.nodes[0].ranks[0].environment,
              ElementsAre("LC_ALL=C", "LD_PRELOAD=/usr/lib/t.so:/mine.so:other.so", "RANK=0"));
  EXPECT_THAT(plan.nodes[1].ranks[0].environment,
              Contains("LD_PRELOAD=/m/t.so.4:/mine.so:other.so"));
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(Preload, TakesTheUsersFoldersBeforeTheSystems) {
  const Request request = request_with("tcmalloc", {{"CONDA_PREFIX", "/conda"}});
  JobPlan plan = plan_of(1, {});
  add_preloads(plan, request,
               {{0,
                 {{"libtcmalloc.so", "/usr/lib/libtcmalloc.so.4"},
                  {"libtcmalloc_minimal.so", "/conda/lib/libtcmalloc_minimal.so"}}}});
  EXPECT_THAT(plan.nodes[0].ranks[0].environment,
              ElementsAre("LD_PRELOAD=/conda/lib/libtcmalloc_minimal.so"));
}

TEST(Preload, SetsIntelsVariablesUnlessTheUserHas) {
  JobPlan plan = plan_of(1, {"A=1", "KMP_BLOCKTIME=200", "Z=1"});
  add_preloads(plan, request_with("iomp"), {{0, {{"libiomp5.so", "/i.so"}}}});
  EXPECT_THAT(plan.nodes[0].ranks[0].environment,
              ElementsAre("A=1", "KMP_AFFINITY=granularity=fine,compact,1,0", "KMP_BLOCKTIME=200",
                          "LD_PRELOAD=/i.so", "Z=1"));
}

// Sorted by name, KMP_BLOCKTIME2 comes behind KMP_BLOCKTIME; as lines it is the other way round.
TEST(Preload, FindsTheUsersVariableBesideNamesThatContinueIt) {
  JobPlan plan = plan_of(1, {"KMP_BLOCKTIME=200", "KMP_BLOCKTIME1=a", "KMP_BLOCKTIME2=b",
                             "KMP_BLOCKTIME3=c", "LD_PRELOAD=libx.so"});
  add_preloads(plan, request_with("iomp"), {{0, {{"libiomp5.so", "/usr/lib/libiomp5.so"}}}});
  EXPECT_THAT(plan.nodes[0].ranks[0].environment,
              ElementsAre("KMP_AFFINITY=granularity=fine,compact,1,0", "KMP_BLOCKTIME=200",
                          "KMP_BLOCKTIME1=a", "KMP_BLOCKTIME2=b", "KMP_BLOCKTIME3=c",
                          "LD_PRELOAD=/usr/lib/libiomp5.so"));
}

TEST(Preload, NamesTheNodesThatLackALibraryAndItsPackage) {
  EXPECT_EQ(refusal(plan_of(2, {}), request_with("jemalloc", {{"VIRTUAL_ENV", "/venv"}}),
                    {{0, {{"libjemalloc.so", "/j.so"}}}, {1, {{"libjemalloc.so", ""}}}}),
            "--preload jemalloc: n1 does not have libjemalloc.so in /venv/lib, ~/.local/lib, "
            "/usr/local/lib or the system's library folders. Try: apt install libjemalloc2, there");
}

TEST(Preload, RefusesAPathThatWouldBeTakenForSeveral) {
  EXPECT_EQ(
      refusal(plan_of(1, {}), request_with("jemalloc", {{"VIRTUAL_ENV", "/my venv"}}),
              {{0, {{"libjemalloc.so", "/my venv/lib/libjemalloc.so.2"}}}}),
      "--preload jemalloc: LD_PRELOAD cannot name '/my venv/lib/libjemalloc.so.2' on n0: it is "
      "divided at blanks and colons. Try: a symbolic link to its folder, in LD_LIBRARY_PATH");
}

TEST(Preload, LeavesOutWhatANodeLacksAndFoldsTheWarning) {
  const Request request = request_with("", {{"LD_PRELOAD", "/x.so:/y.so"}});
  JobPlan plan = plan_of(7, {"LD_PRELOAD=/x.so:/y.so"});
  std::map<int, LibraryPlaces> places;
  for (int i = 0; i < 7; ++i) places[i] = {{"/x.so", i == 0 ? "/x.so" : ""}, {"/y.so", "/y.so"}};
  places[6]["/y.so"] = "";
  add_preloads(plan, request, places);
  EXPECT_THAT(plan.nodes[0].ranks[0].environment, ElementsAre("LD_PRELOAD=/x.so:/y.so"));
  EXPECT_THAT(plan.nodes[1].ranks[0].environment, ElementsAre("LD_PRELOAD=/y.so"));
  EXPECT_THAT(plan.nodes[6].ranks[0].environment, Not(Contains(StartsWith("LD_PRELOAD"))));
  EXPECT_THAT(plan.warnings,
              ElementsAre("n1, n2, n3, n4 and 2 more: no /x.so: left out of LD_PRELOAD there",
                          "n6: no /y.so: left out of LD_PRELOAD there"));
}

}  // namespace
}  // namespace dtl::preload_test
