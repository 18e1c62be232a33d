#include "base/options/completion.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text.h"

namespace dtl::completion_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(ValueOfColumn, TakesSmallLettersForWords) {
  const CompletedValue value = value_of_column("ssh|fork");
  EXPECT_THAT(value.words, ElementsAre("ssh", "fork"));
  EXPECT_EQ(value.fill, Fill::kNothing);
  EXPECT_FALSE(value.list);
}

TEST(ValueOfColumn, TakesKnownCapitalsForWhatElseThereIs) {
  EXPECT_EQ(value_of_column("FILE").fill, Fill::kFile);
  EXPECT_EQ(value_of_column("DIR").fill, Fill::kFolder);
  EXPECT_EQ(value_of_column("LIST").fill, Fill::kHosts);
  EXPECT_EQ(value_of_column("VARIABLE[=VALUE]").fill, Fill::kVariable);
  EXPECT_EQ(value_of_column("N").fill, Fill::kNothing);
  EXPECT_THAT(value_of_column("SECONDS").words, IsEmpty());
}

TEST(ValueOfColumn, MixesWordsAndFolders) {
  const CompletedValue value = value_of_column("FOLDER|true|false");
  EXPECT_EQ(value.fill, Fill::kFolder);
  EXPECT_THAT(value.words, ElementsAre("true", "false"));
}

TEST(ValueOfColumn, KnowsLists) {
  EXPECT_TRUE(value_of_column("LIST").list);
  EXPECT_TRUE(value_of_column("NET[,NET]").list);
  EXPECT_EQ(value_of_column("NET[,NET]").fill, Fill::kNetworks);
  EXPECT_TRUE(value_of_column("ompi|horovod,..").list);
  EXPECT_THAT(value_of_column("ompi|horovod,..").words, ElementsAre("ompi", "horovod"));
}

TEST(ValueOfColumn, OffersTheBeginningOfAWordThatGoesOn) {
  EXPECT_THAT(value_of_column("core|user:LIST|slot:PE=N").words,
              ElementsAre("core", "user:", "slot:"));
  EXPECT_EQ(value_of_column("core|user:LIST").fill, Fill::kNothing);
}

Completion sample() {
  CompletedCommand program;
  program.options = {
      {{"-f", "--host_file"}, "it's where", Follows::kValue, {Fill::kHostfile}},
      {{"--how"}, "ways", Follows::kValue, {Fill::kNothing, {"ssh", "fork"}, true}},
      {{"--hosts"}, "names", Follows::kValue, {Fill::kHosts, {}, true}},
      {{"--quiet"}, "say less"},
      {{"host"}, "", Follows::kValue, {}, false},
  };
  program.operand.fill = Fill::kCommand;
  CompletedCommand kill{"kill", "end a job", {{{"-s"}, "signal"}}, {Fill::kRunningJob}};
  CompletedCommand next{":", "", {{{"--quietly"}, ""}}, {Fill::kCommand}};
  return {"my-run", true, {program, kill, next}};
}

TEST(CompletionScript, RefusesOtherShells) {
  EXPECT_THROW(completion_script("my-run", "tcsh"), Error);
}

TEST(CompletionScript, RunsTheProgramAndLeavesNothingOfItsTemplateBehind) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script("my-run", shell);
    EXPECT_THAT(script, HasSubstr("my_run")) << shell;
    EXPECT_THAT(script, HasSubstr(" __complete ")) << shell;
    for (const char* name : {"@f@", "@program@", "@complete@"}) {
      EXPECT_THAT(script, Not(HasSubstr(name))) << shell;
    }
  }
}

// Completes the last of these words. Returns "files BEFORE", then the offered words.
std::vector<std::string> offered(const std::vector<std::string>& words) {
  const FindWords find = [](Fill fill, const std::string& hostfile) {
    using Found = std::vector<std::pair<std::string, std::string>>;
    if (fill == Fill::kHosts) return Found{{"alpha", ""}, {"beta", "of " + hostfile}};
    return Found{{"123", fill == Fill::kRunningJob ? "runs" : "kept"}};
  };
  const std::string answer = completion_answer(sample(), words, find);
  EXPECT_TRUE(answer.ends_with('\n'));
  std::vector<std::string> lines = split(answer.substr(0, answer.size() - 1), '\n');
  if (lines[0] == "none\t") lines.erase(lines.begin());
  return lines;
}

TEST(CompletionAnswer, HasTheOptionsThatBeginAsTyped) {
  EXPECT_THAT(offered({"--h"}),
              ElementsAre("--host_file\tit's where", "--how\tways", "--hosts\tnames"));
  EXPECT_THAT(offered({"--quiet", "-"}), SizeIs(5));  // hidden aliases are not offered
}

TEST(CompletionAnswer, SpellsOptionsAsTypedWhereNoneBeginsSo) {
  EXPECT_THAT(offered({"-qui"}), ElementsAre("-quiet\tsay less"));
  EXPECT_THAT(offered({"--HOST-F"}), ElementsAre("--host_file\tit's where"));
}

TEST(CompletionAnswer, GivesAnOptionItsValues) {
  EXPECT_THAT(offered({"--how", "s"}), ElementsAre("ssh\t"));
  EXPECT_THAT(offered({"--how=s"}), ElementsAre("--how=ssh\t"));
  EXPECT_THAT(offered({"--how", "ssh,"}), ElementsAre("ssh,fork\t"));
  EXPECT_THAT(offered({"-f", "x"}), ElementsAre("files\t"));
  EXPECT_THAT(offered({"-f=x"}), ElementsAre("files\t-f="));
  EXPECT_THAT(offered({"--host", "x"}), IsEmpty());
}

TEST(CompletionAnswer, NamesTheHostsOfTheFileOnTheLine) {
  EXPECT_THAT(offered({"-f", "my hosts", "--hosts", "alpha:2,b"}),
              ElementsAre("alpha:2,beta\tof my hosts"));
  EXPECT_THAT(offered({"--hosts=n[01"}), IsEmpty());
}

TEST(CompletionAnswer, LeavesTheLineOfAnotherProgramToItsOwnCompletion) {
  EXPECT_THAT(offered({"--quiet", "./program", "--h"}), ElementsAre("line\t2"));
  EXPECT_THAT(offered({"--", "--program", ""}), ElementsAre("line\t2"));
  EXPECT_THAT(offered({"./program", "a", ":", "--q"}), ElementsAre("--quietly\t"));
}

TEST(CompletionAnswer, KnowsSubcommandsAndWhatTheyTake) {
  EXPECT_THAT(offered({"kill", ""}), ElementsAre("123\truns"));
  EXPECT_THAT(offered({"kill", "123", "-"}), ElementsAre("-s\tsignal"));
  EXPECT_THAT(offered({}), ElementsAre("files\t", "kill\tend a job"));
}

// "--wait", "--wait 600": only a number behind it is its value.
TEST(CompletionAnswer, TakesANumberForTheValueOfAnOptionThatMayHaveOne) {
  CompletedOption wait{{"--wait"}, "in line", Follows::kPerhapsNumber};
  const Completion completion{"p", true, {{"", "", {wait}, {Fill::kCommand}}}};
  const auto answer = [&](const std::vector<std::string>& words) {
    return completion_answer(completion, words);
  };
  EXPECT_EQ(answer({"--wait", "600", "a", ""}), "line\t3\n");
  EXPECT_EQ(answer({"--wait", "a", ""}), "line\t2\n");
  EXPECT_EQ(answer({"--wait=600", "a", ""}), "line\t2\n");
  EXPECT_EQ(answer({"--wait", ""}), "files\t\n");
  EXPECT_EQ(answer({"--wait", "60"}), "none\t\n");
}

}  // namespace
}  // namespace dtl::completion_test
