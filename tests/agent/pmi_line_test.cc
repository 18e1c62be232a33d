#include "agent/pmi/pmi_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl::pmi_line_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// The commands in these bytes, which arrive in pieces of this size.
std::vector<PmiCommand> read(std::string_view bytes, std::size_t piece = 4096) {
  PmiReader reader;
  std::vector<PmiCommand> commands;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(bytes.substr(at, piece));
    while (auto command = reader.next()) commands.push_back(std::move(*command));
  }
  return commands;
}

std::vector<std::string> names(const std::vector<PmiCommand>& commands) {
  std::vector<std::string> names;
  for (const PmiCommand& each : commands) names.push_back(each.name);
  return names;
}

TEST(PmiLine, ReadsNameAndAttributes) {
  const PmiCommand command = parse_pmi_line("cmd=init pmi_version=1 pmi_subversion=1");
  EXPECT_EQ(command.name, "init");
  EXPECT_THAT(command.attributes,
              ElementsAre(Pair("pmi_version", "1"), Pair("pmi_subversion", "1")));
}

TEST(PmiLine, TakesAnySpacesBetweenAttributes) {
  const PmiCommand command = parse_pmi_line("cmd=get   key=a  kvsname=s  ");
  EXPECT_EQ(command.name, "get");
  EXPECT_THAT(command.attributes, ElementsAre(Pair("key", "a"), Pair("kvsname", "s")));
}

TEST(PmiLine, TakesTheRestOfTheLineAsValue) {
  const PmiCommand command = parse_pmi_line("cmd=put kvsname=s key=k value=a b=c  \\ \xff ");
  EXPECT_EQ(*command.find("value"), "a b=c  \\ \xff ");
  EXPECT_EQ(parse_pmi_line("cmd=put key=k value=").attributes.size(), 2U);
}

TEST(PmiLine, TakesTheRestOfTheLineAsMessage) {
  const PmiCommand command = parse_pmi_line("cmd=abort exitcode=-1 message=PMI_Init failed");
  EXPECT_EQ(*command.find("message"), "PMI_Init failed");
  EXPECT_EQ(*command.find("exitcode"), "-1");
}

TEST(PmiLine, TakesWordsWithoutValue) {
  EXPECT_THAT(parse_pmi_line("cmd=x flag").attributes, ElementsAre(Pair("flag", "")));
  EXPECT_THAT(parse_pmi_line("cmd=x value").attributes, ElementsAre(Pair("value", "")));
}

TEST(PmiLine, RefusesWhatHasNoCommandOrNoKey) {
  for (const char* line :
       {"", "hello", "cmd=", "cmd= x=1", "key=a cmd=get", "cmd=get =a", "mcmd=other", " cmd=get"}) {
    EXPECT_EQ(parse_pmi_line(line).name, "") << line;
    EXPECT_EQ(parse_pmi_line(line).line, line);
  }
}

TEST(PmiReader, ReadsCommandsHoweverTheyAreCut) {
  const std::string bytes = "cmd=get_maxes\ncmd=put key=k value=a b\ncmd=barrier_in\n";
  for (const std::size_t piece : {1, 2, 7, 100}) {
    EXPECT_THAT(names(read(bytes, piece)), ElementsAre("get_maxes", "put", "barrier_in")) << piece;
  }
  EXPECT_TRUE(read("cmd=get_maxes").empty());
}

TEST(PmiReader, ReadsSpawnAsOneCommand) {
  const std::string spawn =
      "mcmd=spawn\nnprocs=1\nexecname=/bin/"
      "true\ntotspawns=1\nspawnssofar=1\narg1=endcmd\nargcnt=1\n"
      "preput_num=0\ninfo_num=0\nendcmd\n";
  for (const std::size_t piece : {1, 100, 1000}) {
    EXPECT_THAT(names(read(spawn + "cmd=finalize\n", piece)), ElementsAre("spawn", "finalize"));
  }
}

TEST(PmiReader, ReadsSpawnOfSeveralProgramsAsOneCommand) {
  const std::string spawns =
      "mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\nendcmd\n"
      "mcmd=spawn\nnprocs=1\nexecname=b\ntotspawns=2\nspawnssofar=2\nendcmd\n";
  EXPECT_THAT(names(read(spawns + "cmd=finalize\n")), ElementsAre("spawn", "finalize"));
}

TEST(PmiReader, RefusesALineOfMoreThan16KiB) {
  const std::string start = "cmd=put key=k value=";
  const std::string longest = start + std::string(kMaxPmiLine - start.size(), 'x');
  EXPECT_THAT(names(read(longest + "\n")), ElementsAre("put"));
  EXPECT_THAT(names(read(longest + "x\n", 1 << 20)), ElementsAre(""));
  EXPECT_THAT(names(read("mcmd=spawn\n" + longest + "x\n", 1 << 20)), ElementsAre(""));
}

TEST(PmiReader, RefusesALineWithoutEndBeforeItEnds) {
  PmiReader reader;
  reader.feed(std::string(kMaxPmiLine, 'x'));
  EXPECT_FALSE(reader.next());
  reader.feed("x");
  const auto command = reader.next();
  ASSERT_TRUE(command);
  EXPECT_EQ(command->name, "");
}

}  // namespace
}  // namespace dtl::pmi_line_test
