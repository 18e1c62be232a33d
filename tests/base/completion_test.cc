#include "base/options/completion.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace dtl::completion_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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
      {{"--quiet"}, "say less"},
      {{"host"}, "", Follows::kValue, {}, false},
  };
  program.operand.fill = Fill::kCommand;
  CompletedCommand kill{"kill", "end a job", {{{"-s"}, "signal"}}, {Fill::kRunningJob}};
  return {"my-run", true, {program, kill}};
}

TEST(CompletionScript, RefusesOtherShells) {
  EXPECT_THROW(completion_script(sample(), "tcsh"), Error);
}

TEST(CompletionScript, LeavesNothingOfItsTemplateBehind) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(sample(), shell);
    for (const char* name : {"@f@", "@program@", "@names@", "@options@", "@operands@",
                             "@subcommands@", "@commands@", "@anydashes@", "@hosts@", "@jobs@"}) {
      EXPECT_THAT(script, Not(HasSubstr(name))) << shell;
    }
  }
}

TEST(CompletionScript, HasTheTablesForBash) {
  EXPECT_THAT(
      completion_script(sample(), "bash"),
      AllOf(HasSubstr("'') names=(-f --host_file --how --quiet) ;;\n"),
            HasSubstr("'kill') names=(-s) ;;\n"),
            HasSubstr("/f | /host-file) takes=one fill=hostfile ;;\n"),
            HasSubstr("/how) takes=one fill=nothing choice='ssh fork' list=1 ;;\n"),
            HasSubstr("/host) takes=one fill=nothing ;;\n"), HasSubstr("'kill') fill=running ;;\n"),
            HasSubstr("complete -F _my_run my-run\n")));
}

TEST(CompletionScript, QuotesExplanationsForZsh) {
  EXPECT_THAT(completion_script(sample(), "zsh"),
              AllOf(HasSubstr("#compdef my-run\n"), HasSubstr("'-f:it'\\''s where'\n"),
                    HasSubstr("'kill:end a job'"), HasSubstr("compdef _my_run my-run\n")));
}

TEST(CompletionScript, QuotesExplanationsForFish) {
  EXPECT_THAT(
      completion_script(sample(), "fish"),
      AllOf(HasSubstr("-f 'it\\'s where'\n"),
            HasSubstr("case '/how'\n            printf '%s\\n' one nothing list 'ssh' 'fork'"),
            HasSubstr("kill\\t'end a job'"),
            HasSubstr("complete -c my-run -f -a '(__my_run_complete)'\n")));
}

TEST(CompletionScript, CarriesTheSearchForHostsOnlyWhereSomethingTakesThem) {
  Completion completion = sample();
  EXPECT_THAT(completion_script(completion, "bash"), Not(HasSubstr("function hostfile")));
  completion.commands[0].options[0].value.fill = Fill::kHosts;
  EXPECT_THAT(completion_script(completion, "bash"), HasSubstr("function hostfile"));
}

}  // namespace
}  // namespace dtl::completion_test
