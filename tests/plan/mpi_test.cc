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
  EXPECT_EQ(parse_pmi("pmi2"), PmiChoice::kPmi1);
  EXPECT_EQ(parse_pmi("pmix"), PmiChoice::kPmix);
  EXPECT_EQ(parse_pmi("none"), PmiChoice::kNone);
}

TEST(ParsePmi, RefusesOtherWordsAndNamesTheKnownOnes) {
  try {
    parse_pmi("pmi3");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    EXPECT_STREQ(error.what(),
                 "--pmi pmi3: not an interface of MPI libraries. Try: --pmi auto, pmi1, pmi2, pmix "
                 "or none");
  }
}

// "LINE|DETAIL", and "+pmix" if that is served.
std::string judged(const std::vector<MpiAnswers>& answers, PmiChoice choice = PmiChoice::kAuto) {
  std::vector<MpiQuestion> questions = {{"./solver", "", "", ""}, {"viewer", "", "", ""}};
  if (choice != PmiChoice::kAuto) questions.clear();
  try {
    const MpiVerdict verdict = judge_mpi(choice, questions, answers);
    return verdict.line + "|" + verdict.detail + (verdict.pmix ? "+pmix" : "");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kConfig);
    return std::string("refused: ") + error.what();
  }
}

const std::string kMpich = "mpich MPICH (libmpich.so.12)",
                  kIntel = "intel Intel MPI (libmpi.so.12)",
                  kOpenMpi = "open_mpi Open MPI (libmpi.so.40)",
                  kHidden = "hidden Open MPI (libmpi.so.40)",
                  kNoLibrary = "dtpmix cannot load libpmix.so.2";

TEST(JudgeMpi, NamesTheOneMpiOfAllPrograms) {
  EXPECT_EQ(judged({{"node1", {kMpich, ""}}, {"node2", {kMpich, kMpich}}}),
            "'./solver' uses MPICH (libmpich.so.12), started over PMI-1|");
}

TEST(JudgeMpi, SaysNothingOfProgramsThatShowNone) {
  EXPECT_EQ(judged({{"node1", {"", ""}}, {"node2", {}}}), "|");
  EXPECT_EQ(judged({{"node1", {}}}, PmiChoice::kPmi1), "|");
}

TEST(JudgeMpi, RefusesWhatIsNotServedBeforeTheStart) {
  EXPECT_EQ(judged({{"node1", {"", "other SGI MPT (libmpi.so.0)"}}}),
            "refused: node1: cannot start 'viewer': it needs SGI MPT (libmpi.so.0), which dtlaunch "
            "does not serve. Try: its own mpirun, or build it with the mpicc of MPICH, Intel MPI "
            "or Open MPI");
}

TEST(JudgeMpi, StartsOpenMpiOverPmix) {
  EXPECT_EQ(judged({{"node1", {kOpenMpi, ""}, "4.2.2"}, {"node2", {"", kOpenMpi}, "5.0.7"}}),
            "'./solver' uses Open MPI (libmpi.so.40), started over PMIx|+pmix");
  // Where the program is missing, its start says so.
  EXPECT_EQ(judged({{"node1", {kOpenMpi, ""}, "4.2.2"}, {"node2", {"", ""}, ""}}),
            "'./solver' uses Open MPI (libmpi.so.40), started over PMIx|+pmix");
}

TEST(JudgeMpi, RefusesOpenMpiWhereAHostCannotServePmixAndNamesThePackage) {
  EXPECT_EQ(judged({{"node1", {kOpenMpi}, "4.2.2"}, {"node2", {kOpenMpi}, kNoLibrary}}),
            "refused: node2: cannot start './solver': it needs Open MPI (libmpi.so.40), and this "
            "host cannot serve PMIx: dtpmix cannot load libpmix.so.2. Try: apt install libpmix2, "
            "there");
  EXPECT_THAT(judged({{"node1", {kOpenMpi}, "there is no dtpmix beside dtagent"}}),
              HasSubstr("Try: apt install dtlaunch libpmix2, there"));
  EXPECT_THAT(judged({{"node1", {kOpenMpi}, "there is no folder for dtpmix's files: none"}}),
              HasSubstr("Try: export XDG_STATE_HOME=FOLDER, there"));
}

TEST(JudgeMpi, OffersPmixWhereOpenMpiMayBeLoadedLater) {
  EXPECT_EQ(judged({{"node1", {"", kHidden}, "4.2.2"}, {"node2", {"", kHidden}, "4.2.2"}}),
            "|'viewer' may load Open MPI: PMIx is offered, too+pmix");
  EXPECT_EQ(judged({{"node1", {kHidden}, "4.2.2"}, {"node2", {kHidden}, kNoLibrary}}),
            "|'./solver' cannot use Open MPI: node2 cannot serve PMIx: dtpmix cannot load "
            "libpmix.so.2");
  EXPECT_EQ(judged({{"node1", {kHidden}, "4.2.2"}, {"node2", {""}, ""}}),
            "|'./solver' cannot use Open MPI: node2 shows none");
}

TEST(JudgeMpi, TakesWhatMayLoadOpenMpiBesideEachMpi) {
  EXPECT_EQ(judged({{"node1", {kHidden, kMpich}, "4.2.2"}}),
            "'viewer' uses MPICH (libmpich.so.12), started over PMI-1|");
  EXPECT_EQ(judged({{"node1", {kHidden, kOpenMpi}, "4.2.2"}}),
            "'viewer' uses Open MPI (libmpi.so.40), started over PMIx|+pmix");
}

TEST(JudgeMpi, ServesPmixOnRequestOrSaysWhichHostCannot) {
  EXPECT_EQ(judged({{"node1", {}, "4.2.2"}, {"node2", {}, "5.0.7"}, {"node3", {}, "4.2.2"}},
                   PmiChoice::kPmix),
            "|PMIx is offered, by libpmix 4.2.2 and 5.0.7+pmix");
  EXPECT_EQ(judged({{"node1", {}, "4.2.2"}, {"node2", {}, kNoLibrary}}, PmiChoice::kPmix),
            "refused: node2: cannot serve PMIx, as --pmi pmix asks: dtpmix cannot load "
            "libpmix.so.2. Try: apt install libpmix2, there");
  EXPECT_THAT(judged({{"node1", {}}}, PmiChoice::kPmix), HasSubstr("does not say why"));
  const MpiVerdict verdict =
      judge_mpi(PmiChoice::kPmix, {{"./solver", "", "", ""}}, {{"node1", {kMpich}, "4.2.2"}});
  EXPECT_TRUE(verdict.pmix);
  EXPECT_EQ(verdict.warning,
            "--pmi pmix: './solver' uses MPICH (libmpich.so.12), whose ranks find each other only "
            "if it was built for PMIx. Try: --pmi auto");
}

TEST(JudgeMpi, LeavesVariablesOfPmixToItsServer) {
  Request request;
  request.environment.set = {{"PMIX_MCA_gds", "hash"}, {"A", "1"}};
  check_pmix_variables(request);
  request.programs[0].set = {{"PMIX_RANK", "9"}};
  try {
    check_pmix_variables(request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "PMIX_RANK=9: the job's PMIx server gives it to each rank, for Open MPI. Try: the "
                 "same command without PMIX_RANK, or --pmi none");
  }
}

TEST(JudgeMpi, RefusesDifferentMpisOfProgramsAndOfHosts) {
  EXPECT_THAT(judged({{"node1", {kMpich, kIntel}}}),
              HasSubstr("'./solver' on node1 needs MPICH (libmpich.so.12), 'viewer' on node1 "
                        "needs Intel MPI (libmpi.so.12)"));
  EXPECT_THAT(judged({{"node1", {kMpich}}, {"node2", {kIntel}}}), HasSubstr("'./solver' on node2"));
  EXPECT_THAT(judged({{"node1", {kMpich, "mpich MPICH (libmpi.so.12)"}}}),
              HasSubstr("different MPIs"));
  EXPECT_THAT(judged({{"node1", {kMpich}}, {"node2", {kOpenMpi}, "4.2.2"}}),
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
  EXPECT_EQ(pmix_question(request), "if_needed");
}

TEST(MpiQuestions, AreNotAskedWhereTheUserSaysWhatToServe) {
  Request request;
  request.programs[0].command = {"./solver"};
  request.environment.pmi = PmiChoice::kPmi1;
  EXPECT_TRUE(mpi_questions(request).empty());
  EXPECT_EQ(pmix_question(request), "");
  request.environment.pmi = PmiChoice::kPmix;
  EXPECT_EQ(mpi_questions(request).size(), 1U);  // for a warning
  EXPECT_EQ(pmix_question(request), "always");
}

TEST(DistinctNames, NumberWhatHasComeBefore) {
  EXPECT_THAT(distinct_names({"n", "n", "m", "n-2", "n"}),
              testing::ElementsAre("n", "n-3", "m", "n-2", "n-4"));
}

}  // namespace
}  // namespace dtl
