#include "agent/pmi/pmi2_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/agent/pmi_fixture.h"
#include "wire/field_kinds.h"

namespace dtl::pmi_server_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kInit2 = "cmd=init pmi_version=2 pmi_subversion=0\n";

std::string message(std::string_view name, const PmiAttributes& attributes = {}) {
  return pmi2_message(name, attributes);
}

class Pmi2 : public Pmi {
 protected:
  void SetUp() override {
    for (const std::uint32_t rank : {0u, 1u}) send(rank, kInit2 + message("fullinit"));
  }
};

TEST(Pmi2Message, HasALengthAndDoublesSemicolons) {
  EXPECT_EQ(message("kvs-put", {{"key", "k"}, {"value", "a;b;"}}),
            "    31cmd=kvs-put;key=k;value=a;;b;;;");
  const PmiCommand command = parse_pmi2_message("cmd=kvs-put;key=k;value=a;;b;;;");
  EXPECT_EQ(command.name, "kvs-put");
  EXPECT_EQ(*command.find("value"), "a;b;");
  EXPECT_EQ(*parse_pmi2_message("cmd=x;value=;").find("value"), "");
}

TEST(Pmi2Message, HasNoNameIfItIsMalformed) {
  for (const char* body : {"", "cmd=put", "cmd=put;;", "put;", "key=k;cmd=put;", "cmd=put;key;",
                           "cmd=put;=v;", "cmd=;"}) {
    EXPECT_EQ(parse_pmi2_message(body).name, "") << body;
  }
}

// Slurm's libpmi2, with 2 ranks on a node.
TEST_F(Pmi, ServesPmi2) {
  EXPECT_THAT(send(0, kInit2),
              ElementsAre("0: cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"));
  EXPECT_EQ(server_.phase(0), PmiPhase::kUnused);
  EXPECT_THAT(send(0, message("fullinit", {{"pmirank", "0"}, {"threaded", "FALSE"}})),
              ElementsAre("0: " + message("fullinit-response", {{"pmi-version", "2"},
                                                                {"pmi-subversion", "0"},
                                                                {"rank", "0"},
                                                                {"size", "4"},
                                                                {"appnum", "0"},
                                                                {"debugged", "FALSE"},
                                                                {"pmiverbose", "FALSE"},
                                                                {"rc", "0"}})));
  EXPECT_EQ(server_.phase(0), PmiPhase::kInitialised);
  EXPECT_THAT(
      send(0, message("job-getid")),
      ElementsAre("0: " + message("job-getid-response", {{"jobid", "0123abcd.0"}, {"rc", "0"}})));
  EXPECT_THAT(send(0, message("info-getjobattr", {{"key", "PMI_process_mapping"}})),
              ElementsAre(HasSubstr("found=TRUE;value=(vector,(0,2,2));rc=0;")));
  EXPECT_THAT(send(0, message("info-getjobattr", {{"key", "universeSize"}})),
              ElementsAre(HasSubstr("found=TRUE;value=4;")));
  EXPECT_THAT(send(0, message("info-getjobattr", {{"key", "hasNameServ"}})),
              ElementsAre(HasSubstr("found=FALSE;rc=0;")));
  EXPECT_THAT(send(0, message("finalize")),
              ElementsAre("0: " + message("finalize-response", {{"rc", "0"}})));
  EXPECT_EQ(server_.phase(0), PmiPhase::kFinalised);
}

TEST_F(Pmi2, FencesWithTheThreadThatWaits) {
  EXPECT_THAT(send(0, message("kvs-put", {{"key", "k"}, {"value", "a;b"}})),
              ElementsAre("0: " + message("kvs-put-response", {{"rc", "0"}})));
  EXPECT_THAT(send(0, message("kvs-fence", {{"thrid", "0x7f"}})), IsEmpty());
  EXPECT_THAT(send(1, message("kvs-fence")),
              ElementsAre("0: " + message("kvs-fence-response", {{"thrid", "0x7f"}, {"rc", "0"}}),
                          "1: " + message("kvs-fence-response", {{"rc", "0"}})));
  EXPECT_THAT(send(1, message("kvs-get", {{"jobid", "x"}, {"srcid", "-1"}, {"key", "k"}})),
              ElementsAre(HasSubstr("found=TRUE;value=a;;b;rc=0;")));
  EXPECT_THAT(send(1, message("kvs-get", {{"key", "other"}})),
              ElementsAre(HasSubstr("found=FALSE;")));
}

TEST_F(Pmi2, FencesWithRanksThatSpeakPmi1) {
  PmiServer server = make(2, {{0, 0}, {1, 0}});
  send(server, 0, kInit2 + message("fullinit"));
  send(server, 1, kInit);
  send(server, 0, message("kvs-put", {{"key", "k"}, {"value", "v"}}));
  EXPECT_THAT(send(server, 0, message("kvs-fence")), IsEmpty());
  EXPECT_THAT(send(server, 1, "cmd=barrier_in\n"), ElementsAre("fence k=v"));
  EXPECT_THAT(as_texts(server.fenced({{{"k", "v"}}, false})),
              ElementsAre(HasSubstr("kvs-fence-response"), "1: cmd=barrier_out rc=0\n"));
}

TEST_F(Pmi2, WaitsForAttributesOfTheNode) {
  const std::string ask = message("info-getnodeattr", {{"key", "a"}, {"wait", "TRUE"}});
  EXPECT_THAT(send(1, message("info-getnodeattr", {{"key", "a"}, {"wait", "FALSE"}})),
              ElementsAre(HasSubstr("found=FALSE")));
  EXPECT_THAT(send(1, ask), IsEmpty());
  EXPECT_THAT(send(0, message("info-putnodeattr", {{"key", "b"}, {"value", "2"}})),
              ElementsAre(HasSubstr("info-putnodeattr-response")));
  EXPECT_THAT(
      send(0, message("info-putnodeattr", {{"key", "a"}, {"value", "1"}})),
      ElementsAre(HasSubstr("info-putnodeattr-response"), HasSubstr("found=TRUE;value=1;")));
  EXPECT_THAT(send(1, ask), ElementsAre(HasSubstr("found=TRUE;value=1;")));
}

TEST_F(Pmi2, ForgetsWhatAProgramThatDiedWaitedFor) {
  send(1, message("info-getnodeattr", {{"key", "a"}, {"wait", "TRUE"}}));
  EXPECT_THAT(as_texts(server_.received(1, 5, kInit2)), ElementsAre(HasSubstr("broken 1: ")));
  PmiServer server = make(1, {{0, 0}, {1, 0}});
  server.received(1, 5, kInit2 + message("fullinit"));
  server.received(1, 5, message("info-getnodeattr", {{"key", "a"}, {"wait", "TRUE"}}));
  EXPECT_EQ(server.received(1, 6, kInit2 + message("fullinit")).size(), 2u);
  send(server, 0, kInit2 + message("fullinit"));
  EXPECT_EQ(send(server, 0, message("info-putnodeattr", {{"key", "a"}, {"value", "1"}})).size(),
            1u);
}

TEST_F(Pmi2, ServesAProgramOfPmi1AfterOneOfPmi2) {
  send(0, message("finalize"));
  EXPECT_THAT(send(0, kInit), ElementsAre(kInitAnswer));
  EXPECT_THAT(send(0, "cmd=get_my_kvsname\n"),
              ElementsAre("0: cmd=my_kvsname kvsname=0123abcd.0.2 rc=0\n"));
}

TEST_F(Pmi2, ServesBytesOneByOne) {
  const std::string ask = message("job-getid");
  for (const char& byte : ask.substr(0, ask.size() - 1)) {
    EXPECT_THAT(send(0, std::string(1, byte)), IsEmpty());
  }
  EXPECT_THAT(send(0, ";"), ElementsAre(HasSubstr("jobid=0123abcd.0")));
}

TEST_F(Pmi2, TellsOfAnAbort) {
  EXPECT_THAT(send(0, message("abort", {{"isworld", "TRUE"}, {"msg", "no data"}})),
              ElementsAre("aborted 0: 1 \"no data\""));
  EXPECT_THAT(send(1, message("abort", {{"exitcode", "7"}, {"message", "end"}})),
              ElementsAre("aborted 1: 7 \"end\""));
}

TEST_F(Pmi2, RefusesWhatItDoesNotServeAndSaysSoOnce) {
  EXPECT_THAT(
      send(0, message("spawn", {{"ncmds", "1"}})),
      ElementsAre(HasSubstr("say 0: MPI_Comm_spawn fails"),
                  "0: " + message("spawn-response", {{"rc", "1"}, {"errmsg", "not supported"}})));
  EXPECT_THAT(send(0, message("spawn", {{"ncmds", "1"}})), ElementsAre(HasSubstr("rc=1;")));
  EXPECT_THAT(send(0, message("ring", {{"thrid", "0x7f"}})),
              ElementsAre(HasSubstr("cmd=ring-response;thrid=0x7f;rc=1;")));
}

TEST_F(Pmi2, RefusesKeysAndValuesThatAreTooLong) {
  for (const char* command : {"kvs-put", "info-putnodeattr"}) {
    EXPECT_THAT(
        send(0, message(command, {{"key", std::string(kMaxPmiKeyBytes + 1, 'k')}, {"value", "v"}})),
        ElementsAre(HasSubstr("rc=1;")));
    EXPECT_THAT(send(0, message(command, {{"key", "k"},
                                          {"value", std::string(kMaxPmiValueBytes + 1, 'v')}})),
                ElementsAre(HasSubstr("rc=1;")));
    EXPECT_THAT(send(0, message(command, {{"key", "k"}})), ElementsAre(HasSubstr("rc=1;")));
  }
}

TEST_F(Pmi2, BreaksOffAtNonsense) {
  const std::pair<std::string, std::string> cases[] = {
      {"GET / HTTP/1.1\r\n", "sent what is not PMI-2: \"GET / HTTP"},
      {"999999cmd=x;", "sent what is not PMI-2: \"999999cmd=x;\""},
      {"     7cmd=put", "sent what is not PMI-2: \"cmd=put\""},
      {message("nothing"), "sent an unknown PMI command: \"cmd=nothing;\""},
      {message("kvs-fence") + message("kvs-fence"), "entered PMI's fence twice"},
      {message("kvs-fence") + message("finalize"), "left PMI's fence before its end"},
      {message("finalize") + "cmd=barrier_in\n", "sent a PMI command after finalize"},
  };
  for (const auto& [sent, said] : cases) {
    PmiServer server = make(1, {{0, 0}, {1, 0}});
    send(server, 0, kInit2 + message("fullinit"));
    const auto texts = send(server, 0, sent);
    ASSERT_FALSE(texts.empty());
    EXPECT_THAT(texts.back(), HasSubstr("broken 0: 0 \"" + said)) << sent;
  }
  PmiServer server = make(1, {{0, 0}});
  EXPECT_THAT(send(server, 0, kInit2 + message("job-getid")).back(),
              HasSubstr("sent a PMI command before init"));
}

TEST_F(Pmi2, BreaksOffAtTooManyAttributes) {
  std::vector<std::string> last;
  for (std::size_t i = 0; i <= kMaxPmiNodeAttributes; ++i) {
    last = send(0, message("info-putnodeattr", {{"key", fmt::format("{}", i)}, {"value", "v"}}));
  }
  EXPECT_THAT(last, ElementsAre(HasSubstr("put more than 4096 attributes of a node")));
  for (std::size_t i = 0; i <= kMaxPmiNodeAttributes; ++i) {
    last = send(1, message("info-getnodeattr", {{"key", "x"}, {"wait", "TRUE"}}));
  }
  EXPECT_THAT(last, ElementsAre(HasSubstr("waits for too many attributes")));
}

}  // namespace
}  // namespace dtl::pmi_server_test
