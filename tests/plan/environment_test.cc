#include "plan/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "plan/dialect_variables.h"

namespace dtl::environment_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

RankIdentity third_of_four() {
  RankIdentity identity;
  identity.job_id = "00ff";
  identity.host_name = "node02";
  identity.master_address = "10.0.0.1";
  identity.interface = "eth1";
  identity.address = "10.0.0.2";
  identity.master_port = 28123;
  identity.rank = 2;
  identity.world_size = 4;
  identity.local_rank = 0;
  identity.local_size = 2;
  identity.node_rank = 1;
  identity.nodes = 2;
  identity.threads = 6;
  identity.grace = std::chrono::milliseconds(2500);
  identity.cpus = {0, 1, 4};
  return identity;
}

std::map<std::string, std::string> as_map(const std::vector<std::string>& lines) {
  std::map<std::string, std::string> variables;
  for (const std::string& line : lines) {
    const std::size_t equals = line.find('=');
    variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return variables;
}

TEST(Environment, SpeaksEveryDialect) {
  const auto variables = as_map(rank_environment(third_of_four(), {}, {}).lines);
  const std::map<std::string, std::string> expected = {{"RANK", "2"},
                                                       {"WORLD_SIZE", "4"},
                                                       {"LOCAL_RANK", "0"},
                                                       {"LOCAL_WORLD_SIZE", "2"},
                                                       {"GROUP_RANK", "1"},
                                                       {"GROUP_WORLD_SIZE", "2"},
                                                       {"ROLE_NAME", "default"},
                                                       {"PYTHONUNBUFFERED", "1"},
                                                       {"ROLE_RANK", "2"},
                                                       {"ROLE_WORLD_SIZE", "4"},
                                                       {"MASTER_ADDR", "10.0.0.1"},
                                                       {"MASTER_PORT", "28123"},
                                                       {"PMI_RANK", "2"},
                                                       {"PMI_SIZE", "4"},
                                                       {"MPI_LOCALRANKID", "0"},
                                                       {"MPI_LOCALNRANKS", "2"},
                                                       {"OMP_NUM_THREADS", "6"},
                                                       {"MKL_NUM_THREADS", "6"},
                                                       {"OPENBLAS_NUM_THREADS", "6"},
                                                       {"CCL_PROCESS_LAUNCHER", "hydra"},
                                                       {"CCL_ATL_TRANSPORT", "ofi"},
                                                       {"CCL_KVS_IFACE", "eth1"},
                                                       {"CCL_LOCAL_RANK", "0"},
                                                       {"CCL_LOCAL_SIZE", "2"},
                                                       {"FI_TCP_IFACE", "eth1"},
                                                       {"DTRING_ADDRESS", "10.0.0.2"},
                                                       {"GLOO_SOCKET_IFNAME", "eth1"},
                                                       {"TP_SOCKET_IFNAME", "eth1"},
                                                       {"NCCL_SOCKET_IFNAME", "eth1"},
                                                       {"OMPI_MCA_btl_tcp_if_include", "eth1"},
                                                       {"I_MPI_PIN_INFO", "x0,1,4"},
                                                       {"DTLAUNCH_JOB", "00ff"},
                                                       {"DTLAUNCH_HOST", "node02"},
                                                       {"DTLAUNCH_GRACE", "2.5"},
                                                       {"DTRING_SECRET_FD", "3"},
                                                       {"TORCHELASTIC_RUN_ID", "00ff"},
                                                       {"TORCHELASTIC_RESTART_COUNT", "0"},
                                                       {"TORCHELASTIC_MAX_RESTARTS", "0"},
                                                       {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
  EXPECT_EQ(variables, expected);
}

TEST(Environment, LeavesOpenMpisInterfacesToAUserWhoNamesThem) {
  RankIdentity identity;
  identity.interface = "eth1";
  const auto with = [&](const char* name, const char* value) {
    return as_map(rank_environment(identity, {{name, value}}, {}).lines);
  };
  EXPECT_EQ(with("A", "b")["OMPI_MCA_btl_tcp_if_include"], "eth1");
  EXPECT_EQ(with("OMPI_MCA_btl_tcp_if_include", "10.1.0.0/16")["OMPI_MCA_btl_tcp_if_include"],
            "10.1.0.0/16");
  // Open MPI refuses both.
  EXPECT_FALSE(with("OMPI_MCA_btl_tcp_if_exclude", "lo").contains("OMPI_MCA_btl_tcp_if_include"));
}

TEST(Environment, TellsRanksOfAJobThatChangesHowManyTheyWereAtItsBegin) {
  RankIdentity identity;
  EXPECT_EQ(as_map(rank_environment(identity, {}, {}).lines).count("DTLAUNCH_FIRST_WORLD_SIZE"),
            0U);
  identity.first_size = 3;
  identity.restarts = 2;
  auto variables = as_map(rank_environment(identity, {}, {}).lines);
  EXPECT_EQ(variables["DTLAUNCH_FIRST_WORLD_SIZE"], "3");
  EXPECT_EQ(variables["TORCHELASTIC_RESTART_COUNT"], "2");
  EXPECT_EQ(variables["TORCHELASTIC_MAX_RESTARTS"], "0");
}

std::map<std::string, std::string> added_by(const RankIdentity& identity, const char* names) {
  auto variables = as_map(rank_environment(identity, {}, {}, parse_dialects(names)).lines);
  for (const auto& [name, value] : as_map(rank_environment(identity, {}, {}).lines)) {
    EXPECT_EQ(variables[name], value);
    variables.erase(name);
  }
  return variables;
}

TEST(Environment, SpeaksOtherLaunchersNamesWhenAsked) {
  RankIdentity identity = third_of_four();
  identity.cross_rank = 1;
  identity.cross_size = 2;
  identity.program_size = 3;
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(added_by(identity, "ompi"), (Map{{"OMPI_COMM_WORLD_RANK", "2"},
                                             {"OMPI_COMM_WORLD_SIZE", "4"},
                                             {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                             {"OMPI_COMM_WORLD_NODE_RANK", "0"},
                                             {"OMPI_UNIVERSE_SIZE", "4"},
                                             {"OMPI_APP_CTX_NUM_PROCS", "3"}}));
  EXPECT_EQ(added_by(identity, "Torchrun"), Map());  // the same for all ranks, as from torchrun
  EXPECT_EQ(added_by(identity, "horovod,deepspeed,horovod"), (Map{{"HOROVOD_RANK", "2"},
                                                                  {"HOROVOD_SIZE", "4"},
                                                                  {"HOROVOD_LOCAL_RANK", "0"},
                                                                  {"HOROVOD_LOCAL_SIZE", "2"},
                                                                  {"HOROVOD_CROSS_RANK", "1"},
                                                                  {"HOROVOD_CROSS_SIZE", "2"},
                                                                  {"HOROVOD_HOSTNAME", "node02"},
                                                                  {"HOROVOD_GLOO_IFACE", "eth1"},
                                                                  {"CROSS_RANK", "1"},
                                                                  {"CROSS_SIZE", "2"},
                                                                  {"LOCAL_SIZE", "2"}}));
}

TEST(Environment, KnowsNoOtherLaunchers) {
  try {
    parse_dialects("ompi,horovd");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--compat horovd: unknown launcher 'horovd'. Try: --compat horovod");
  }
}

TEST(Environment, TellsAccelerateToUseTheCpuUnlessTheUserSaidSomething) {
  RankIdentity identity = third_of_four();
  EXPECT_FALSE(as_map(rank_environment(identity, {}, {}).lines).contains("ACCELERATE_USE_CPU"));
  identity.on_cpu = true;
  EXPECT_EQ(as_map(rank_environment(identity, {}, {}).lines).at("ACCELERATE_USE_CPU"), "true");
  const Variables no = {{"ACCELERATE_USE_CPU", "false"}};
  EXPECT_EQ(as_map(rank_environment(identity, no, {}).lines).at("ACCELERATE_USE_CPU"), "false");
  EXPECT_EQ(as_map(rank_environment(identity, {}, no).lines).at("ACCELERATE_USE_CPU"), "false");
}

TEST(Environment, ObeysWhatWasExportedButForWhatIsOfThisJob) {
  const Variables exported = {
      {"OMP_NUM_THREADS", "1"}, {"GLOO_SOCKET_IFNAME", "ib0"}, {"CCL_ATL_TRANSPORT", "mpi"},
      {"PYTHONUNBUFFERED", ""}, {"MASTER_ADDR", "localhost"},  {"RANK", "7"},
      {"PATH", "/bin"}};
  const RankEnvironment environment = rank_environment(third_of_four(), exported, {});
  const auto variables = as_map(environment.lines);
  EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(variables.at("MKL_NUM_THREADS"), "6");
  EXPECT_EQ(variables.at("GLOO_SOCKET_IFNAME"), "ib0");
  EXPECT_EQ(variables.at("CCL_ATL_TRANSPORT"), "mpi");
  EXPECT_EQ(variables.at("PYTHONUNBUFFERED"), "");
  EXPECT_EQ(variables.at("MASTER_ADDR"), "10.0.0.1");
  EXPECT_EQ(variables.at("RANK"), "2");
  EXPECT_EQ(variables.at("PATH"), "/bin");
  EXPECT_EQ(environment.origins.at("OMP_NUM_THREADS"), Origin::kExported);
  EXPECT_EQ(environment.origins.at("MKL_NUM_THREADS"), Origin::kComputed);
  EXPECT_THAT(environment.unused, ElementsAre("MASTER_ADDR"));
  EXPECT_THAT(why_unused("MASTER_ADDR"), testing::HasSubstr("-genv MASTER_ADDR"));
}

TEST(Environment, TakesTheJobsOwnWordsOverWhatWasExported) {
  RankIdentity identity = third_of_four();
  identity.threads_asked = identity.interface_asked = true;
  const RankEnvironment environment =
      rank_environment(identity, {{"OMP_NUM_THREADS", "1"}, {"GLOO_SOCKET_IFNAME", "ib0"}},
                       {{"GLOO_SOCKET_IFNAME", "lo"}});
  EXPECT_EQ(as_map(environment.lines).at("OMP_NUM_THREADS"), "6");
  EXPECT_EQ(as_map(environment.lines).at("GLOO_SOCKET_IFNAME"), "lo");
  EXPECT_EQ(environment.origins.at("GLOO_SOCKET_IFNAME"), Origin::kSet);
  EXPECT_THAT(environment.unused, ElementsAre("OMP_NUM_THREADS"));
}

TEST(Environment, OfARankIsNotWhatAUserExported) {
  const Variables in_a_rank = {{"DTLAUNCH_JOB", "00ff"},
                               {"OMP_NUM_THREADS", "3"},
                               {"MASTER_PORT", "1"},
                               {"CCL_WORKER_COUNT", "1"},
                               {"HOME", "/h"}};
  EXPECT_THAT(forwardable(in_a_rank), ElementsAre(Pair("HOME", "/h")));
}

TEST(Environment, LetsGenvWinOverBoth) {
  const auto variables =
      as_map(rank_environment(third_of_four(), {{"A", "1"}},
                              {{"A", "2"}, {"A", "3"}, {"MASTER_ADDR", "10.9.9.9"}})
                 .lines);
  EXPECT_EQ(variables.at("A"), "3");
  EXPECT_EQ(variables.at("MASTER_ADDR"), "10.9.9.9");
}

TEST(Environment, RefusesToMakeARankAnother) {
  try {
    rank_environment(third_of_four(), {}, {{"WORLD_SIZE", "8"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    EXPECT_STREQ(error.what(),
                 "WORLD_SIZE=8: dtlaunch computes it: rank 2 has WORLD_SIZE=4. "
                 "Try: the same command without WORLD_SIZE");
  }
  EXPECT_NO_THROW(rank_environment(third_of_four(), {}, {{"WORLD_SIZE", "4"}}));
}

TEST(Environment, NamesNoInterfaceWhenNoneIsKnown) {
  RankIdentity identity = third_of_four();
  identity.interface.clear();
  identity.cpus.clear();
  const auto variables = as_map(rank_environment(identity, {}, {}).lines);
  EXPECT_EQ(variables.count("GLOO_SOCKET_IFNAME"), 0u);
  EXPECT_EQ(variables.count("I_MPI_PIN_INFO"), 0u);
}

TEST(Environment, LeavesTheLoginHostBehind) {
  const Variables launcher = {{"PATH", "/bin"},          {"DISPLAY", ":0"},
                              {"SSH_AUTH_SOCK", "/x"},   {"XDG_RUNTIME_DIR", "/run/user/1"},
                              {"TERM", "xterm"},         {"HOME", "/home/u"},
                              {"SLURM_PROCID", "0"},     {"SLURM_JOB_ID", "7"},
                              {"PMI_FD", "5"},           {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                              {"DTRING_SECRET_FD", "9"}, {"TERMS_OF_USE", "yes"},
                              {"HF_TOKEN", "hf_x"}};
  EXPECT_THAT(forwardable(launcher),
              ElementsAre(Pair("PATH", "/bin"), Pair("HOME", "/home/u"), Pair("SLURM_JOB_ID", "7"),
                          Pair("TERMS_OF_USE", "yes"), Pair("HF_TOKEN", "hf_x")));
}

TEST(Environment, LeavesASchedulersWordsBehind) {
  const Variables pod = {{"MASTER_ADDR", "dtl-master-0"},
                         {"PET_MASTER_ADDR", "dtl-master-0"},
                         {"MASTER_PORT", "1"},
                         {"PET_MASTER_PORT", "2"},
                         {"JOB_COMPLETION_INDEX", "3"},
                         {"DTL_RDZV", "a:1"},
                         {"DTL_TOKEN", "secret"},
                         {"PBS_TASKNUM", "1"},
                         {"K_MPI_JOB_ROLE", "launcher"},
                         {"PBS_JOBID", "9"}};
  EXPECT_THAT(forwardable(pod), ElementsAre(Pair("MASTER_PORT", "1"), Pair("PBS_JOBID", "9")));
}

TEST(Environment, LeavesASchedulersTaskBehind) {
  Variables task = {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-2]"}, {"FLUX_JOB_ID", "f"}};
  const Variables kept = task;
  for (const char* name : {"SLURM_EXPORT_ENV",
                           "SLURM_PROCID",
                           "SLURM_LOCALID",
                           "SLURM_NODEID",
                           "SLURM_STEP_ID",
                           "SLURM_STEPID",
                           "SLURM_STEP_NUM_TASKS",
                           "SLURM_STEP_TASKS_PER_NODE",
                           "SLURM_STEP_NODELIST",
                           "SLURM_NTASKS",
                           "SLURM_NPROCS",
                           "SLURM_TASKS_PER_NODE",
                           "SLURM_TASK_PID",
                           "SLURM_GTIDS",
                           "SLURM_CPU_BIND",
                           "SLURM_CPU_BIND_LIST",
                           "SLURM_MEM_BIND",
                           "SLURM_MPI_TYPE",
                           "SLURM_PMIX_MAPPING_SERV",
                           "SLURMD_NODENAME",
                           "SRUN_DEBUG",
                           "PMI_FD",
                           "PMI_RANK",
                           "PMIX_RANK",
                           "PMI2_DEBUGGED",
                           "FLUX_TASK_RANK",
                           "FLUX_TASK_LOCAL_ID",
                           "PET_NNODES",
                           "PET_NODE_RANK",
                           "PET_RDZV_ENDPOINT",
                           "PET_NPROC_PER_NODE",
                           "OMPI_COMM_WORLD_RANK",
                           "OMPI_MCA_plm_slurm_args",
                           "PRTE_MCA_plm_slurm_args",
                           "HYDRA_LAUNCHER_EXTRA_ARGS",
                           "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
                           "I_MPI_PMI",
                           "I_MPI_PMI_LIBRARY",
                           "MPIR_CVAR_PMI_VERSION",
                           "DTL_TOKEN",
                           "DTL_TOKEN_FILE",
                           "DTL_SCHEDULER"}) {
    task.emplace_back(name, "x");
  }
  EXPECT_EQ(forwardable(task), kept);
}

TEST(Environment, KeepsParametersOfOpenMpiButThoseOfItsMpirun) {
  const Variables kept = {{"OMPI_MCA_btl", "tcp,self"}, {"OMPI_MCA_coll_tuned_priority", "9"}};
  Variables all = kept;
  all.emplace_back("OMPI_MCA_orte_local_daemon_uri", "1;tcp://10.0.0.1:1");
  all.emplace_back("OMPI_MCA_hwloc_base_binding_policy", "core");  // ranks would bind themselves
  EXPECT_EQ(forwardable(all), kept);
}

TEST(Environment, IsSortedByName) {
  const std::vector<std::string> lines = rank_environment(third_of_four(), {{"ZZ", "1"}}, {}).lines;
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()));
}

}  // namespace
}  // namespace dtl::environment_test
