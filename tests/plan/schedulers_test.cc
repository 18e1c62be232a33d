// Environments from real schedulers: tests/data/schedulers. expected.txt there has the results.
// After an intended change, rewrite it and check the difference: DTL_WRITE_TABLES=1
// build/release/bin/plan_test --gtest_filter='Scheduler.*'

#include "plan/schedulers/evidence.h"
#include "plan/schedulers/flux.h"
#include "plan/schedulers/grid_engine.h"
#include "plan/schedulers/kubernetes.h"
#include "plan/schedulers/lsf.h"
#include "plan/schedulers/pbs.h"
#include "plan/schedulers/slurm.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "tests/support/folders.h"

namespace dtl::scheduler_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string data(const std::string& name) {
  return read_file(test::source_path("tests/data/schedulers/" + name), 1 << 16);
}

Variables fixture(const std::string& name) {
  Variables environment;
  for (const std::string& line : split(data(name + ".env"), '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos) continue;
    environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return environment;
}

// The host lists that the fixtures' variables name.
SchedulerAnswers answers_for(const SchedulerQuestions& questions) {
  SchedulerAnswers answers;
  answers.file_problem = "no such file";
  answers.host_name = "elsewhere";
  answers.cpus = 8;
  answers.numa_nodes = 1;
  if (questions.scheduler == &kPbs) answers.file = data("pbs-nodefile");
  if (questions.scheduler == &kGridEngine) answers.file = data("sge-pe_hostfile");
  if (questions.scheduler == &kMpiJob) answers.file = data("k8s-mpijob-hostfile-intel");
  if (questions.scheduler == &kTrainJob) answers.file = data("k8s-mpijob-hostfile-openmpi");
  if (questions.tool) answers.tool = "corona[5-6]\n";
  if (questions.pod_keys) answers.pod_keys = "/home/dtl/.ssh";
  if (!questions.running.empty()) {
    answers.running = "#!/bin/sh\necho dtl-worker-0.dtl.ns1.svc\n";
  }
  return answers;
}

SchedulerEvidence find(const Variables& environment, std::optional<const Scheduler*> wanted = {}) {
  return find_scheduler(environment, wanted, answers_for(scheduler_questions(environment, wanted)));
}

Variables with(Variables environment, const Variables& more) {
  environment.insert(environment.end(), more.begin(), more.end());
  return environment;
}

std::vector<std::string> hosts_of(const SchedulerEvidence& evidence) {
  std::vector<std::string> texts;
  for (const Host& host : evidence.hosts) {
    texts.push_back(fmt::format(
        "{}{}{}{}", host.name, host.slots ? fmt::format(":{}", *host.slots) : "",
        host.max_slots ? fmt::format(" of {}", *host.max_slots) : "", host.here ? " here" : ""));
  }
  return texts;
}

template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(Exit::kOk, "no error", "");
}

TEST(Schedulers, ReadsEveryFixtureAsExpected) {
  const std::string path = test::source_path("tests/data/schedulers/expected.txt");
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_path("tests/data/schedulers"))) {
    if (entry.path().extension() == ".env") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  std::string seen;
  for (const std::string& name : names) {
    const std::string text = evidence_text(find(fixture(name)));
    seen += fmt::format("== {}\n{}\n", name, text);
    for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;
  }
  EXPECT_GE(names.size(), 30u);
  if (std::getenv("DTL_WRITE_TABLES") != nullptr) std::ofstream(path) << seen;
  EXPECT_EQ(seen, data("expected.txt"));
}

TEST(Schedulers, TakesABatchScriptForTheLauncher) {
  const SchedulerEvidence evidence = find(fixture("slurm22-sbatch-N2-n4"));
  EXPECT_EQ(evidence.role, SchedulerRole::kLauncher);  // although PROCID=0 and NTASKS=4 are set
  EXPECT_THAT(hosts_of(evidence), ElementsAre("n1:2 here", "n2:2"));
  EXPECT_EQ(evidence.starter, kSlurm.starter);
  EXPECT_TRUE(evidence.hosts_are_all);
  EXPECT_EQ(evidence.job_id, "1");
}

TEST(Schedulers, TakesAnInteractiveStepForTheLauncher) {
  const SchedulerEvidence evidence = find(fixture("slurm22-salloc-interactive-step"));
  EXPECT_EQ(evidence.role, SchedulerRole::kLauncher);
  EXPECT_THAT(hosts_of(evidence), ElementsAre("n1:2", "n2:2"));
}

TEST(Schedulers, TakesSlotsFromTasksOnlyWhereTheyWereAskedFor) {
  EXPECT_THAT(hosts_of(find(fixture("slurm22-sbatch-N2-n3"))), ElementsAre("n1:2 here", "n2:1"));
  EXPECT_THAT(hosts_of(find(fixture("slurm22-sbatch-exclusive"))),
              ElementsAre("n1 of 2 here", "n2 of 2"));
  EXPECT_THAT(hosts_of(find(fixture("slurm22-salloc-N2"))), ElementsAre("n1 of 1", "n2 of 1"));
  // In a step of one task, the step's numbers are not those of the job.
  EXPECT_THAT(hosts_of(find(fixture("slurm22-step-n1"))), ElementsAre("n1 of 2 here", "n2 of 1"));
}

TEST(Schedulers, CountsSlurmsRestarts) {
  EXPECT_EQ(find(fixture("slurm22-sbatch-requeued")).restart, 1);
  EXPECT_EQ(find(fixture("slurm22-sbatch-N2-n4")).restart, 0);
}

TEST(Schedulers, TellsNodesFromRanksOfAStep) {
  const SchedulerEvidence node = find(fixture("slurm22-step-ntpn1-node1"));
  EXPECT_EQ(node.role, SchedulerRole::kNode);
  EXPECT_EQ(node.node_rank, 1);
  EXPECT_EQ(node.node_count, 2);
  EXPECT_EQ(node.coordinator, "n1");
  EXPECT_FALSE(node.is_coordinator);
  EXPECT_EQ(node.job_id, "13.0");
  EXPECT_FALSE(node.refusal);
  const SchedulerEvidence rank = find(fixture("slurm22-step-N2-n3-rank2"));
  EXPECT_EQ(rank.role, SchedulerRole::kRank);
  EXPECT_EQ(rank.rank->rank, 2);
  EXPECT_EQ(rank.rank->local_rank, 0);
  EXPECT_EQ(rank.rank->world_size, 3);
  EXPECT_EQ(rank.coordinator, "n1");
  EXPECT_FALSE(rank.is_coordinator);
  EXPECT_FALSE(rank.refusal);
  EXPECT_TRUE(find(with(fixture("slurm22-step-pmi2-rank1"),
                        {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}}))
                  .is_coordinator);
}

TEST(Schedulers, HasStepsMeetAtPortsOfTheirOwn) {
  const Variables step = fixture("slurm22-step-N2-n3-rank2");
  const int port = find(step).coordinator_port;
  EXPECT_GE(port, 29500);
  EXPECT_LT(port, 30000);
  EXPECT_NE(port, find(with(step, {{"SLURM_STEP_ID", "1"}})).coordinator_port);
  EXPECT_NE(port, find(with(step, {{"SLURM_JOB_ID", "14"}})).coordinator_port);
  const SchedulerEvidence said = find(with(step, {{"DTL_RDZV", "n1-ib:4000"}}));
  EXPECT_EQ(said.coordinator, "n1-ib");
  EXPECT_EQ(said.coordinator_port, 4000);
}

TEST(Schedulers, AsksFluxWhereItsTasksMeet) {
  const SchedulerQuestions questions = scheduler_questions(fixture("flux-task5"), {});
  EXPECT_EQ(questions.tool->argument, "fDqp2aRk9");
  const SchedulerEvidence rank = find(fixture("flux-task5"));
  EXPECT_EQ(rank.role, SchedulerRole::kRank);
  EXPECT_EQ(rank.rank->rank, 5);
  EXPECT_EQ(rank.rank->world_size, 8);
  EXPECT_EQ(rank.coordinator, "corona5");
  EXPECT_FALSE(rank.refusal);
  EXPECT_EQ(find(fixture("flux-node1")).coordinator, "corona5");
  // Without an answer, it asks for DTL_RDZV; with an answer, it asks nothing.
  EXPECT_TRUE(find_scheduler(fixture("flux-task5"), {}, {}).refusal);
  const Variables told = with(fixture("flux-task5"), {{"DTL_RDZV", "c5:4000"}});
  EXPECT_FALSE(scheduler_questions(told, {}).tool);
  EXPECT_EQ(find_scheduler(told, {}, {}).coordinator, "c5");
  SchedulerAnswers garbage;
  garbage.tool = "flux: command failed!";
  EXPECT_EQ(error_of([&] { find_scheduler(fixture("flux-task5"), {}, garbage); }).status(),
            Exit::kBadInput);
}

TEST(Schedulers, RefusesHeterogeneousJobs) {
  const SchedulerEvidence evidence = find(fixture("slurm22-sbatch-het"));
  ASSERT_TRUE(evidence.refusal);
  EXPECT_THAT(evidence.refusal->attempted, HasSubstr("SLURM_HET_SIZE"));
  EXPECT_FALSE(find(with(fixture("slurm22-sbatch-N2-n4"), {{"SLURM_HET_SIZE", "1"}})).refusal);
}

TEST(Schedulers, RefusesCountsThatDoNotFit) {
  const Variables good = fixture("slurm22-sbatch-N2-n4");
  const auto refusal = [&](const char* name, const char* value) {
    const Error error = error_of([&] { find(with(good, {{name, value}})); });
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return std::string(error.what());
  };
  EXPECT_THAT(refusal("SLURM_TASKS_PER_NODE", "2(x3)"),
              AllOf(HasSubstr("SLURM_TASKS_PER_NODE=2(x3): column 1"), HasSubstr("2 nodes")));
  EXPECT_THAT(refusal("SLURM_TASKS_PER_NODE", "2"), HasSubstr("1 of 2 nodes"));
  EXPECT_THAT(refusal("SLURM_JOB_NUM_NODES", "3"),
              AllOf(HasSubstr("SLURM_JOB_NODELIST=n[1-2]: it names 2 hosts"),
                    HasSubstr("SLURM_JOB_NUM_NODES says 3")));
  EXPECT_THAT(refusal("SLURM_JOB_NODELIST", "n1,n1"), HasSubstr("names n1 twice"));
  EXPECT_THAT(refusal("SLURM_JOB_NODELIST", "n[2-1]"), HasSubstr("column 3"));
  EXPECT_THAT(refusal("SLURM_JOB_NODELIST", "-oProxyCommand=x,n2"), HasSubstr("'-o"));
  EXPECT_THAT(refusal("SLURM_JOB_NODELIST", "n1;reboot,n2"), HasSubstr("';'"));
  EXPECT_THAT(refusal("SLURM_JOB_ID", "\x1b[2J"), HasSubstr("SLURM_JOB_ID=\\x1b[2J"));
  EXPECT_THAT(refusal("SLURM_STEP_ID", "first"), HasSubstr("SLURM_STEP_ID=first"));
}

TEST(Schedulers, TakesScontrolsOrderAndNothingElse) {
  const Variables environment =
      with(fixture("slurm22-salloc-N2"), {{"SLURM_JOB_NODELIST", "r[1-2]n[1-2]"},
                                          {"SLURM_JOB_NUM_NODES", "4"},
                                          {"SLURM_JOB_CPUS_PER_NODE", "1(x4)"}});
  const SchedulerQuestions questions = scheduler_questions(environment, {});
  EXPECT_EQ(questions.tool->argument, "r[1-2]n[1-2]");
  EXPECT_FALSE(scheduler_questions(fixture("slurm22-salloc-N2"), {}).tool);
  SchedulerAnswers answers;
  answers.tool = "r1n1\nr2n1\nr1n2\nr2n2\n";
  EXPECT_EQ(find_scheduler(environment, {}, answers).hosts[1].name, "r2n1");
  answers.tool = "r1n1\nevil\n";
  EXPECT_EQ(find_scheduler(environment, {}, answers).hosts[1].name, "r1n2");
}

TEST(Schedulers, ReadsTheListsOfBatchSystems) {
  EXPECT_THAT(hosts_of(find(fixture("pbs"))), ElementsAre("h1:2", "h2:3"));
  EXPECT_THAT(find(fixture("pbs")).host_lines, ElementsAre(0, 2));
  EXPECT_THAT(hosts_of(find(fixture("lsf"))), ElementsAre("h1:2", "h2:4"));
  EXPECT_THAT(hosts_of(find(fixture("sge"))), ElementsAre("h1:2", "h2:4"));
  EXPECT_EQ(find(fixture("lsf")).starter_folder, "/lsf/bin");
  EXPECT_EQ(find(fixture("sge")).starter_folder, "/opt/sge/bin/lx-amd64");
  EXPECT_THAT(hosts_of(find({{"LSB_HOSTS", "h1 h2 h1"}})), ElementsAre("h1:2", "h2:1"));
  EXPECT_EQ(find(with(fixture("lsf"), {{"LSB_RESTART", "Y"}})).restart, 1);
  SchedulerAnswers answers;
  answers.host_name = "h2.cluster";
  EXPECT_THAT(hosts_of(find_scheduler(fixture("lsf"), {}, answers)),
              ElementsAre("h1:2", "h2:4 here"));
}

TEST(Schedulers, SaysWhatIsWrongInALine) {
  const auto refusal = [&](const std::string& name, const std::string& text) {
    SchedulerAnswers answers;
    answers.file = text;
    return std::string(error_of([&] { find_scheduler(fixture(name), {}, answers); }).what());
  };
  EXPECT_THAT(refusal("pbs", "h1\n\nh2 slots=2\n"), HasSubstr("/tmp/nodefile:3:4: 'slots=2'"));
  EXPECT_THAT(refusal("pbs", "\n"), HasSubstr("/tmp/nodefile:1:1: it names no host"));
  EXPECT_THAT(refusal("sge", "h1 2 q@h1 UNDEFINED\nh2 many q\n"), HasSubstr(":2:4: 'many'"));
  EXPECT_THAT(refusal("sge", "h1\n"), HasSubstr(":1:1: a line is"));
  EXPECT_THAT(error_of([] {
                find({{"LSB_MCPU_HOSTS", "h1 2 h2"}});
              }).what(),
              HasSubstr("LSB_MCPU_HOSTS=h1 2 h2: column 6: no number of slots"));
  SchedulerAnswers none;
  none.file_problem = "gone";
  const Error unread = error_of([&] { find_scheduler(fixture("pbs"), {}, none); });
  EXPECT_THAT(unread.what(), HasSubstr("PBS_NODEFILE=/tmp/nodefile: cannot read: gone"));
  EXPECT_EQ(unread.status(), Exit::kBadInput);
}

TEST(Schedulers, ReadsBothKindsOfMpiJobsHostfiles) {
  const auto hosts = [](const std::string& name, const std::string& file) {
    SchedulerAnswers answers;
    answers.file = data(file);
    return hosts_of(find_scheduler(fixture(name), {}, answers));
  };
  const auto intel = hosts("k8s-mpijob-launcher-intel", "k8s-mpijob-hostfile-intel");
  EXPECT_THAT(intel, ElementsAre("dtl-worker-0.dtl.ns1.svc:2", "dtl-worker-1.dtl.ns1.svc:2"));
  EXPECT_EQ(hosts("k8s-mpijob-launcher-openmpi", "k8s-mpijob-hostfile-openmpi"), intel);
  EXPECT_EQ(hosts("k8s-mpijob-launcher-mpich", "k8s-mpijob-hostfile-intel"), intel);
  EXPECT_EQ(scheduler_questions({{"K_MPI_JOB_ROLE", "launcher"}}, {}).file, "/etc/mpi/hostfile");
  EXPECT_FALSE(find(fixture("k8s-mpijob-launcher-intel")).hosts_are_all);
}

TEST(Schedulers, NumbersPodsAndNotRanksInPyTorchJobs) {
  SchedulerEvidence evidence = find(fixture("k8s-pytorchjob-master-worker1-nproc2"));
  EXPECT_EQ(evidence.scheduler, &kPyTorchJob);
  EXPECT_EQ(evidence.role, SchedulerRole::kNode);
  EXPECT_EQ(evidence.node_rank, 2);
  EXPECT_EQ(evidence.node_count, 4);
  EXPECT_EQ(evidence.ranks_per_node, 2);
  EXPECT_EQ(evidence.coordinator, "dtl-master-0");
  EXPECT_EQ(evidence.coordinator_port, 23456);
  EXPECT_THAT(evidence.follows, Contains(HasSubstr("the ranks 4-5 of 8")));
}

TEST(Schedulers, NeedsNoRankInAnElasticPyTorchJob) {
  const SchedulerEvidence evidence = find(fixture("k8s-pytorchjob-elastic-worker2"));
  EXPECT_FALSE(evidence.node_rank);
  EXPECT_EQ(evidence.node_hint, 2);
  EXPECT_EQ(evidence.elastic->least, 1);
  EXPECT_EQ(evidence.elastic->most, 4);
  EXPECT_EQ(evidence.max_restarts, 10);
  EXPECT_FALSE(evidence.is_coordinator);
  for (const char* endpoint : {"dtl-elastic-worker-0:23456", "a-service-of-the-users:29500"}) {
    const Variables first = {{"HOSTNAME", "dtl-elastic-worker-0"}, {"PET_RDZV_ENDPOINT", endpoint}};
    EXPECT_TRUE(find(with(fixture("k8s-pytorchjob-elastic-worker2"), first)).is_coordinator);
  }
}

TEST(Schedulers, FindsTheFirstWorkerOfAJobWithoutAMaster) {
  const SchedulerEvidence evidence = find(fixture("k8s-pytorchjob-worker3-alone"));
  EXPECT_EQ(evidence.node_rank, 3);
  EXPECT_EQ(evidence.coordinator, "dtl-worker-0");
  EXPECT_EQ(evidence.coordinator_port, 23456);
  const SchedulerEvidence renamed =
      find(with(fixture("k8s-pytorchjob-worker3-alone"), {{"HOSTNAME", "a-pod"}}));
  EXPECT_THAT(renamed.refusal->hint, HasSubstr("DTL_RDZV="));
}

TEST(Schedulers, WarnsOfARankOnEachCpu) {
  const Variables pod = fixture("k8s-trainjob-torch-node1");
  EXPECT_EQ(find(pod).scheduler, &kTrainJob);
  EXPECT_THAT(find(pod).crowded,
              AllOf(HasSubstr("PET_NPROC_PER_NODE=8 for 8 CPUs"), HasSubstr("-ppn 1")));
  EXPECT_THAT(find(with(pod, {{"PET_NPROC_PER_NODE", "4"}})).crowded, IsEmpty());
  EXPECT_THAT(find(with(pod, {{"PET_NPROC_PER_NODE", "1"}})).crowded, IsEmpty());
}

TEST(Schedulers, KnowsThePodsOfIndexedJobs) {
  const Variables pod = fixture("k8s-jobset-worker3");
  EXPECT_EQ(find(pod).node_rank, 3);
  EXPECT_EQ(find(pod).coordinator, "dtl-workers-0-0.dtl");
  EXPECT_EQ(find(with(pod, {{"DTL_RESTART", "2"}, {"DTL_JOB_ID", "u-1"}})).restart, 2);
  EXPECT_EQ(find(with(pod, {{"DTL_NODE_RANK", "1"}})).node_rank, 1);
  EXPECT_THAT(error_of([&] {
                find(with(pod, {{"DTL_RDZV", ""}}));
              }).what(),
              HasSubstr("DTL_RDZV: missing"));
  EXPECT_THAT(error_of([&] {
                find(with(pod, {{"JOB_COMPLETION_INDEX", "4"}}));
              }).what(),
              HasSubstr("JOB_COMPLETION_INDEX=4: there are only 4 nodes"));
  const SchedulerEvidence uncounted = find(with(pod, {{"DTL_NNODES", ""}}));
  EXPECT_EQ(uncounted.node_rank, 3);
  EXPECT_EQ(uncounted.node_count, std::nullopt);
  EXPECT_THAT(uncounted.follows, ElementsAre(HasSubstr("--nnodes")));
  const SchedulerEvidence alone = find({{"JOB_COMPLETION_INDEX", "3"}});
  EXPECT_EQ(alone.scheduler, nullptr);
  EXPECT_THAT(alone.warnings, ElementsAre(HasSubstr("DTL_NNODES")));
}

TEST(Schedulers, LetsOwnVariablesWin) {
  const SchedulerEvidence evidence =
      find(with(fixture("k8s-pytorchjob-master-worker1-nproc2"),
                {{"DTL_NNODES", "2:8"}, {"DTL_RDZV", "[fe80::1]:99"}, {"DTL_NODE_RANK", "5"}}));
  EXPECT_EQ(evidence.node_rank, 5);
  EXPECT_EQ(evidence.elastic->most, 8);
  EXPECT_EQ(evidence.coordinator, "fe80::1");
  EXPECT_EQ(evidence.coordinator_port, 99);
}

TEST(Schedulers, RefusesTwoThatAreNotRelated) {
  const Variables both = with(fixture("slurm22-sbatch-N2-n4"), {{"JOB_COMPLETION_INDEX", "0"}});
  const Error error = error_of([&] { find(both); });
  EXPECT_EQ(error.status(), Exit::kUsage);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("JOB_COMPLETION_INDEX by indexed-job"),
                    HasSubstr("SLURM_JOB_ID: set by slurm"), HasSubstr("--scheduler slurm")));
  EXPECT_EQ(find(both, &kSlurm).scheduler, &kSlurm);
  EXPECT_EQ(find(both, nullptr).scheduler, nullptr);
  EXPECT_THROW(find(both, &kLsf), Error);
  EXPECT_THROW(find(with(fixture("pbs"), fixture("lsf"))), Error);
}

TEST(Schedulers, KnowsWhichStandInsideAnother) {
  const Variables slurm = fixture("slurm22-sbatch-N2-n4");
  EXPECT_EQ(find(with(slurm, fixture("flux-task5"))).scheduler, &kFlux);
  EXPECT_EQ(find(with(slurm, {{"FLUX_URI", "local:///x"}})).scheduler, &kFlux);
  // Variables that users export for torchrun and Open MPI do not mean a scheduler.
  EXPECT_EQ(find(with(slurm, {{"PET_NNODES", "2"}})).scheduler, &kSlurm);
  EXPECT_EQ(find(with(slurm, {{"OMPI_MCA_orte_default_hostfile", "/x"}})).scheduler, &kSlurm);
  // A rank that starts its own job does not want the hosts of the outer job.
  EXPECT_EQ(find(with(slurm, {{"DTLAUNCH_JOB", "1234"}})).scheduler, nullptr);
  EXPECT_EQ(find(with(slurm, {{"DTLAUNCH_JOB", "1"}}), &kSlurm).scheduler, &kSlurm);
}

}  // namespace
}  // namespace dtl::scheduler_test
