#include "plan/mpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl {
namespace {

using testing::HasSubstr;

// Ranks on these nodes, in order.
std::string mapping(const std::vector<int>& nodes) {
  std::vector<RankPlace> places;
  for (const int node : nodes) {
    RankPlace place;
    place.rank = static_cast<int>(places.size());
    place.node = node;
    places.push_back(place);
  }
  return process_mapping(places);
}

TEST(ProcessMapping, HasOneBlockForNodesWithEquallyManyRanks) {
  EXPECT_EQ(mapping({0}), "(vector,(0,1,1))");
  EXPECT_EQ(mapping({0, 0, 1, 1, 2, 2}), "(vector,(0,3,2))");
}

TEST(ProcessMapping, BeginsABlockWhereTheNumberOfRanksChanges) {
  EXPECT_EQ(mapping({0, 0, 0, 1, 2}), "(vector,(0,1,3),(1,2,1))");
}

TEST(ProcessMapping, FollowsRanksThatAreDealtOut) {
  EXPECT_EQ(mapping({0, 1, 2, 0, 1, 2}), "(vector,(0,3,1),(0,3,1))");
}

TEST(ProcessMapping, FollowsARankMap) {
  EXPECT_EQ(mapping({0, 1, 1, 0}), "(vector,(0,1,1),(1,1,2),(0,1,1))");
}

TEST(ProcessMapping, IsEmptyWhereItExceedsAValueOfPmi) {
  std::vector<int> nodes;
  for (int i = 0; i < 2000; ++i) nodes.insert(nodes.end(), i % 2 == 0 ? 1 : 2, i);
  EXPECT_EQ(mapping(nodes), "");
}

TEST(ParsePmi, KnowsTheInterfacesThatAreServed) {
  EXPECT_EQ(parse_pmi("auto"), PmiChoice::kAuto);
  EXPECT_EQ(parse_pmi("pmi1"), PmiChoice::kPmi1);
  EXPECT_EQ(parse_pmi("none"), PmiChoice::kNone);
}

TEST(ParsePmi, SaysWhyItRefusesTheOthers) {
  const auto refusal = [](const char* text) -> std::string {
    try {
      parse_pmi(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kUsage);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("pmix"), HasSubstr("Open MPI uses PMIx"));
  EXPECT_EQ(parse_pmi("pmi2"), PmiChoice::kPmi1);
  EXPECT_THAT(refusal("pmi3"), HasSubstr("not an interface of MPI libraries"));
}

std::string judged(const std::vector<MpiAnswers>& answers) {
  std::vector<MpiQuestion> questions = {{"./solver", "", "", ""}, {"viewer", "", "", ""}};
  try {
    return judge_mpi(questions, answers);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kConfig);
    return std::string("refused: ") + error.what();
  }
}

const std::string kMpich = "mpich MPICH (libmpich.so.12)",
                  kIntel = "intel Intel MPI (libmpi.so.12)";

TEST(JudgeMpi, NamesTheOneMpiOfAllPrograms) {
  EXPECT_EQ(judged({{"node1", {kMpich, ""}}, {"node2", {kMpich, kMpich}}}),
            "'./solver' uses MPICH (libmpich.so.12), started over PMI-1");
}

TEST(JudgeMpi, SaysNothingOfProgramsThatShowNone) {
  EXPECT_EQ(judged({{"node1", {"", ""}}, {"node2", {}}}), "");
}

TEST(JudgeMpi, RefusesWhatIsNotServedBeforeTheStart) {
  EXPECT_EQ(judged({{"node1", {"open_mpi Open MPI (libmpi.so.40)", ""}}}),
            "refused: node1: cannot start './solver': it needs Open MPI (libmpi.so.40), which "
            "dtlaunch does not serve. Try: its own mpirun, or build it with the mpicc of MPICH or "
            "Intel MPI");
  EXPECT_THAT(judged({{"node1", {"", "other SGI MPT (libmpi.so.0)"}}}), HasSubstr("'viewer'"));
}

TEST(JudgeMpi, RefusesDifferentMpisOfProgramsAndOfHosts) {
  EXPECT_THAT(judged({{"node1", {kMpich, kIntel}}}),
              HasSubstr("'./solver' on node1 needs MPICH (libmpich.so.12), 'viewer' on node1 "
                        "needs Intel MPI (libmpi.so.12)"));
  EXPECT_THAT(judged({{"node1", {kMpich}}, {"node2", {kIntel}}}), HasSubstr("'./solver' on node2"));
  EXPECT_THAT(judged({{"node1", {kMpich, "mpich MPICH (libmpi.so.12)"}}}),
              HasSubstr("different MPIs"));
}

TEST(MpiQuestions, HaveWhatARankFindsItsProgramWith) {
  Request request;
  request.environment.inherited = {{"PATH", "/bin"}, {"LD_LIBRARY_PATH", "/old"}};
  request.programs[0].command = {"./solver", "-v"};
  request.programs[0].working_directory = "/work";
  request.programs[0].set = {{"LD_LIBRARY_PATH", "/new"}};
  const auto questions = mpi_questions(request);
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_EQ(questions[0].program, "./solver");
  EXPECT_EQ(questions[0].search_path, "/bin");
  EXPECT_EQ(questions[0].library_path, "/new");
  EXPECT_EQ(questions[0].folder, "/work");
  request.environment.pmi = PmiChoice::kPmi1;
  EXPECT_TRUE(mpi_questions(request).empty());
}

}  // namespace
}  // namespace dtl
