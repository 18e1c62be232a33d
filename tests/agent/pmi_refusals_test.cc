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

TEST_F(Pmi, RefusesOtherVersions) {
  EXPECT_THAT(send(0, "cmd=init pmi_version=3 pmi_subversion=0\n"),
              ElementsAre("0: cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n"));
  EXPECT_EQ(server_.phase(0), PmiPhase::kUnused);
  EXPECT_THAT(send(1, "cmd=init pmi_version=1 pmi_subversion=2\n"), ElementsAre(HasSubstr("rc=0")));
  // MPICH sends this after a refusal.
  EXPECT_THAT(send(0, "cmd=abort exitcode=-1 message=PMI_Init failed\n"),
              ElementsAre("aborted 0: -1 \"PMI_Init failed\""));
}

TEST_F(Pmi, RefusesSpawnAndTellsTheUserOnce) {
  start_all();
  const std::string spawn =
      "mcmd=spawn\nnprocs=1\nexecname=/bin/true\ntotspawns=1\nspawnssofar=1\nargcnt=0\n"
      "preput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag#0$connentry#20$\n"
      "info_num=0\nendcmd\n";
  EXPECT_THAT(
      send(0, spawn),
      ElementsAre("say 0: MPI_Comm_spawn fails: dtlaunch starts no further ranks while a job "
                  "runs",
                  "0: cmd=spawn_result rc=-1 msg=not_supported\n"));
  EXPECT_THAT(send(0, spawn), ElementsAre("0: cmd=spawn_result rc=-1 msg=not_supported\n"));
  EXPECT_THAT(send(1, spawn), ElementsAre(HasSubstr("say 1: "), HasSubstr("1: cmd=spawn_result")));
}

TEST_F(Pmi, RefusesNamesAndWhatOlderServersHad) {
  start_all();
  EXPECT_THAT(send(0, "cmd=publish_name service=svc port=\xc1\x05\n"),
              ElementsAre("say 0: MPI_Publish_name fails: dtlaunch has no name service",
                          "0: cmd=publish_result rc=-1 msg=not_supported\n"));
  EXPECT_THAT(send(0, "cmd=lookup_name service=svc\n"),
              ElementsAre("say 0: MPI_Lookup_name fails: dtlaunch has no name service",
                          "0: cmd=lookup_result rc=-1 msg=not_supported\n"));
  const std::vector<std::pair<std::string, std::string>> quiet = {
      {"unpublish_name service=svc", "unpublish_result rc=-1 msg=not_supported"},
      {"getbyidx kvsname=s idx=0", "getbyidx_results rc=-1 reason=not_supported"},
      {"create_kvs", "newkvs rc=-1 msg=not_supported"},
      {"destroy_kvs kvsname=s", "kvs_destroyed rc=-1 msg=not_supported"},
      {"get_ranks2hosts", "put_ranks2hosts rc=-1 msg=not_supported"},
      {"barrier_in group=NODE:0", "barrier_out rc=-1 msg=not_supported"}};
  for (const auto& [command, answer] : quiet) {
    EXPECT_THAT(send(0, "cmd=" + command + "\n"), ElementsAre("0: cmd=" + answer + "\n"));
  }
}

TEST_F(Pmi, BreaksOffAtWhatNoClientSends) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"GET / HTTP/1.1\r\n", R"(sent what is not PMI-1: "GET / HTTP/1.1\r")"},
      {"cmd=get_maxes\n", R"(sent a PMI command before init: "cmd=get_maxes")"},
      {kInit + "cmd=do=it\n", R"(sent an unknown PMI command: "cmd=do=it")"},
      {kInit + "cmd=finalize\ncmd=get_appnum\n",
       R"(sent a PMI command after finalize: "cmd=get_appnum")"},
      {kInit + "cmd=barrier_in\ncmd=barrier_in\n",
       R"(entered PMI's barrier twice: "cmd=barrier_in")"},
      {kInit + "cmd=barrier_in\ncmd=finalize\n",
       R"(left PMI's barrier before its end: "cmd=finalize")"}};
  for (const auto& [bytes, text] : faults) {
    PmiServer server = make(1, {{0, 0}, {1, 0}});
    EXPECT_EQ(send(server, 0, bytes + kInit).back(), fmt::format("broken 0: 0 \"{}\"", text));
    EXPECT_THAT(send(server, 0, kInit), IsEmpty());
  }
}

TEST_F(Pmi, QuotesAtMost200PrintableBytes) {
  const auto effects = server_.received(0, 0, std::string(kMaxPmiLine + 1, '\x1b'));
  ASSERT_EQ(effects.size(), 1U);
  const std::string& text = std::get<pmi::News>(effects[0]).news.text;
  EXPECT_THAT(text, HasSubstr(R"(PMI-1: "\x1b\x1b)"));
  EXPECT_LE(text.size(), 230U);
}

TEST_F(Pmi, TakesNothingAfterAnAbort) {
  start_all();
  EXPECT_THAT(send(0, "cmd=abort exitcode=1 message=Fatal error\nin MPI_Send\ncmd=get_maxes\n"),
              ElementsAre("aborted 0: 1 \"Fatal error\""));
  EXPECT_THAT(send(1, "cmd=abort\n"), ElementsAre("aborted 1: 1 \"\""));
}

TEST_F(Pmi, DoesNotServeOtherRanks) {
  EXPECT_TRUE(server_.serves(1));
  EXPECT_FALSE(server_.serves(2));
  EXPECT_THAT(send(2, kInit), IsEmpty());
  EXPECT_THAT(as_texts(server_.ended(2, true)), IsEmpty());
}

}  // namespace
}  // namespace dtl::pmi_server_test
