#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pmi/pmi_server.h"
#include "tests/agent/pmi_fixture.h"
#include "tests/wire/frame_bytes.h"
#include "wire/field_kinds.h"

namespace dtl::pmi_server_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- what real libraries send

// MPICH 4.0 with libfabric and 2 ranks on a node; the values are shortened.
TEST_F(Pmi, ServesMpich4) {
  EXPECT_THAT(send(0, kInit), ElementsAre(kInitAnswer));
  EXPECT_THAT(send(0, "cmd=get_maxes\n"),
              ElementsAre("0: cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=4096 rc=0\n"));
  EXPECT_THAT(send(0, "cmd=get_appnum\n"), ElementsAre("0: cmd=appnum appnum=0 rc=0\n"));
  EXPECT_THAT(send(0, "cmd=get_my_kvsname\n"),
              ElementsAre("0: cmd=my_kvsname kvsname=0123abcd.0 rc=0\n"));
  EXPECT_THAT(send(0, "cmd=get kvsname=0123abcd.0 key=PMI_process_mapping\n"),
              ElementsAre("0: cmd=get_result rc=0 value=(vector,(0,2,2))\n"));
  EXPECT_THAT(send(0, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(send(1, kInit + "cmd=get_appnum\n"),
              ElementsAre("1: cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                          "1: cmd=appnum appnum=3 rc=0\n"));
  EXPECT_THAT(send(1, "cmd=barrier_in\n"),
              ElementsAre("0: cmd=barrier_out rc=0\n", "1: cmd=barrier_out rc=0\n"));
  EXPECT_THAT(send(1, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(send(0, "cmd=put kvsname=0123abcd.0 key=-bcast-1-0 value=2F6465762F73686D2F\n"),
              ElementsAre("0: cmd=put_result rc=0\n"));
  EXPECT_THAT(send(0, "cmd=barrier_in\n"),
              ElementsAre("0: cmd=barrier_out rc=0\n", "1: cmd=barrier_out rc=0\n"));
  EXPECT_THAT(send(1, "cmd=get kvsname=0123abcd.0 key=-bcast-1-0\n"),
              ElementsAre("1: cmd=get_result rc=0 value=2F6465762F73686D2F\n"));
  EXPECT_THAT(send(1, "cmd=get_universe_size\n"),
              ElementsAre("1: cmd=universe_size size=4 rc=0\n"));
  EXPECT_THAT(send(0, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(send(1, "cmd=barrier_in\n"),
              ElementsAre("0: cmd=barrier_out rc=0\n", "1: cmd=barrier_out rc=0\n"));
  EXPECT_THAT(send(0, "cmd=finalize\n"), ElementsAre("0: cmd=finalize_ack rc=0\n"));
  EXPECT_EQ(server_.phase(0), PmiPhase::kFinalised);
  EXPECT_EQ(server_.phase(1), PmiPhase::kInitialised);
  EXPECT_THAT(as_texts(server_.ended(0, true)), IsEmpty());
  EXPECT_TRUE(server_.has_ended(0));
  EXPECT_FALSE(server_.has_ended(1));
}

// MPICH 5.0 finds the other ranks of a node through shared memory that it names after the space.
TEST_F(Pmi, ServesMpich5) {
  send(0, kInit + "cmd=get_maxes\ncmd=get_appnum\ncmd=get_my_kvsname\n");
  EXPECT_THAT(send(0, "cmd=get kvsname=0123abcd.0 key=PMI_process_mapping\n"),
              ElementsAre("0: cmd=get_result rc=0 value=(vector,(0,2,2))\n"));
  for (const char* key : {"PMI_hwloc_xmlfile", "PMI_mpi_memory_alloc_kinds"}) {
    EXPECT_THAT(send(0, fmt::format("cmd=get kvsname=0123abcd.0 key={}\n", key)),
                ElementsAre("0: cmd=get_result rc=-1 msg=key_not_found\n"));
  }
  send(1, kInit);
  EXPECT_THAT(send(1, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(send(0, "cmd=barrier_in\n"),
              ElementsAre("0: cmd=barrier_out rc=0\n", "1: cmd=barrier_out rc=0\n"));
  EXPECT_THAT(send(0, "cmd=abort exitcode=7 message=abort\n"),
              ElementsAre("aborted 0: 7 \"abort\""));
}

// Intel MPI 2021.18 puts before its first barrier, has none in MPI_Finalize, and says no more of an
// abort than its code.
TEST_F(Pmi, ServesIntelMpi) {
  send(0, kInit + "cmd=get_maxes\ncmd=get_appnum\ncmd=get_my_kvsname\n");
  send(0, "cmd=get kvsname=0123abcd.0 key=PMI_process_mapping\n");
  EXPECT_THAT(send(0, "cmd=put kvsname=0123abcd.0 key=-bcast-1-0 value=2F646576\n"),
              ElementsAre("0: cmd=put_result rc=0\n"));
  send(1, kInit + "cmd=get_maxes\ncmd=get_appnum\ncmd=get_my_kvsname\n");
  EXPECT_THAT(send(0, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(send(1, "cmd=barrier_in\n"),
              ElementsAre("0: cmd=barrier_out rc=0\n", "1: cmd=barrier_out rc=0\n"));
  EXPECT_THAT(send(1, "cmd=get kvsname=0123abcd.0 key=-bcast-1-0\n"),
              ElementsAre("1: cmd=get_result rc=0 value=2F646576\n"));
  EXPECT_THAT(send(1, "cmd=finalize\n"), ElementsAre("1: cmd=finalize_ack rc=0\n"));
  EXPECT_THAT(send(0, "cmd=abort exitcode=7\n"), ElementsAre("aborted 0: 7 \"\""));
}

TEST_F(Pmi, ServesBytesOneByOne) {
  const std::string all = kInit + "cmd=put kvsname=0123abcd.0 key=k value=a b\ncmd=get key=k\n";
  std::vector<std::string> answers;
  for (const char byte : all) {
    for (std::string& answer : send(0, {&byte, 1})) answers.push_back(std::move(answer));
  }
  EXPECT_THAT(answers, ElementsAre(kInitAnswer, "0: cmd=put_result rc=0\n",
                                   "0: cmd=get_result rc=0 value=a b\n"));
}

// ---- the key space

TEST_F(Pmi, ReplacesAValue) {
  start_all();
  send(0, "cmd=put key=k value=first\n");
  send(1, "cmd=put key=k value=second\n");
  EXPECT_THAT(send(0, "cmd=get key=k\n"), ElementsAre("0: cmd=get_result rc=0 value=second\n"));
}

TEST_F(Pmi, RefusesOtherSpacesAndWhatIsTooLong) {
  start_all();
  EXPECT_THAT(send(0, "cmd=get kvsname=other key=PMI_process_mapping\n"),
              ElementsAre("0: cmd=get_result rc=-1 msg=key_not_found\n"));
  EXPECT_THAT(send(0, "cmd=put kvsname=other key=k value=v\n"),
              ElementsAre("0: cmd=put_result rc=-1 msg=unknown_kvsname\n"));
  EXPECT_THAT(send(0, "cmd=put value=v key=k\n"),
              ElementsAre("0: cmd=put_result rc=-1 msg=no_key_or_value\n"));
  const std::string key(kMaxPmiKeyBytes, 'k'), value(kMaxPmiValueBytes, 'v');
  EXPECT_THAT(send(0, "cmd=put key=" + key + " value=" + value + "\n"),
              ElementsAre("0: cmd=put_result rc=0\n"));
  EXPECT_THAT(send(0, "cmd=put key=k" + key + " value=v\n"),
              ElementsAre("0: cmd=put_result rc=-1 msg=key_too_long\n"));
  EXPECT_THAT(send(0, "cmd=put key=k value=v" + value + "\n"),
              ElementsAre("0: cmd=put_result rc=-1 msg=value_too_long\n"));
}

TEST_F(Pmi, HasNoMappingIfItIsTooLong) {
  PmiServer server({2, 1, "s", "", {{0, 0}}}, [](pid_t) { return true; });
  send(server, 0, kInit);
  EXPECT_THAT(send(server, 0, "cmd=get key=PMI_process_mapping\n"),
              ElementsAre("0: cmd=get_result rc=-1 msg=key_not_found\n"));
}

TEST_F(Pmi, BreaksOffAtTooManyKeys) {
  start_all();
  for (std::size_t i = 0; i < kMaxPmiKeys; ++i) {
    send(i % 2 == 0 ? 0 : 1, fmt::format("cmd=put key={} value=\n", i));
  }
  EXPECT_THAT(send(1, "cmd=put key=7 value=again\n"), ElementsAre("1: cmd=put_result rc=0\n"));
  EXPECT_THAT(
      send(0, "cmd=put key=more value=\n"),
      ElementsAre("broken 0: 0 \"put more into PMI's key space than a node may (65536 keys, "
                  "8 MiB): \"more\"\""));
}

TEST_F(Pmi, BreaksOffAtTooManyBytes) {
  start_all();
  const std::string value(kMaxPmiValueBytes, 'v');
  const auto put = [&](auto i) {
    return send(0, fmt::format("cmd=put key=k{:07} value={}\n", i, value));
  };
  const std::size_t most = kMaxPmiSpace / (8 + kMaxPmiValueBytes);
  for (std::size_t i = 0; i < most; ++i) put(i);
  EXPECT_THAT(put(0), ElementsAre("0: cmd=put_result rc=0\n"));
  EXPECT_THAT(put(most), ElementsAre(HasSubstr("broken 0: ")));
}

// ---- barriers of several nodes

TEST_F(Pmi, ExchangesWhatTwoNodesPut) {
  PmiServer first = make(2, {{0, 0}, {1, 0}}), second = make(2, {{2, 0}});
  for (const std::uint32_t rank : {0, 1}) send(first, rank, kInit);
  send(second, 2, kInit);
  send(first, 0, "cmd=put key=P0 value=old\ncmd=put key=P0 value=a b\n");
  send(first, 1, "cmd=put key=P1 value=\xff\n");
  EXPECT_THAT(send(first, 1, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(send(first, 0, "cmd=barrier_in\n"), ElementsAre("fence P0=a b P1=\xff"));
  EXPECT_THAT(send(second, 2, "cmd=put key=P2 value=c\ncmd=barrier_in\n"),
              ElementsAre("2: cmd=put_result rc=0\n", "fence P2=c"));
  const PmiFenced one{{{"P0", "a b"}, {"P1", "\xff"}}, true}, two{{{"P2", "c"}}, false};
  EXPECT_THAT(as_texts(first.fenced(one)), IsEmpty());
  EXPECT_THAT(as_texts(first.fenced(two)),
              ElementsAre("0: cmd=barrier_out rc=0\n", "1: cmd=barrier_out rc=0\n"));
  EXPECT_THAT(as_texts(second.fenced(one)), IsEmpty());
  EXPECT_THAT(as_texts(second.fenced(two)), ElementsAre("2: cmd=barrier_out rc=0\n"));
  EXPECT_THAT(send(first, 1, "cmd=get key=P2\n"), ElementsAre("1: cmd=get_result rc=0 value=c\n"));
  EXPECT_THAT(send(second, 2, "cmd=get key=P1\n"),
              ElementsAre("2: cmd=get_result rc=0 value=\xff\n"));
}

TEST_F(Pmi, SendsAnEntryOnce) {
  PmiServer server = make(2, {{0, 0}});
  send(server, 0, kInit + "cmd=put key=a value=1\n");
  EXPECT_THAT(send(server, 0, "cmd=barrier_in\n"), ElementsAre("fence a=1"));
  EXPECT_THAT(as_texts(server.fenced({{{"a", "1"}}, false})),
              ElementsAre("0: cmd=barrier_out rc=0\n"));
  EXPECT_THAT(send(server, 0, "cmd=barrier_in\n"), ElementsAre("fence"));
  server.fenced({});
  EXPECT_THAT(send(server, 0, "cmd=put key=a value=2\ncmd=barrier_in\n"),
              ElementsAre("0: cmd=put_result rc=0\n", "fence a=2"));
}

TEST_F(Pmi, SplitsAFenceThatExceedsAFrame) {
  PmiServer server = make(2, {{0, 0}});
  send(server, 0, kInit);
  const std::string value(kMaxPmiValueBytes, 'v');
  for (int i = 0; i < 300; ++i) send(server, 0, fmt::format("cmd=put key={} value={}\n", i, value));
  const auto effects = server.received(0, 1000, "cmd=barrier_in\n");
  ASSERT_EQ(effects.size(), 1U);
  const auto& parts = std::get<pmi::Fence>(effects[0]).parts;
  ASSERT_EQ(parts.size(), 3U);
  std::size_t entries = 0;
  for (const PmiFence& part : parts) {
    EXPECT_LE(frame_bytes(part, 0).size(), kMaxFenceBytes);
    EXPECT_EQ(part.more, &part != &parts.back());
    entries += part.entries.size();
  }
  EXPECT_EQ(entries, 300U);
}

TEST_F(Pmi, TellsOfARankThatEndsBetweenInitAndFinalize) {
  start_all();
  EXPECT_THAT(as_texts(server_.ended(1, true)), ElementsAre("left 1: 0 \"\""));
}

TEST_F(Pmi, TellsOfARankThatEndsWithoutInitOnceOthersWaitForIt) {
  send(0, kInit);
  EXPECT_THAT(as_texts(server_.ended(1, true)), IsEmpty());
  EXPECT_THAT(send(0, "cmd=barrier_in\n"), ElementsAre("left 1: 1 \"\""));
}

TEST_F(Pmi, WaitsInABarrierForARankThatHasFailed) {
  start_all();
  EXPECT_THAT(as_texts(server_.ended(1, false)), IsEmpty());
  EXPECT_THAT(send(0, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(send(1, "cmd=barrier_in\n"), IsEmpty());
}

// ---- several programs of a rank, one after the other

TEST_F(Pmi, ServesASecondProgramAfterFinalize) {
  start_all();
  send(0, "cmd=finalize\n");
  send(1, "cmd=finalize\n");
  EXPECT_THAT(as_texts(server_.received(0, 1050, kInit)), ElementsAre(kInitAnswer));
  EXPECT_EQ(server_.phase(0), PmiPhase::kInitialised);
  // Rank 1's second program, too, takes part in this barrier.
  EXPECT_THAT(send(0, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(send(1, kInit + "cmd=barrier_in\n"),
              ElementsAre("1: cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                          "0: cmd=barrier_out rc=0\n", "1: cmd=barrier_out rc=0\n"));
}

TEST_F(Pmi, NamesTheSpaceOfASecondProgramOtherwise) {
  send(0, kInit + "cmd=finalize\n");
  EXPECT_THAT(send(0, kInit + "cmd=get_my_kvsname\ncmd=put kvsname=0123abcd.0.2 key=a value=b\n"),
              ElementsAre(kInitAnswer, "0: cmd=my_kvsname kvsname=0123abcd.0.2 rc=0\n",
                          "0: cmd=put_result rc=0\n"));
}

TEST_F(Pmi, RefusesAChildOfARunningProgram) {
  send(0, kInit);
  EXPECT_THAT(
      as_texts(server_.received(0, 1050, kInit + "cmd=get_maxes\n")),
      ElementsAre("broken 0: 0 \"process 1050 started MPI, too, and process 1000 already uses "
                  "this rank's connection\""));
  EXPECT_THAT(send(0, "cmd=get_maxes\n"), IsEmpty());
}

TEST_F(Pmi, ServesASecondProgramAfterTheFirstDied) {
  server_.received(0, 999, kInit + "cmd=barrier_in\n");
  EXPECT_THAT(send(0, kInit), ElementsAre(kInitAnswer));
  send(1, kInit);
  EXPECT_THAT(send(1, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(send(0, "cmd=barrier_in\n"),
              ElementsAre("0: cmd=barrier_out rc=0\n", "1: cmd=barrier_out rc=0\n"));
}

}  // namespace
}  // namespace dtl::pmi_server_test
