// The environment of a starting rank, and what the agent reports about it. Real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent_driver.h"
#include "base/limits.h"
#include "plan/environment.h"

namespace dtl::rank_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Start start_of(const RankSpec& spec) {
  Start start;
  start.secret = std::string(32, 's');
  start.ranks.push_back(spec);
  return start;
}

std::size_t open_descriptors(pid_t pid) {
  const auto folder = std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

TEST(Rank, ReportsStartOutputAndExitCode) {
  AgentDriver agent;
  agent.start_script(5, "echo out; echo err >&2; exit 3");
  EXPECT_GT(agent.expect<Started>().pid, 0u);
  const Exited exited = agent.expect<Exited>();
  EXPECT_EQ(exited.rank, 5u);
  EXPECT_EQ(exited.code, 3u);
  EXPECT_EQ(exited.signal, 0u);
  EXPECT_GT(exited.max_rss_kib, 0u);
  EXPECT_EQ(exited.left_behind, 0u);
  EXPECT_EQ(agent.output(5), "out\n");
  EXPECT_EQ(agent.output(5, Stream::kStderr), "err\n");
  EXPECT_EQ(agent.finish(), 0);
}

TEST(Rank, ReportsTheSignalThatKilledIt) {
  AgentDriver agent;
  agent.start_script(0, "kill -SEGV $$");
  EXPECT_EQ(agent.expect<Exited>().signal, static_cast<std::uint32_t>(SIGSEGV));
  EXPECT_EQ(agent.finish(), 0);
}

TEST(Rank, SaysAtWhichStageItCouldNotStart) {
  AgentDriver agent;
  RankSpec missing = script_rank(0, "");
  missing.arguments[0] = "no-such-program";
  RankSpec folder = script_rank(1, "");
  folder.arguments[0] = "/etc";
  const std::string script = testing::TempDir() + "/dos_" + std::to_string(::getpid());
  std::ofstream(script) << "#!/bin/sh\r\ntrue\r\n";
  ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
  RankSpec dos = script_rank(4, "");
  dos.arguments[0] = script;
  RankSpec nowhere = script_rank(2, "true");
  nowhere.working_directory = "/no/such/folder";
  RankSpec no_cpu = script_rank(3, "true");
  no_cpu.cpus.push_back(65000);
  std::map<std::uint32_t, std::pair<std::string, std::uint32_t>> wanted = {
      {0, {"exec", ENOENT}},
      {1, {"exec", EACCES}},
      {2, {"chdir", ENOENT}},
      {3, {"affinity", EINVAL}},
      {4, {"carriage-return", ENOENT}}};
  for (const RankSpec& spec : {missing, folder, nowhere, no_cpu, dos}) agent.send(start_of(spec));
  for (int i = 0; i < 5; ++i) {
    const SpawnFailed failed = agent.expect<SpawnFailed>();
    EXPECT_EQ(failed.stage, wanted[failed.rank].first) << failed.rank;
    EXPECT_EQ(failed.error_number, wanted[failed.rank].second) << failed.rank;
    wanted.erase(failed.rank);
  }
  EXPECT_TRUE(wanted.empty());
  EXPECT_EQ(agent.finish(), 0);
}

TEST(Rank, IsFoundOnItsOwnPathThenBesideTheAgent) {
  AgentDriver agent;
  RankSpec on_path = script_rank(0, "echo on path");
  on_path.arguments[0] = "sh";
  agent.send(start_of(on_path));
  RankSpec beside = script_rank(1, "");
  beside.arguments = {"dtagent"};
  beside.arguments.push_back("--version");
  agent.send(start_of(beside));
  agent.expect_output(0, "on path\n");
  agent.expect_output(1, "protocol " + std::to_string(kProtocol));
}

TEST(Rank, RunsAScriptWithoutAnInterpreterLine) {
  char path[] = "/tmp/dtl-script-XXXXXX";
  Fd fd(::mkstemp(path));
  write_all(fd.get(), "echo plain $1\n");
  ::fchmod(fd.get(), 0755);
  fd.reset();  // a file open for writing cannot be executed
  AgentDriver agent;
  RankSpec spec = script_rank(0, "");
  spec.arguments = {path};
  spec.arguments.push_back("words");
  agent.send(start_of(spec));
  agent.expect_output(0, "plain words\n");
  agent.expect<Exited>();
  ::unlink(path);
}

TEST(Rank, HasExactlyTheEnvironmentAndFolderOfItsSpecification) {
  AgentDriver agent;
  RankSpec spec = script_rank(0, "");
  spec.arguments = {"/usr/bin/env"};
  spec.environment.added.push_back({0, "GREETING=two words"});
  spec.working_directory = "/usr";
  agent.send(start_of(spec));
  agent.expect<Exited>();
  EXPECT_THAT(agent.output(0),
              ::testing::MatchesRegex("PATH=/usr/bin:/bin\nRANK=0\nGREETING=two words\n"
                                      "DTLAUNCH_STACK_FILE=/.*dtlaunch.*/rank.0.stack\n"
                                      "DTLAUNCH_GRACE_FILE=/.*dtlaunch.*/grace\n"
                                      "TORCHELASTIC_ERROR_FILE=/.*dtlaunch.*/rank.0.json\n"));
  agent.start_script(1, "pwd; cd /proc/self && umask");
  EXPECT_THAT(agent.expect_output(1, "\n0"), HasSubstr("/\n"));
}

TEST(Rank, KnowsThePipeThatATerminalShows) {
  AgentDriver agent;
  RankSpec spec = script_rank(0,
                              "exec 4>&1; [ $(stat -Lc %d:%i /dev/fd/4) = $DTLAUNCH_STDOUT ] && "
                              "echo mine");
  spec.environment.added.push_back({0, "DTLAUNCH_COLUMNS=76"});
  agent.send(start_of(spec));
  agent.expect<Exited>();
  EXPECT_EQ(agent.output(0), "mine\n");
}

TEST(Rank, HasWhatItSharesWithOthersAndWhatItsOwnIs) {
  AgentDriver agent;
  agent.send(Environment{0, {{0, "A=1"}, {0, "HOME=/root"}, {0, "PATH=/usr/bin:/bin"}}});
  agent.send(Environment{1, {{3, "PROGRAM=2"}}});
  Start start;
  start.secret = std::string(32, 's');
  for (const std::uint32_t rank : {0u, 1u}) {
    RankSpec spec = script_rank(rank, "");
    spec.arguments = {"/usr/bin/env"};
    spec.environment = {rank + 1, {{2, "OWN=" + std::to_string(rank)}}};
    start.ranks.push_back(spec);
  }
  agent.send(start);
  agent.expect<Exited>();
  agent.expect<Exited>();
  EXPECT_THAT(agent.output(0),
              StartsWith("A=1\nHOME=/root\nOWN=0\nPATH=/usr/bin:/bin\nDTLAUNCH_STACK"));
  EXPECT_THAT(agent.output(1),
              StartsWith("A=1\nHOME=/root\nOWN=1\nPATH=/usr/bin:/bin\nPROGRAM=2\nDTLAUNCH_STACK"));
}

TEST(Rank, IsNotStartedWithAnEnvironmentThatHasNotCome) {
  AgentDriver agent;
  RankSpec spec = script_rank(0, "exit 0");
  spec.environment.base = 1;
  agent.send(start_of(spec));
  EXPECT_THAT(agent.expect<Trouble>().text, HasSubstr("built on number 1 of 0"));
}

TEST(Rank, FindsHowLongItHasWhenItIsToldToEnd) {
  AgentDriver agent;
  agent.start_script(0,
                     "trap 'cat $DTLAUNCH_GRACE_FILE; exit 0' TERM; [ -e $DTLAUNCH_GRACE_FILE ] || "
                     "echo ready; while :; do sleep 0.05; done");
  agent.expect_output(0, "ready\n");
  agent.send(Stop{15, 28050});
  agent.expect<Exited>();
  EXPECT_EQ(agent.output(0), "ready\n28.050\n");
}

TEST(Rank, RunsOnItsCpusOnly) {
  AgentDriver agent;
  const int cpu = agent.facts().topology.allowed.to_vector().back();
  RankSpec spec = script_rank(0, "grep Cpus_allowed_list /proc/self/status");
  spec.cpus.push_back(static_cast<std::uint32_t>(cpu));
  agent.send(start_of(spec));
  agent.expect<Exited>();
  EXPECT_EQ(agent.output(0), "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
}

TEST(Rank, InheritsTheSecretAndNoOtherDescriptor) {
  AgentDriver agent;
  agent.start_script(0, "cat <&3; echo; exec ls /proc/self/fd");
  agent.expect<Exited>();
  // ls opens the folder that it lists with the next free descriptor.
  EXPECT_EQ(kSecretFd, 3);
  EXPECT_EQ(agent.output(0), std::string(32, 's') + "\n0\n1\n2\n3\n4\n");
}

TEST(Rank, SpeaksPmiOverOneDescriptorMoreIfItIsServed) {
  AgentDriver agent;
  agent.send(ServePmi{2, 1, "space", "(vector,(0,1,2))", {{0, 0}}});
  agent.start_script(0, R"(ls /proc/self/fd | xargs
printf 'cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\ncmd=abort exitcode=7\n' >&4
head -n 2 <&4; exit 3)");
  const auto news = agent.expect<MpiNews>();
  EXPECT_EQ(news.event, MpiEvent::kAborted);
  EXPECT_EQ(news.code, 7U);
  EXPECT_EQ(agent.expect<Exited>().code, 3U);
  EXPECT_EQ(agent.output(0),
            "0 1 2 3 4 5\ncmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
            "cmd=my_kvsname kvsname=space rc=0\n");
}

// What it said last is read although its process is gone.
TEST(Rank, IsHeardOverPmiBeforeItsEndIsReported) {
  AgentDriver agent;
  agent.send(ServePmi{1, 1, "space", "", {{0, 0}}});
  agent.start_script(0, R"(printf 'cmd=init pmi_version=1 pmi_subversion=1\n' >&4)");
  EXPECT_EQ(agent.expect<MpiNews>().event, MpiEvent::kLeft);
  EXPECT_EQ(agent.expect<Exited>().code, 0U);
}

TEST(Rank, CannotChangeTheSecret) {
  AgentDriver agent;
  agent.start_script(0, "echo other 1>&3");
  EXPECT_NE(agent.expect<Exited>().code, 0u);
}

TEST(Rank, HasDefaultSignalsAndASessionOfItsOwn) {
  AgentDriver agent;
  agent.start_script(0,
                     "grep -E '^Sig(Blk|Ign)' /proc/self/status; set -- $(cat /proc/$$/stat); "
                     "[ \"$6\" = $$ ] && echo leads its session");
  agent.expect<Exited>();
  EXPECT_EQ(agent.output(0),
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nleads its session\n");
}

TEST(Rank, ReadsStandardInputOnlyWhenItWantsTo) {
  AgentDriver agent;
  RankSpec reader = script_rank(0, "wc -c");
  reader.wants_stdin = true;
  agent.send(start_of(reader));
  agent.start_script(1, "cat; echo end at once");
  std::size_t taken = 0;
  for (int i = 0; i < 8; ++i) agent.send(Stdin{0, std::string(50000, 'x'), i == 7});
  while (taken < 400000) taken += agent.expect<StdinTaken>().bytes;
  agent.expect_output(0, "400000\n");
  agent.expect_output(1, "end at once\n");
  EXPECT_EQ(agent.finish(), 0);
}

// Unread input belongs to the process that started dtlaunch.
TEST(Rank, TellsHowMuchOfItsInputItHasRead) {
  const auto read_by = [](const std::string& script, bool end) {
    AgentDriver agent;
    RankSpec spec = script_rank(0, script);
    spec.wants_stdin = true;
    agent.send(start_of(spec));
    agent.send(Stdin{0, std::string(999, 'x') + "\n", false});
    agent.send(Stdin{0, std::string(60000, 'y'), end});
    const std::uint64_t read = agent.expect<StdinClosed>().read;
    agent.expect<Exited>();
    agent.send(Stdin{0, "late", true});
    EXPECT_EQ(agent.finish(), 0);
    return read;
  };
  EXPECT_EQ(read_by("exec sleep 0.1", false), 0U);
  EXPECT_EQ(read_by("read -r line", false), 1000U);
  EXPECT_EQ(read_by("read -r line; exec <&-; sleep 0.1", false), 1000U);
  EXPECT_EQ(read_by("read -r line; dd bs=1000 count=2 iflag=fullblock 2>/dev/null", true), 3000U);
  EXPECT_EQ(read_by("exec wc -c", true), 61000U);
}

TEST(Rank, TakesNothingThatItHasNotReadAtFirst) {
  AgentDriver agent;
  RankSpec spec =
      script_rank(0, "trap go=1 USR1; echo ready; until [ \"$go\" ]; do sleep 0.01; done; cat");
  spec.wants_stdin = true;
  agent.send(start_of(spec));
  agent.send(Stdin{0, "first\n", false});
  EXPECT_FALSE(agent.pump([&] { return agent.has<StdinTaken>(); }, std::chrono::milliseconds(200)));
  agent.expect_output(0, "ready\n");
  agent.send(Signal{SIGUSR1});
  EXPECT_EQ(agent.expect<StdinTaken>().bytes, 6U);
  agent.send(Stdin{0, "", true});
  EXPECT_EQ(agent.expect<StdinClosed>().read, 6U);
  EXPECT_EQ(agent.finish(), 0);
}

TEST(Rank, OutputArrivesWholeAndBeforeItsExit) {
  AgentDriver agent;
  agent.start_script(0, "seq 1 200000; echo done >&2");
  agent.expect<Exited>();
  const std::string output = agent.output(0);
  EXPECT_EQ(output.size(), 1288895u);
  EXPECT_TRUE(output.ends_with("\n200000\n"));
  EXPECT_EQ(agent.output(0, Stream::kStderr), "done\n");
}

TEST(Rank, LeavesNoDescriptorInAGuardThatHasNoRoomForAll) {
  AgentDriver agent;
  agent.start_script(0, "true");
  agent.expect<Exited>();
  const pid_t guard = children_of(agent.agent()).at(0);
  const std::size_t before = open_descriptors(guard);
  const rlimit room_for_three{before + 3, before + 3};  // a rank needs five
  if (::prlimit(guard, RLIMIT_NOFILE, &room_for_three, nullptr) != 0) GTEST_SKIP() << "no prlimit";
  for (const std::uint32_t rank : {1U, 2U}) {
    agent.start_script(rank, "true");
    EXPECT_EQ(agent.expect<SpawnFailed>().rank, rank);
  }
  EXPECT_EQ(open_descriptors(guard), before);
}

TEST(Rank, LeavesNoDescriptorInTheAgent) {
  AgentDriver agent;
  agent.start_script(0, "true");
  agent.expect<Exited>();
  const std::size_t before = open_descriptors(agent.agent());
  const std::size_t guard_before = open_descriptors(children_of(agent.agent()).at(0));
  for (std::uint32_t rank = 1; rank <= 40; ++rank) agent.start_script(rank, "true");
  for (int i = 1; i <= 40; ++i) agent.expect<Exited>();
  // Both read files of /proc during this, so either count may include one extra descriptor.
  const pid_t guard = children_of(agent.agent()).at(0);
  EXPECT_TRUE(agent.pump([&] { return open_descriptors(agent.agent()) <= before; },
                         AgentDriver::kPatience));
  EXPECT_TRUE(
      agent.pump([&] { return open_descriptors(guard) <= guard_before; }, AgentDriver::kPatience));
  EXPECT_EQ(agent.finish(), 0);
}

}  // namespace
}  // namespace dtl::rank_test
