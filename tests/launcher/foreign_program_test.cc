#include "launcher/options/foreign_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "launcher/options/command_line.h"

namespace dtl::foreign_program_test {
namespace {

using Words = std::vector<std::string>;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CommandLine torchrun(const Words& words, const Variables& environment = {}) {
  return parse_command_line(words, environment, CalledAs::kTorchrun);
}

Words command(const Words& words, const Variables& environment = {}) {
  return torchrun(words, environment).programs.at(0).command;
}

Words warnings(CalledAs called, const Words& words) {
  return parse_command_line(words, {}, called).warnings;
}

std::string refusal(CalledAs called, const Words& words, const Variables& environment = {}) {
  try {
    parse_command_line(words, environment, called);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(ForeignProgram, IsTheLastPartOfThePath) {
  EXPECT_EQ(called_as("mpirun"), CalledAs::kMpirun);
  EXPECT_EQ(called_as("/a b/names/mpiexec"), CalledAs::kMpiexec);
  EXPECT_EQ(called_as("./mpiexec.hydra"), CalledAs::kHydra);
  EXPECT_EQ(called_as("torchrun"), CalledAs::kTorchrun);
  for (const char* other : {"", "dtlaunch", "mpirun/", "mpirun.openmpi", "/mpirun/dtlaunch"})
    EXPECT_EQ(called_as(other), CalledAs::kDtlaunch) << other;
}

TEST(ForeignProgram, TorchrunRunsScriptsWithPython) {
  EXPECT_THAT(command({"--nproc_per_node=2", "train.py", "-x"}),
              ElementsAre("python3", "-u", "train.py", "-x"));
  EXPECT_THAT(command({"/bin/train"}), ElementsAre("python3", "-u", "/bin/train"));
  EXPECT_THAT(command({"t.py"}, {{"PYTHON_EXEC", "/opt/p"}}), ElementsAre("/opt/p", "-u", "t.py"));
  EXPECT_THAT(command({"--no_python", "echo", "a"}), ElementsAre("echo", "a"));
  EXPECT_FALSE(torchrun({"--nproc-per-node=2", "train.py"}).as_torchrun);
}

TEST(ForeignProgram, TorchrunsModuleIsAFlag) {
  const Words wanted = {"python3", "-u", "-m", "pkg.train", "-m", "-1"};
  EXPECT_EQ(command({"-m", "--nproc_per_node", "2", "pkg.train", "-m", "-1"}), wanted);
  EXPECT_EQ(command({"--nproc_per_node", "2", "-m", "pkg.train", "-m", "-1"}), wanted);
  EXPECT_EQ(command({"--module", "--nnodes=1", "pkg.train", "-m", "-1"}), wanted);
  EXPECT_THAT(command({"train.py", "-m", "-1"}),
              ElementsAre("python3", "-u", "train.py", "-m", "-1"));
}

TEST(ForeignProgram, TorchrunHasOneProgram) {
  EXPECT_THAT(command({"train.py", "a", ":", "b"}),
              ElementsAre("python3", "-u", "train.py", "a", ":", "b"));
}

TEST(ForeignProgram, TorchrunStartsOneRankPerNodeUnlessTold) {
  const auto ranks = [](const Words& words, const Variables& environment = {}) {
    return torchrun(words, environment).placement.ranks_per_node;
  };
  EXPECT_EQ(ranks({"t.py"}), 1);
  EXPECT_EQ(ranks({"--nproc-per-node", "3", "t.py"}), 3);
  EXPECT_EQ(ranks({"--nproc-per-node", "auto", "t.py"}), std::nullopt);
  EXPECT_EQ(ranks({"-np", "4", "t.py"}), std::nullopt);
  EXPECT_EQ(ranks({"t.py"}, {{"PET_NPROC_PER_NODE", "2"}}), 2);
  EXPECT_EQ(ranks({"t.py"}, {{"PET_NPROC_PER_NODE", "auto"}}), std::nullopt);
  EXPECT_THAT(refusal(CalledAs::kTorchrun, {"t.py"}, {{"PET_NPROC_PER_NODE", "x"}}),
              HasSubstr("PET_NPROC_PER_NODE=x: not a whole number"));
}

TEST(ForeignProgram, TorchrunUsesThisHostAloneUnlessTold) {
  const auto scheduler = [](const Words& words, const Variables& environment = {}) {
    return torchrun(words, environment).starting.scheduler;
  };
  const std::optional<const Scheduler*> none(nullptr);
  EXPECT_EQ(scheduler({"t.py"}), none);
  EXPECT_EQ(scheduler({"--nproc-per-node", "2", "t.py"}), none);
  EXPECT_EQ(scheduler({"--standalone", "--nnodes=2", "t.py"}), none);
  EXPECT_EQ(scheduler({"--nnodes=2", "t.py"}), std::nullopt);
  EXPECT_EQ(scheduler({"--nnodes=1:2", "t.py"}), std::nullopt);
  EXPECT_EQ(scheduler({"t.py"}, {{"PET_NNODES", "2"}}), std::nullopt);
  EXPECT_EQ(scheduler({"--standalone", "-hosts", "a", "t.py"}), std::nullopt);
  EXPECT_EQ(scheduler({"-hosts", "a", "t.py"}), std::nullopt);
}

TEST(ForeignProgram, NeedsAProgram) {
  EXPECT_EQ(refusal(CalledAs::kMpiexec, {"-n", "2"}),
            "mpiexec: a program is missing. Try: mpiexec -n 2 PROGRAM");
  EXPECT_EQ(refusal(CalledAs::kTorchrun, {}),
            "torchrun: a program is missing. Try: torchrun --nproc-per-node 2 train.py");
  EXPECT_THAT(refusal(CalledAs::kMpirun, {"-genv", "A", "hostname"}), HasSubstr("VALUE hostname"));
  EXPECT_EQ(parse_command_line({"--version"}, {}, CalledAs::kMpirun).action, Action::kVersion);
  EXPECT_EQ(refusal(CalledAs::kMpirun, {"-configfile", "f"}), "accepted");
}

TEST(ForeignProgram, SaysWhichMeaningItTook) {
  const auto mpirun = [](const Words& words) { return warnings(CalledAs::kMpirun, words); };
  EXPECT_THAT(
      mpirun({"-s", "all", "a"}),
      ElementsAre("-s all: taken as Hydra's, the rank that reads standard input; Open MPI's "
                  "copies the program"));
  EXPECT_THAT(mpirun({"--max-restarts", "2", "a"}), ElementsAre(HasSubstr("taken as torchrun's")));
  EXPECT_THAT(mpirun({"-c", "job.toml"}), ElementsAre(HasSubstr("taken as dtlaunch's job file")));
  EXPECT_THAT(mpirun({"-n", "1", "a", ":", "-t", "3", "b"}),
              ElementsAre(HasSubstr("-t: taken as torchrun's --tee")));
  EXPECT_THAT(mpirun({"-host", "a,b", "p"}),
              ElementsAre(HasSubstr("-host a,b: without a number of ranks, taken as Intel MPI's")));
}

TEST(ForeignProgram, IsSilentWhereAllAgree) {
  using enum CalledAs;
  for (const Words& words : {Words{"--stdin", "all", "a"}, Words{"-c", "2", "a"},
                             Words{"--max-restarts", "0", "a"}, Words{"-H", "a,b", "-np", "2", "p"},
                             Words{"-H", "a:1,b:1", "p"}, Words{"-hosts", "a", "-ppn", "1", "p"},
                             Words{"-v", "-x", "A=1", "-N", "1", "p", "-s", "1"}})
    EXPECT_THAT(warnings(kMpirun, words), IsEmpty()) << words[0];
  EXPECT_THAT(warnings(kHydra, {"-s", "all", "a"}), IsEmpty());
  EXPECT_THAT(warnings(kHydra, {"-hosts", "a", "p"}), testing::SizeIs(1));
  EXPECT_THAT(warnings(kTorchrun, {"-t", "3", "--max-restarts", "2", "a.py"}), IsEmpty());
  EXPECT_THAT(warnings(kDtlaunch, {"-s", "all", "-t", "3", "-host", "a", "p"}), IsEmpty());
}

}  // namespace
}  // namespace dtl::foreign_program_test
