#include "launcher/schedulers/srun_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/schedulers/srun_starter.h"

namespace dtl::srun_command_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(SrunCommand, ReadsWhatSlurmSaysOfItsVersion) {
  EXPECT_EQ(parse_slurm_version("slurm-wlm 22.05.8\n"), (SlurmVersion{22, 5}));
  EXPECT_EQ(parse_slurm_version("slurm 23.11.4\n"), (SlurmVersion{23, 11}));
  EXPECT_EQ(parse_slurm_version("slurm 26.11.0-0rc1"), (SlurmVersion{26, 11}));
  EXPECT_EQ(parse_slurm_version("srun: fatal: no configuration"), std::nullopt);
  EXPECT_EQ(parse_slurm_version("slurm"), std::nullopt);
  EXPECT_EQ(parse_slurm_version(""), std::nullopt);
}

TEST(SrunCommand, StartsOneTaskOnEachNodeAndBindsNothing) {
  SrunWish wish;
  wish.srun = "/usr/bin/srun";
  wish.nodes = {"n1", "n2"};
  wish.whole = true;
  wish.version = SlurmVersion{22, 5};
  wish.command = {"/opt/dtlaunch", "step-node", "29500"};
  EXPECT_THAT(
      srun_arguments(wish),
      ElementsAre("/usr/bin/srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--overlap",
                  "--cpu-bind=none", "--mem-bind=none", "--mpi=none", "--input=none",
                  "--export=ALL", "--chdir=/", "--kill-on-bad-exit=0", "--no-kill", "--wait=0",
                  "--job-name=dtlaunch", "/opt/dtlaunch", "step-node", "29500"));
  wish.whole = false;
  EXPECT_THAT(srun_arguments(wish), Contains("--nodelist=n1,n2"));
}

// srun exits at an option that it does not know.
TEST(SrunCommand, TakesOnlyWhatItsVersionKnows) {
  SrunWish wish;
  wish.nodes = {"n1"};
  EXPECT_THAT(srun_arguments(wish), Not(Contains("--overlap")));
  wish.version = SlurmVersion{20, 2};
  EXPECT_THAT(srun_arguments(wish), Not(Contains("--overlap")));
  wish.version = SlurmVersion{23, 2};
  EXPECT_THAT(srun_arguments(wish), Contains("--overlap"));
  EXPECT_THAT(srun_arguments(wish), Not(Contains("--external-launcher")));
  wish.version = SlurmVersion{23, 11};
  EXPECT_EQ(srun_arguments(wish)[1], "--external-launcher");
}

TEST(SrunCommand, LeavesOutWhatWasMeantForAnotherStep) {
  const Variables own = {{"PATH", "/bin"},
                         {"FOO", "bar"},
                         {"SLURM_JOB_ID", "7"},
                         {"SLURM_JOB_NODELIST", "n[1-2]"},
                         {"SLURM_CONF", "/etc/slurm/slurm.conf"},
                         {"SLURM_RESTART_COUNT", "1"},
                         {"SLURM_CPU_BIND", "mask_cpu:0x1"},
                         {"SLURM_CPU_BIND_LIST", "0x1"},
                         {"SLURM_MEM_BIND", "local"},
                         {"SLURM_NTASKS", "4"},
                         {"SLURM_NPROCS", "4"},
                         {"SLURM_NTASKS_PER_NODE", "2"},
                         {"SLURM_CPUS_PER_TASK", "2"},
                         {"SLURM_DISTRIBUTION", "cyclic"},
                         {"SLURM_HINT", "nomultithread"},
                         {"SLURM_EXACT", "1"},
                         {"SLURM_EXPORT_ENV", "NONE"},
                         {"SLURM_MPI_TYPE", "pmi2"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_STDERRMODE", "/x"},
                         {"SLURM_WAIT", "30"},
                         {"SLURM_KILL_BAD_EXIT", "1"},
                         {"SRUN_DEBUG", "3"},
                         {"PMI_RANK", "1"},
                         {"SSH_CONNECTION", "1 2 3 4"}};
  EXPECT_THAT(srun_environment(own),
              UnorderedElementsAre(
                  Pair("PATH", "/bin"), Pair("FOO", "bar"), Pair("SLURM_JOB_ID", "7"),
                  Pair("SLURM_JOB_NODELIST", "n[1-2]"), Pair("SLURM_CONF", "/etc/slurm/slurm.conf"),
                  Pair("SLURM_RESTART_COUNT", "1"), Pair("SLURM_EXTERNAL_LAUNCHER", "1")));
}

// The output of another program tells no version.
TEST(SrunStarter, HandsTheTokenOnUnlessNodesReadItsFile) {
  SrunStarterOptions options;
  options.srun = "/bin/false";
  options.environment = {{"DTL_TOKEN", "old"}, {"PATH", "/bin"}};
  EXPECT_THAT(SrunStarter(options).commands({"n1"}, 4711, "secret").environment,
              UnorderedElementsAre("PATH=/bin", "SLURM_EXTERNAL_LAUNCHER=1", "DTL_TOKEN=secret"));
  options.environment.emplace_back("DTL_TOKEN_FILE", "/token");
  EXPECT_THAT(
      SrunStarter(options).commands({"n1"}, 4711, "secret").environment,
      UnorderedElementsAre("PATH=/bin", "SLURM_EXTERNAL_LAUNCHER=1", "DTL_TOKEN_FILE=/token"));
}

}  // namespace
}  // namespace dtl::srun_command_test
