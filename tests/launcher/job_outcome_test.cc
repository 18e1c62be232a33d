#include "launcher/job/job_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/text.h"

#include "plan/schedulers/evidence.h"
#include "plan/schedulers/kubernetes.h"
#include "plan/schedulers/slurm.h"

namespace dtl::job_outcome_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Outcome rank_outcome(Cause cause, int rank) {
  Outcome outcome;
  outcome.cause = cause;
  outcome.rank = rank;
  outcome.node = 1;
  return outcome;
}

TEST(FailureCard, KnowsHowGlooEndsWhenPythonEndsFirst) {
  Outcome outcome = rank_outcome(Cause::kRankSignal, 1);
  outcome.signal = SIGABRT;
  CardFacts facts;
  facts.last_lines = {"loss 0.1", "terminate called without an active exception"};
  EXPECT_THAT(failure_card(outcome, facts, 80),
              HasSubstr("  try      time.sleep(1) at the script's end"));
  facts.last_lines = {"terminate called after throwing an instance of 'std::bad_alloc'"};
  EXPECT_THAT(failure_card(outcome, facts, 80), Not(HasSubstr("time.sleep")));
}

TEST(FailureCard, NamesTheVariableThatImportsDtring) {
  Outcome outcome = rank_outcome(Cause::kRankExit, 1);
  outcome.exit_status = 2;
  const std::string step = "\n  try      -genv DTRING_AUTOLOAD 1  #";
  for (const char* line :
       {"run_glue.py: error: argument --ddp_backend: invalid choice: 'dtring' (choose from 'nccl')",
        "run_glue.py: error: argument --ddp_backend: invalid choice: 'ccl' (choose from 'nccl')",
        "AssertionError: Unknown backend type ccl", "ValueError: Invalid backend: 'dtring'",
        "RuntimeError: Unknown c10d backend type DTRING",
        "ValueError: Your assigned backend ccl is not available, please use "}) {
    CardFacts facts;
    facts.last_lines = {line, "another line"};
    EXPECT_THAT(failure_card(outcome, facts, 80), HasSubstr(step)) << line;
    facts.last_lines = {};
    facts.traceback = {line};
    EXPECT_THAT(failure_card(outcome, facts, 80), HasSubstr(step)) << line;
  }
  CardFacts facts;
  facts.last_lines = {
      "train.py: error: argument --mode: invalid choice: 'dtringx' (choose from 'a')"};
  EXPECT_THAT(failure_card(outcome, facts, 80), Not(HasSubstr("DTRING_AUTOLOAD")));
}

TEST(FailureCard, PutsTheFirstCauseFirstAndFoldsTheOthers) {
  Outcome outcome = rank_outcome(Cause::kRankExit, 3);
  outcome.exit_status = 3;
  CardFacts facts;
  facts.host = "node02";
  facts.pid = 4242;
  facts.program = "./train";
  facts.last_lines = {"Traceback:", "ValueError: x"};
  facts.stopped = {0, 1, 2, 5};
  EXPECT_EQ(failure_card(outcome, facts, 80),
            "rank 3 on node02 exited with status 3\n"
            "  process  4242 (./train)\n"
            "  stderr   | Traceback:\n"
            "           | ValueError: x\n"
            "  others   ranks 0-2,5 ended by dtlaunch");
}

TEST(FailureCard, GivesEachFateOfTheOthersALineWhenOneIsTooShort) {
  Outcome outcome = rank_outcome(Cause::kRankExit, 7);
  outcome.exit_status = 1;
  CardFacts facts;
  facts.host = "node02";
  facts.stopped = {2, 3, 4, 5, 6};
  facts.disconnected = {0, 1};
  EXPECT_EQ(failure_card(outcome, facts, 80),
            "rank 7 on node02 exited with status 1\n"
            "  others   ranks 2-6 ended by dtlaunch\n"
            "           ranks 0-1 lost their connection because of rank 7");
  facts.itself_disconnected = true;
  EXPECT_EQ(failure_card(outcome, facts, 80),
            "rank 7 on node02 exited with status 1\n"
            "  others   ranks 2-6 ended by dtlaunch; ranks 0-1 lost their connection, too");
}

TEST(FailureCard, NamesTheSignal) {
  Outcome outcome = rank_outcome(Cause::kRankSignal, 0);
  outcome.signal = SIGSEGV;
  CardFacts facts;
  facts.host = "node01";
  EXPECT_THAT(failure_card(outcome, facts, 80),
              StartsWith("rank 0 on node01 was killed by SIGSEGV"));
}

TEST(FailureCard, SaysHowToLookForAMissingProgram) {
  Outcome outcome = rank_outcome(Cause::kSpawn, 0);
  outcome.stage = "exec";
  outcome.error_number = ENOENT;
  CardFacts facts;
  facts.host = "node01";
  facts.program = "trian";
  const std::string card = failure_card(outcome, facts, 80);
  EXPECT_THAT(card, HasSubstr("rank 0 on node01: cannot run 'trian': not found on PATH\n"));
  EXPECT_THAT(card, HasSubstr("try      ssh node01 'echo $PATH'"));
  facts.near_program = "train";
  const std::string near = failure_card(outcome, facts, 80);
  EXPECT_THAT(near, HasSubstr("cannot run 'trian': not found on PATH; train is there\n"));
  EXPECT_THAT(near, HasSubstr("try      ssh node01 command -v train"));
}

TEST(FailureCard, SaysThatAnImageLacksTheProgram) {
  Outcome outcome = rank_outcome(Cause::kSpawn, 0);
  outcome.stage = "exec";
  outcome.error_number = ENOENT;
  outcome.text = "it is not in the container";
  EXPECT_THAT(failure_card(outcome, {}, 80), Not(HasSubstr("\n  try ")));
}

std::string step_of(const Outcome& outcome, const CardFacts& facts) {
  const std::string card = failure_card(outcome, facts, 40);
  const std::size_t at = card.find("\n  try      ");
  return at == std::string::npos ? "" : card.substr(at + 12);
}

TEST(FailureCard, LooksForAProgramWhereTheRankDid) {
  Outcome outcome = rank_outcome(Cause::kSpawn, 0);
  outcome.stage = "exec";
  outcome.error_number = EACCES;
  CardFacts facts;
  facts.host = "node01";
  facts.reached.port = 2222;
  facts.reached.user = "ann";
  facts.reached.address = "10.0.0.1";
  facts.working_directory = "/data/my run";
  facts.program = "./train.sh";
  EXPECT_EQ(step_of(outcome, facts),
            "ssh -p 2222 -l ann -o HostName=10.0.0.1 node01 "
            "'namei -l '\\''/data/my run/./train.sh'\\'''");
  facts.host = "localhost";
  EXPECT_EQ(step_of(outcome, facts), "namei -l '/data/my run/./train.sh'");
  outcome.stage = "interpreter";
  outcome.error_number = ENOENT;
  EXPECT_EQ(step_of(outcome, facts), "head -n 1 '/data/my run/./train.sh' | cat -v");
  EXPECT_EQ(spawn_status("interpreter", ENOENT), 127);
  outcome.text = "its interpreter '/usr/bin/perl6' does not exist";
  EXPECT_THAT(failure_card(outcome, facts, 80),
              HasSubstr("cannot run './train.sh': " + outcome.text));
  EXPECT_THAT(failure_card(outcome, facts, 80), Not(HasSubstr("try")));
}

TEST(FailureCard, MendsFirstLinesThatWindowsHasWritten) {
  Outcome outcome = rank_outcome(Cause::kSpawn, 0);
  outcome.stage = "carriage-return";
  CardFacts facts;
  facts.host = "localhost";
  facts.working_directory = "/data";
  facts.program = "./train.sh";
  EXPECT_EQ(step_of(outcome, facts), "sed -i 's/\\r$//' /data/./train.sh");
  EXPECT_EQ(spawn_status("carriage-return", ENOENT), 127);
  outcome.stage = "byte-order-mark";
  EXPECT_EQ(step_of(outcome, facts), "sed -i '1s/^\\xef\\xbb\\xbf//' /data/./train.sh");
  EXPECT_EQ(spawn_status("byte-order-mark", ENOEXEC), 126);
  outcome = rank_outcome(Cause::kRankExit, 0);
  outcome.exit_status = 127;
  facts.last_lines = {"/usr/bin/env: 'python3\\r': No such file or directory"};
  EXPECT_EQ(step_of(outcome, facts), "sed -i 's/\\r$//' /data/./train.sh");
  facts.last_lines = {"train.sh: line 2: $'\\r': command not found"};
  EXPECT_THAT(failure_card(outcome, facts, 80), Not(HasSubstr("sed")));
}

TEST(FailureCard, SuggestsTheKernelsLogAfterTheDeathOfADaemon) {
  CardFacts facts;
  facts.host = "n2";
  Outcome outcome;
  outcome.cause = Cause::kAgentFailed;
  outcome.text = "dtpmix was killed by SIGKILL";
  EXPECT_EQ(step_of(outcome, facts), "ssh n2 'dmesg | grep -i killed'");
  outcome.text = "exit status 71: dtagent was ended by signal 9; 0 processes ...";
  EXPECT_EQ(step_of(outcome, facts), "ssh n2 'dmesg | grep -i killed'");
  outcome.text = "dtpmix (process 7) is stopped (state T)";
  EXPECT_EQ(step_of(outcome, facts), "ssh n2 uptime");
}

// Each kind of loss, by what started our agents: users may not be able to log in.
TEST(FailureCard, SuggestsWhatTheSchedulerHasWhereItHasBroughtAgents) {
  CardFacts facts;
  facts.host = "n2";
  facts.program = "./train.sh";
  facts.working_directory = "/data";
  facts.reached.access.job = "42";
  Outcome lost, agent, killed = rank_outcome(Cause::kRankSignal, 3),
                       program = rank_outcome(Cause::kSpawn, 0);
  lost.cause = Cause::kNodeLost;
  agent.cause = Cause::kAgentFailed;
  killed.signal = SIGKILL;
  program.stage = "exec";
  program.error_number = EACCES;
  const auto steps = [&](const Scheduler* scheduler) {
    SchedulerEvidence evidence;
    evidence.scheduler = scheduler;
    const std::string job = facts.reached.access.job;
    facts.reached.access = host_access(evidence);
    facts.reached.access.job = job;
    std::vector<std::string> all;
    for (const Outcome& outcome : {lost, agent, killed, program}) {
      all.push_back(step_of(outcome, facts));
    }
    return all;
  };
  EXPECT_THAT(steps(nullptr), testing::ElementsAre("ssh n2 uptime", "ssh n2 uptime",
                                                   "ssh n2 'dmesg | grep -i killed'",
                                                   "ssh n2 namei -l /data/./train.sh"));
  EXPECT_THAT(steps(&kSlurm),
              testing::ElementsAre("scontrol show node n2", "sacct -j 42", "sacct -j 42",
                                   "srun --overlap -N 1 -n 1 -w n2 sh -c "
                                   "'namei -l /data/./train.sh'"));
  EXPECT_THAT(steps(&kIndexedJob), testing::Each("kubectl describe pod n2"));
  facts.host = "w-0.dtl.ns1.svc";
  EXPECT_THAT(
      steps(&kMpiJob),
      testing::ElementsAre("kubectl -n ns1 describe pod w-0", "kubectl -n ns1 describe pod w-0",
                           "kubectl -n ns1 describe pod w-0",
                           "kubectl -n ns1 exec w-0 -- sh -c 'namei -l /data/./train.sh'"));
}

TEST(FailureCard, RunsNothingOfWhatItQuotes) {
  Outcome outcome = rank_outcome(Cause::kSpawn, 0);
  outcome.stage = "exec";
  outcome.error_number = ENOENT;
  CardFacts facts;
  facts.host = "localhost";
  facts.program = facts.near_program = "$(touch x)'";
  EXPECT_EQ(step_of(outcome, facts), "command -v '$(touch x)'\\'''");
}

TEST(FailureCard, NamesLimits) {
  Outcome outcome = rank_outcome(Cause::kSpawn, 0);
  CardFacts facts;
  facts.host = "node01";
  outcome.stage = "files";
  outcome.error_number = EMFILE;
  EXPECT_EQ(step_of(outcome, facts), "ssh node01 ulimit -Hn");
  outcome.stage = "fork";
  outcome.error_number = EAGAIN;
  EXPECT_EQ(step_of(outcome, facts), "ssh node01 'ulimit -u; ps -eLf | wc -l'");
}

TEST(FailureCard, SpeaksOfCoreFilesWhereOneWouldBeLeft) {
  Outcome outcome = rank_outcome(Cause::kRankSignal, 0);
  CardFacts facts;
  facts.host = "node01";
  outcome.signal = SIGSEGV;
  EXPECT_THAT(step_of(outcome, facts), StartsWith("ulimit -c unlimited"));
  outcome.signal = SIGTERM;
  EXPECT_EQ(step_of(outcome, facts), "");
}

TEST(FailureCard, NamesAProcessThatARankLostForWantOfMemory) {
  Outcome outcome = rank_outcome(Cause::kRankExit, 2);
  outcome.exit_status = 1;
  CardFacts facts;
  facts.host = "node2";
  EXPECT_THAT(failure_card(outcome, facts, 80), Not(HasSubstr("memory")));
  facts.oom_kills = 1;
  facts.peak_bytes = std::uint64_t{3} << 30;
  facts.memory_limit = std::uint64_t{4} << 30;
  const std::string card = failure_card(outcome, facts, 80);
  EXPECT_THAT(card, StartsWith("rank 2 on node2 exited with status 1\n"));
  EXPECT_THAT(card,
              HasSubstr("the kernel killed 1 process of this job there for want of memory\n"));
  EXPECT_THAT(card, HasSubstr("peak 3.00 GiB; the limit of its control group: 4.00 GiB"));
  EXPECT_THAT(card, HasSubstr("smaller batches"));
}

TEST(FailureCard, CannotBeRepaintedByWhatARankWrote) {
  Outcome outcome = rank_outcome(Cause::kRankExit, 0);
  outcome.exit_status = 1;
  CardFacts facts;
  facts.host = "n";
  facts.last_lines = {"a\x1b[2J\tb",
                      "\xc2\x9b"
                      "2J \x9b \xe2\x80\xae"
                      "c"};
  const std::string card = failure_card(outcome, facts, 80);
  EXPECT_THAT(card, HasSubstr("| a [2J b\n"));
  EXPECT_THAT(card, HasSubstr("| \\u009b2J \\x9b \\u202ec"));
}

// The end of an error line is the most important part.
TEST(FailureCard, KeepsLinesWhole) {
  Outcome outcome = rank_outcome(Cause::kRankExit, 0);
  outcome.exit_status = 1;
  CardFacts facts;
  facts.host = "n";
  const std::string error =
      "dtring.OperationTimeout: dtring: Rank 1 failed in an all-reduce of 16.0 MiB of float32: "
      "rank 0 "
      "did not come within 30 s. Try: dtlaunch jobs stacks 0123456789abcdef";
  facts.last_lines = {error};
  EXPECT_THAT(failure_card(outcome, facts, 0), HasSubstr("\n  stderr   | " + error));
  EXPECT_EQ(failure_card(outcome, facts, 80),
            "rank 0 on n exited with status 1\n"
            "  stderr   | dtring.OperationTimeout: dtring: Rank 1 failed in an all-reduce of\n"
            "             16.0 MiB of float32: rank 0 did not come within 30 s\n"
            "  try      dtlaunch jobs stacks 0123456789abcdef");
}

// dttrain ends with a message that says all. On the screen it stands right above the card.
TEST(FailureCard, DoesNotRepeatWhatDttrainHasSaid) {
  Outcome outcome = rank_outcome(Cause::kRankExit, 0);
  outcome.exit_status = 65;
  CardFacts facts;
  facts.host = "n";
  facts.program = "bin/dttrain";
  facts.last_lines = {
      "dttrain: a.csv: 2 examples",
      "dttrain: m: cannot use this model: no such folder. Try: dttrain init --help"};
  EXPECT_THAT(failure_card(outcome, facts, 200), HasSubstr("no such folder. Try: dttrain init"));
  facts.lines_shown = true;
  EXPECT_EQ(failure_card(outcome, facts, 200), "rank 0 on n exited with status 65");
  facts.last_lines.push_back("terminate called");
  EXPECT_THAT(failure_card(outcome, facts, 200), HasSubstr("no such folder"));
}

TEST(FailureCard, StaysWithinATerminalAndKeepsCharactersWhole) {
  Outcome outcome = rank_outcome(Cause::kRankExit, 0);
  outcome.exit_status = 1;
  CardFacts facts;
  facts.host = "n";
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xc3\xbc";
  facts.traceback = {"  File \"/home/" + std::string(300, 'x') + "/train.py\", line 7, in step",
                     umlauts};
  for (const int columns : {40, 80, 200}) {
    std::string all;
    for (const std::string& line : split(failure_card(outcome, facts, columns), '\n')) {
      const auto characters = std::count_if(line.begin(), line.end(),
                                            [](unsigned char c) { return (c & 0xC0) != 0x80; });
      EXPECT_LE(characters, columns);
      EXPECT_EQ(find_invalid_utf8(line), std::string::npos) << line;
      all += trim(line);
    }
    EXPECT_THAT(all, HasSubstr(std::string(300, 'x') + "/train.py\"")) << columns;
    EXPECT_THAT(all, HasSubstr(umlauts)) << columns;
  }
}

TEST(FailureCard, DisarmsEscapeSequences) {
  Outcome outcome = rank_outcome(Cause::kRankExit, 0);
  CardFacts facts;
  facts.last_lines = {"\x1b[2Jgone"};
  EXPECT_THAT(failure_card(outcome, facts, 80), Not(HasSubstr("\x1b")));
}

TEST(FailureCard, NamesRanksThatFailedFirstWithoutAWord) {
  CardFacts facts;
  facts.silent = {1, 2};
  EXPECT_THAT(failure_card(rank_outcome(Cause::kRankExit, 0), facts, 80),
              HasSubstr("others   ranks 1-2 failed, too, and wrote nothing to stderr"));
}

TEST(FailureCard, IsEmptyWhenTheJobCompleted) {
  EXPECT_EQ(failure_card(Outcome{}, CardFacts{}, 80), "");
}

TEST(FoldRanks, MakesRanges) {
  EXPECT_EQ(fold_ranks({}), "");
  EXPECT_EQ(fold_ranks({4}), "4");
  EXPECT_EQ(fold_ranks({0, 1, 3, 4, 5, 9}), "0-1,3-5,9");
}

TEST(Consequence, IsKnownByTheLastWordsOfLibrariesOurOwnIncluded) {
  for (const char* line :
       {"RuntimeError: [../gloo/pair.cc:589] Connection closed by peer [10.0.0.2]:3412",
        "dttrain: operation 17 (allreduce) failed: rank 3 (node2) was lost: connection closed",
        "RuntimeError: dtring: rank 1 aborted: the loss is not a number",
        "dtring-perf: rank 1 (node1) was lost while the ring was formed: connection closed"}) {
    EXPECT_EQ(judge_last_words({"step 3", line}), LastWords::kOfAnother) << line;
  }
  EXPECT_EQ(judge_last_words({"ValueError: nothing was lost", "Segmentation fault"}),
            LastWords::kOwn);
  EXPECT_EQ(judge_last_words({}), LastWords::kNone);
}

}  // namespace
}  // namespace dtl::job_outcome_test
