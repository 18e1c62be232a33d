#include "launcher/options/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "launcher/options/subcommands.h"

namespace dtl::command_line_test {
namespace {

using Words = std::vector<std::string>;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;

std::string refusal(const Words& words) {
  try {
    parse_command_line(words);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(Cli, TakesEverySpellingOfAnOption) {
  for (const Words& words : {Words{"-np", "4"}, Words{"--np", "4"}, Words{"-np=4"}, Words{"--np=4"},
                             Words{"-n", "4"}, Words{"-NP", "4"}}) {
    EXPECT_EQ(parse_command_line(words).placement.ranks, 4) << words[0];
  }
}

TEST(Cli, LeavesTheProgramAndItsArgumentsUntouched) {
  const CommandLine line = parse_command_line({"-l", "prog", "-np", "7", "--help", "-x=1"});
  EXPECT_TRUE(line.shown.prepend_rank);
  EXPECT_EQ(line.placement.ranks, std::nullopt);
  EXPECT_THAT(line.programs[0].command, ElementsAre("prog", "-np", "7", "--help", "-x=1"));
}

TEST(Cli, EndsItsOptionsAtTwoDashes) {
  EXPECT_THAT(parse_command_line({"-np", "2", "--", "-odd-name", "--"}).programs[0].command,
              ElementsAre("-odd-name", "--"));
}

TEST(Cli, TakesVariablesAsTwoWordsOrOne) {
  const CommandLine line = parse_command_line(
      {"-genv", "A", "-1", "-env", "B=x=y", "-genv=C=", "--env=D", "two words,and a comma"});
  EXPECT_THAT(line.environment.set, ElementsAre(Pair("A", "-1"), Pair("C", "")));
  EXPECT_THAT(line.programs[0].set,
              ElementsAre(Pair("B", "x=y"), Pair("D", "two words,and a comma")));
}

TEST(Cli, ReadsAnMpirunLine) {
  const CommandLine line = parse_command_line(
      {"-machinefile", "hosts", "-n", "8", "-perhost", "4", "-prepend-rank", "-wdir", "/tmp", "a"});
  EXPECT_EQ(line.hostfile, "hosts");
  EXPECT_EQ(line.placement.ranks, 8);
  EXPECT_EQ(line.placement.ranks_per_node, 4);
  EXPECT_TRUE(line.shown.prepend_rank);
  EXPECT_EQ(line.programs[0].working_directory, "/tmp");
}

TEST(Cli, PartsProgramsAtColons) {
  const CommandLine line = parse_command_line(
      {"-f", "hosts", "-genv", "A", "1",     "-n",   "2", "-env", "B", "2",  "a",
       "-x", ":",     "-n",    "3", "-wdir", "/tmp", "b", ":",    "c", "-n", "9"});
  EXPECT_EQ(line.placement.ranks, 6);  // 2 + 3 + 1
  EXPECT_THAT(line.environment.set, ElementsAre(Pair("A", "1")));
  ASSERT_EQ(line.programs.size(), 3u);
  EXPECT_THAT(line.programs[0].command, ElementsAre("a", "-x"));
  EXPECT_THAT(line.programs[0].set, ElementsAre(Pair("B", "2")));
  EXPECT_EQ(line.programs[1].ranks, 3);
  EXPECT_EQ(line.programs[1].working_directory, "/tmp");
  EXPECT_TRUE(line.programs[1].set.empty());
  EXPECT_THAT(line.programs[2].command, ElementsAre("c", "-n", "9"));
}

TEST(Cli, RefusesColonsWithoutProgramsAndLateOptions) {
  EXPECT_THAT(refusal({"a", ":"}), HasSubstr(":: a program is missing after it"));
  EXPECT_THAT(refusal({"-n", "2", ":", "b"}), HasSubstr("a program is missing before it"));
  EXPECT_THAT(refusal({"a", ":", "-f", "hosts", "b"}),
              HasSubstr("Try: dtlaunch -f hosts ..., before the first program"));
  EXPECT_THAT(refusal({"a", ":", "-configfile", "jobs", "b"}),
              HasSubstr("Try: -configfile jobs without a program"));
}

std::string file_refusal(const std::string& text) {
  try {
    CommandLine line = parse_command_line({"-configfile", "jobs"});
    add_program_file(line, text, "jobs");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "accepted";
}

TEST(Cli, ReadsProgramsFromAFile) {
  CommandLine line = parse_command_line({"-configfile", "jobs", "-f", "hosts"});
  add_program_file(line,
                   "# two kinds\n\n-n 2 -env A 1 \\\n  python3 'my script.py' \"a \\\"b\\\"\"\r\n"
                   "-n 1 c\\ d # e : f\n",
                   "jobs");
  EXPECT_EQ(line.placement.ranks, 4);
  ASSERT_EQ(line.programs.size(), 3u);
  EXPECT_THAT(line.programs[0].command, ElementsAre("python3", "my script.py", "a \"b\""));
  EXPECT_THAT(line.programs[1].command, ElementsAre("c d", "#", "e"));
  EXPECT_THAT(line.programs[2].command, ElementsAre("f"));
}

TEST(Cli, NamesTheLineOfABadProgramFile) {
  EXPECT_THAT(file_refusal("# nothing\n"), HasSubstr("jobs:1: the file names no program"));
  EXPECT_THAT(file_refusal("\n-n 1 'a\n"), HasSubstr("jobs:2: the quote ' is not closed"));
  EXPECT_THAT(file_refusal("a\n-n x b\n"), HasSubstr("jobs:2"));
  EXPECT_THAT(file_refusal("a\n-f hosts b\n"),
              HasSubstr("jobs:2: -f hosts: it is for the whole job"));
}

TEST(Cli, ReadsWhoseVariablesRanksGet) {
  EXPECT_THAT(parse_command_line({"--compat", "ompi,Horovod", "p"}).environment.compat,
              ElementsAre(Dialect::kOpenMpi, Dialect::kHorovod));
  EXPECT_EQ(refusal({"--compat", "openmp", "p"}),
            "--compat openmp: unknown launcher 'openmp'. Try: --compat openmpi");
}

TEST(Cli, ReadsTimesInSeconds) {
  using std::chrono::milliseconds;
  const CommandLine line = parse_command_line({"--timeout", "1.5", "--grace=0"});
  EXPECT_EQ(line.ending.timeout, milliseconds(1500));
  EXPECT_EQ(line.ending.grace, milliseconds(0));
  EXPECT_EQ(parse_command_line({}).ending.grace, std::nullopt);
}

TEST(Cli, CountsVerbosity) {
  EXPECT_EQ(parse_command_line({"-v"}).verbosity, 1);
  EXPECT_EQ(parse_command_line({"-vv"}).verbosity, 2);
  EXPECT_EQ(parse_command_line({"-v", "--verbose"}).verbosity, 2);
}

TEST(Cli, AnswersHelpVersionAndLimits) {
  EXPECT_EQ(parse_command_line({"--help"}).action, Action::kHelp);
  EXPECT_EQ(parse_command_line({"-h"}).action, Action::kHelp);
  EXPECT_EQ(parse_command_line({"-version"}).action, Action::kVersion);
  EXPECT_EQ(parse_command_line({"--show-limits"}).action, Action::kShowLimits);
  EXPECT_EQ(parse_command_line({"--names"}).action, Action::kNames);
}

TEST(Cli, ReadsHowWideATreeIs) {
  const auto width = [](std::vector<std::string> words) {
    words.push_back("p");
    return parse_command_line(words).starting.tree;
  };
  EXPECT_FALSE(width({}));
  EXPECT_EQ(width({"--tree"}), 32);
  EXPECT_EQ(width({"--tree", "8"}), 8);
  EXPECT_EQ(width({"--tree=0"}), 0);
  for (const std::string wrong : {"1", "257", "-3", "x"}) {
    EXPECT_EQ(refusal({"--tree=" + wrong, "p"}),
              "--tree=" + wrong + ": not a width (0, or 2 to 256). Try: dtlaunch help hosts");
  }
}

TEST(Cli, TellsAnOptionWhoseNumberMayBeMistyped) {
  const auto missing = [](const Words& words) { return parse_command_line(words).number_missing; };
  EXPECT_EQ(missing({"--tree", "x"}), "--tree");
  EXPECT_EQ(missing({"-np", "2", "--wait", "soon"}), "--wait");
  EXPECT_EQ(missing({"--tree", "8", "x"}) + missing({"--tree", "-np", "2", "x"}), "");
  EXPECT_EQ(
      missing_number_text("--tree", "x y"),
      "--tree 'x y': this word is not a number, so it is the program, and it is not a program "
      "here. Try: --tree=NUMBER PROGRAM, or --tree -- 'x y' if it is a program of the hosts");
}

TEST(Cli, TakesNoOptionForAValue) {
  EXPECT_EQ(refusal({"--venv", "-np", "2", "a"}),
            "--venv: needs auto|DIR, and -np is an option. Try: --venv auto -np");
  EXPECT_EQ(parse_command_line({"--report", "-", "a"}).reporting.report, "-");
}

TEST(Cli, SuggestsTheNearestName) {
  EXPECT_EQ(refusal({"-hostfil", "x"}), "-hostfil: unknown option. Try: -hostfile");
  EXPECT_EQ(refusal({"--dryrun"}), "--dryrun: unknown option. Try: --dry-run");
  EXPECT_EQ(refusal({"--zzzzzz"}), "--zzzzzz: unknown option. Try: dtlaunch --help");
  EXPECT_EQ(refusal({"--hlep"}), "--hlep: unknown option. Try: dtlaunch --help");
}

TEST(Cli, TakesNumbersThatFollowAnOptionWithoutABlank) {
  const CommandLine line = parse_command_line({"-n4", "-ppn2", "-grr1", "a", "-n3"});
  EXPECT_EQ(line.placement.ranks, 4);
  EXPECT_EQ(line.placement.ranks_per_node, 2);
  EXPECT_EQ(line.placement.deal, 1);
  EXPECT_THAT(line.programs[0].command, ElementsAre("a", "-n3"));
  EXPECT_EQ(parse_command_line({"-n2:4", "a"}).placement.rank_range->most, 4);
  EXPECT_EQ(parse_command_line({"-c4", "a"}).placement.ranks, 4);
  EXPECT_EQ(parse_command_line({"-t3", "a"}).notes.size(), 1U);
  EXPECT_EQ(parse_command_line({"-psm2", "a"}).notes.size(), 1U);
  EXPECT_THAT(refusal({"-r3", "a"}), HasSubstr("-r3: output is kept or shown"));
  EXPECT_EQ(refusal({"-fhosts", "a"}), "-fhosts: unknown option. Try: -hosts, or -f hosts");
  EXPECT_EQ(refusal({"-Hn1,n2", "a"}), "-Hn1,n2: unknown option. Try: -H n1,n2");
  EXPECT_EQ(refusal({"-zz4", "a"}), "-zz4: unknown option. Try: dtlaunch --help");
}

TEST(Cli, TakesNoOptionForAForgottenValue) {
  EXPECT_EQ(refusal({"--report", "--dry-run", "a"}),
            "--report: needs FILE, and --dry-run is an option. Try: "
            "--report FILE --dry-run");
  EXPECT_THAT(refusal({"-hosts", "--np=2", "a"}), HasSubstr("and --np=2 is an option"));
  EXPECT_EQ(parse_command_line({"--report=--dry-run", "a"}).reporting.report, "--dry-run");
  EXPECT_EQ(parse_command_line({"--report", "--mine", "a"}).reporting.report, "--mine");
  // A variable's value may be any text, even one that looks like an option.
  EXPECT_EQ(parse_command_line({"-genv", "A", "--verbose", "a"}).environment.set[0].second,
            "--verbose");
}

TEST(Cli, RefusesWhatItCannotMean) {
  EXPECT_EQ(refusal({"-n", "0", "a"}), "-n 0: too small (1 to 65535). Try: dtlaunch --help");
  EXPECT_EQ(refusal({"--nproc-per-node", "gpu", "a"}),
            "--nproc-per-node gpu: dtlaunch runs jobs on CPUs. Try: --nproc-per-node N, or "
            "--nproc-per-node auto for a rank on each core");
  EXPECT_THAT(refusal({"-np", "0", "a"}), HasSubstr("-np 0: too small (1 to 65535)"));
  EXPECT_THAT(refusal({"-np", "four", "a"}), HasSubstr("-np four: "));
  EXPECT_THAT(refusal({"-np"}), HasSubstr("-np: needs N"));
  EXPECT_THAT(refusal({"-genv", "A"}), HasSubstr("needs a value for A"));
  EXPECT_THAT(refusal({"-genv", "=b"}), HasSubstr("'' is not the name of a variable"));
  EXPECT_THAT(refusal({"-genv", "not-a-pair", "x"}), HasSubstr("'not-a-pair' is not the name"));
  EXPECT_THAT(refusal({"-np", "2", "-n", "3"}), HasSubstr("-n 3: given twice (first as -np 2)"));
  EXPECT_THAT(refusal({"-f", "a", "-hosts", "b"}), HasSubstr("-f a: -hosts names hosts as well"));
  EXPECT_THAT(refusal({"--dry-run=yes"}), HasSubstr("takes no value"));
  EXPECT_THAT(refusal({"-f", ""}), HasSubstr("the value is empty"));
  EXPECT_THAT(refusal({"--timeout", "0"}),
              HasSubstr("--timeout 0: too small (0.001 to 31622400 seconds)"));
  EXPECT_THAT(refusal({"--grace", "soon"}), HasSubstr("--grace soon: not a number of seconds"));
  EXPECT_EQ(refusal({"--timeout", "5m"}),
            "--timeout 5m: not a number of seconds. Try: --timeout 300");
  EXPECT_EQ(refusal({"--grace", "1.5h"}),
            "--grace 1.5h: not a number of seconds. Try: --grace 5400");
  EXPECT_EQ(refusal({"-np", "4:2"}), "-np 4:2: the range begins above its end. Try: -np 2:4");
  EXPECT_EQ(refusal({"--port-range", "20099-20000"}),
            "--port-range 20099-20000: the range begins above its end. "
            "Try: --port-range 20000:20099");
}

TEST(Cli, TellsAProgramThatBecameTheValueOfAVariable) {
  const auto taken = [](const Words& words) {
    const auto error = parse_command_line(words, {{"HYDRA_DEBUG", "1"}}).program_taken;
    return error ? std::string(error->what()) : "none";
  };
  EXPECT_EQ(taken({"-np", "2", "-genv", "FOO", "hostname"}),
            "-genv FOO hostname: hostname is the value of FOO, and a program does not follow. "
            "Try: dtlaunch -np 2 -genv FOO=VALUE hostname");
  EXPECT_THAT(taken({"-env", "FOO", "my prog"}),
              EndsWith("Try: dtlaunch -env FOO=VALUE 'my prog'"));
  // The value of a secret is not shown, whatever it is.
  EXPECT_EQ(taken({"-genv", "HF_TOKEN", "abc"}),
            "-genv: the last word is the value of HF_TOKEN, and a program does not follow. "
            "Try: dtlaunch -genv HF_TOKEN=VALUE PROGRAM");
  EXPECT_EQ(taken({"-genv", "FOO=hostname"}), "none");
  EXPECT_EQ(taken({"-genv", "FOO", "1", "hostname"}), "none");
  EXPECT_EQ(taken({"-genv", "FOO", "1", "-m", "train"}), "none");
  EXPECT_THAT(refusal({"a", ":", "-env", "FOO", "b"}), HasSubstr("b is the value of FOO"));
}

TEST(Cli, NamesTheHelpThatHasTheOption) {
  EXPECT_THAT(refusal({"--grace", "-1", "a"}), EndsWith("Try: dtlaunch help ending"));
  EXPECT_THAT(refusal({"--report"}), EndsWith("--report: needs FILE. Try: dtlaunch help output"));
  EXPECT_THAT(refusal({"-ppn", "0", "a"}), EndsWith("Try: dtlaunch --help"));
}

TEST(Cli, HintsOfWordsAreWordsThatWork) {
  EXPECT_THAT(refusal({"--engine", "tcp", "a"}),
              AllOf(HasSubstr("--engine tcp: the option is called --scheduler, and tcp is not a "
                              "scheduler that dtlaunch knows ("),
                    EndsWith("Try: dtlaunch help hosts")));
  EXPECT_THAT(refusal({"--engine=slrum", "a"}), EndsWith("Try: --scheduler slurm"));
  EXPECT_THAT(refusal({"--engine", "slurm", "a"}),
              EndsWith("the option is called --scheduler. Try: --scheduler slurm"));
  EXPECT_THAT(refusal({"-launcher", "frok", "a"}), EndsWith("Try: -launcher fork"));
  EXPECT_THAT(refusal({"-launcher", "slurm", "a"}), EndsWith("Try: -launcher srun"));
  EXPECT_THAT(refusal({"--notice-signal", "KILL", "a"}), EndsWith("Try: --notice-signal USR1"));
}

TEST(Cli, ATagNamesAJobOnce) {
  const CommandLine line = parse_command_line({"--tag", "b,a", "--tag=b", "--tag", "run=7", "p"});
  EXPECT_EQ(line.reporting.tags, (Words{"b", "a", "run=7"}));
  for (const std::string text : {"two words", "a\"b", "-9", "=a", "\x1b[31m", "\xc3\xa4"}) {
    EXPECT_THAT(refusal({"--tag", text, "p"}), HasSubstr("is not a tag (letters, digits")) << text;
  }
  EXPECT_EQ(refusal({"--tag", "\x1b[31m", "p"}).find('\x1b'), std::string::npos);
  EXPECT_THAT(refusal({"--tag", "a,", "p"}),
              HasSubstr("a name is missing before or after a comma"));
  EXPECT_THAT(refusal({"--tag", std::string(65, 'a'), "p"}),
              HasSubstr("has 65 characters; a tag has up to 64. Try: --tag nightly,run=7"));
  Words many = {"p"};
  for (int i = 0; i <= 32; ++i) many.insert(many.begin(), "--tag=" + std::to_string(i));
  EXPECT_THAT(refusal(many), HasSubstr("a job has up to 32 tags"));
}

}  // namespace
}  // namespace dtl::command_line_test
