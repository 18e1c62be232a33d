#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/launcher/session_fixture.h"

namespace dtl::session_pmix_test {
namespace {

using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Two nodes with one rank each, which say what they were asked and sent.
class SessionPmix : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    for (auto& [name, agent] : agents_) agent.behaviour = node(name);
  }

  Behaviour node(const std::string& name) {
    const Behaviour usual =
        healthy([](const RankSpec& spec, Connection& agent) { exit_with(agent, spec.rank, 0); });
    return [this, name, usual](const Message& message, Connection& connection) {
      if (const auto* pmix = std::get_if<ServePmix>(&message)) served_[name].push_back(*pmix);
      if (std::holds_alternative<ServePmi>(message)) ++pmi1_;
      const auto* asked = std::get_if<Examine>(&message);
      if (asked == nullptr) return usual(message, connection);
      Examined answer;
      for (const Fact& fact : asked->parameters) {
        if (fact.name == "mpi") answer.facts.push_back({"mpi", mpi_});
        if (fact.name == "pmix") answer.facts.push_back({"pmix", pmix_[name]});
        if (fact.name == "pmix") questions_.push_back(fact.value);
      }
      connection.send(answer);
      return true;
    };
  }

  std::string mpi_ = "open_mpi Open MPI (libmpi.so.40)";
  std::map<std::string, std::string> pmix_ = {{"n1", "4.2.2"}, {"n2", "4.2.2"}};
  std::vector<std::string> questions_;
  std::map<std::string, std::vector<ServePmix>> served_;
  int pmi1_ = 0;
};

TEST_F(SessionPmix, ServesOpenMpiOverPmixBesidePmi1) {
  EXPECT_EQ(run().job.outcome->exit_status, 0);
  EXPECT_THAT(questions_, ElementsAre("if_needed", "if_needed"));
  ASSERT_EQ(served_["n1"].size(), 1U);
  ASSERT_EQ(served_["n2"].size(), 1U);
  const ServePmix& second = served_["n2"][0];
  EXPECT_EQ(served_["n1"][0].node, 0U);
  EXPECT_EQ(second.node, 1U);
  EXPECT_THAT(second.space, StartsWith("0123456789abcdef.0."));
  EXPECT_EQ(second.space.size(), 19 + 2 * kSecretBytes);
  EXPECT_EQ(served_["n1"][0].space, second.space);
  EXPECT_THAT(second.hosts, ElementsAre("n1", "n2"));
  ASSERT_EQ(second.places.size(), 2U);
  EXPECT_EQ(second.places[1].node, 1U);
  EXPECT_EQ(pmi1_, 2);
}

TEST_F(SessionPmix, NumbersTheNodesInTheOrderOfTheirRanks) {
  request_.placement.rank_map = {1, 0, 1};
  request_.placement.ranks_per_node.reset();
  request_.placement.ranks = 3;
  request_.placement.oversubscribe = true;
  EXPECT_EQ(run().job.outcome->exit_status, 0);
  ASSERT_EQ(served_["n1"].size(), 1U);
  const ServePmix& first = served_["n1"][0];
  EXPECT_EQ(first.node, 1U);
  EXPECT_THAT(first.hosts, ElementsAre("n2", "n1"));
  std::vector<std::uint32_t> nodes;
  for (const PmixPlace& place : first.places) nodes.push_back(place.node);
  EXPECT_THAT(nodes, ElementsAre(0U, 1U, 0U));
}

TEST_F(SessionPmix, HasAnotherSpaceAfterARestart) {
  request_.restart_count = 1;
  run();
  ASSERT_EQ(served_["n1"].size(), 1U);
  EXPECT_THAT(served_["n1"][0].space, StartsWith("0123456789abcdef.1."));
}

TEST_F(SessionPmix, ServesOnlyPmixOnRequest) {
  mpi_ = "";
  request_.environment.pmi = PmiChoice::kPmix;
  EXPECT_EQ(run().job.outcome->exit_status, 0);
  EXPECT_THAT(questions_, ElementsAre("always", "always"));
  EXPECT_EQ(served_.size(), 2U);
  EXPECT_EQ(pmi1_, 0);
}

TEST_F(SessionPmix, RefusesAHostThatCannotServeIt) {
  pmix_["n2"] = "dtpmix cannot load libpmix.so.2";
  EXPECT_EQ(run().job.outcome->exit_status, 78);
  EXPECT_THAT(errors_, HasSubstr("dtlaunch: n2: cannot start 'prog': it needs Open MPI "
                                 "(libmpi.so.40), and this host cannot serve PMIx: dtpmix cannot "
                                 "load libpmix.so.2. Try: apt install libpmix2, there\n"));
  EXPECT_THAT(served_, IsEmpty());
}

TEST_F(SessionPmix, RunsAProgramThatMayLoadOpenMpiWhereNotAllHostsServeIt) {
  mpi_ = "hidden Open MPI (libmpi.so.40)";
  pmix_["n2"] = "dtpmix cannot load libpmix.so.2";
  EXPECT_EQ(run().job.outcome->exit_status, 0);
  EXPECT_THAT(served_, IsEmpty());
  EXPECT_EQ(errors_, "");
}

TEST_F(SessionPmix, AsksNothingWithPmi1) {
  request_.environment.pmi = PmiChoice::kPmi1;
  EXPECT_EQ(run().job.outcome->exit_status, 0);
  EXPECT_THAT(questions_, IsEmpty());
  EXPECT_THAT(served_, IsEmpty());
  EXPECT_EQ(pmi1_, 2);
}

}  // namespace
}  // namespace dtl::session_pmix_test
