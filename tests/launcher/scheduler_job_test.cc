#include "launcher/request/scheduler_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/host_name.h"
#include "base/text.h"
#include "plan/schedulers/lsf.h"
#include "plan/schedulers/pbs.h"
#include "plan/schedulers/slurm.h"

namespace dtl::scheduler_job_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SchedulerJobTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/scheduler_job_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    around_.working_directory = folder_;
    around_.program_directory = "/opt/dtlaunch/bin";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  JobSettings describe(std::vector<std::string> words) {
    return describe_job(read_job_inputs(parse_command_line(words), around_), around_);
  }
  std::string shown(const CommandLine& line) const {  // as --show-scheduler prints it
    return evidence_text(evidence_beside(read_job_inputs(line, around_), around_.environment));
  }
  // The program that a person uses to look at the host.
  static std::string shown_by(const HostAccess& access) {
    if (access.by_ssh()) return "ssh";
    if (access.to_pod()) return access.commands->login.empty() ? "pod" : "worker";
    return split(std::string(access.commands->state), ' ')[0];
  }
  static std::vector<std::string> names(const std::vector<Host>& hosts) {
    std::vector<std::string> all;
    for (const Host& host : hosts) all.push_back(host.name);
    return all;
  }

  std::string folder_;
  Surroundings around_;
};

TEST_F(SchedulerJobTest, Usr1IsANoticeInAJobOfSlurmUnlessToldOtherwise) {
  EXPECT_FALSE(describe({"p"}).request.ending.notice_signal);
  EXPECT_EQ(describe({"--notice-signal", "SIGUSR2", "p"}).request.ending.notice_signal, SIGUSR2);
  EXPECT_EQ(kSlurm.notice_signal, SIGUSR1);
  EXPECT_EQ(kPbs.notice_signal, 0);
  JobInputs inputs = read_job_inputs(parse_command_line({"-hosts", "a,b", "p"}), around_);
  inputs.nodes = NodesThatCame{&kSlurm};  // from `srun dtlaunch`
  EXPECT_EQ(describe_job(inputs, around_).request.ending.notice_signal, SIGUSR1);
  inputs.line.ending.notice_signal = 0;
  EXPECT_EQ(describe_job(inputs, around_).request.ending.notice_signal, 0);
}

TEST_F(SchedulerJobTest, SpotIsOffUnlessAskedForAndMayStandInAJobFile) {
  EXPECT_EQ(describe({"p"}).request.ending.spot, Cloud::kOff);
  EXPECT_EQ(describe({"--spot", "AWS", "p"}).request.ending.spot, Cloud::kAws);
  const std::string job = file("job.toml",
                               "program = \"p\"\nspot = \"azure\"\n"
                               "notice_signal = \"USR2\"\n");
  EXPECT_EQ(describe({"-c", job}).request.ending.spot, Cloud::kAzure);
  EXPECT_EQ(describe({"-c", job}).request.ending.notice_signal, SIGUSR2);
  EXPECT_EQ(describe({"-c", job, "--spot", "off"}).request.ending.spot, Cloud::kOff);
  EXPECT_THROW(describe({"--spot", "hetzner", "p"}), Error);
  EXPECT_THROW(describe({"--notice-signal", "TERM", "p"}), Error);
}

// MPIJob and Slurm set these for every job. They concern the ssh program, or srun.
TEST(SiteVariables, ArgumentsForSshThatMeanNothingHereAreNoWarning) {
  const CommandLine line =
      parse_command_line({"p"}, {{"HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10"},
                                 {"HYDRA_LAUNCHER_EXTRA_ARGS", "--external-launcher"},
                                 {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "--external-launcher"},
                                 {"OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"},
                                 {"OMPI_MCA_plm_slurm_args", "--external-launcher"}});
  EXPECT_THAT(line.warnings, testing::IsEmpty());
  EXPECT_EQ(line.notes.size(), 5u);
  EXPECT_THAT(parse_command_line({"p"}, {{"HYDRA_LAUNCH_EXTRA_ARGS", "-i key"}}).warnings,
              testing::ElementsAre(HasSubstr("HYDRA_LAUNCH_EXTRA_ARGS=-i key: left out")));
}

TEST_F(SchedulerJobTest, TakesTheHostsOfTheScheduler) {
  around_.environment = {{"LSB_JOBID", "4"}, {"LSB_MCPU_HOSTS", "h1 2 h2 1"}, {"LSF_BINDIR", "/l"}};
  const JobSettings settings = describe({"p"});
  EXPECT_THAT(names(settings.request.hosts), ElementsAre("h1", "h2"));
  EXPECT_EQ(settings.request.hosts[0].slots, 2);
  EXPECT_EQ(settings.scheduler, &kLsf);
  EXPECT_THAT(settings.carrier, ElementsAre("/l/blaunch"));
  EXPECT_THAT(describe({"-launcher", "ssh", "p"}).carrier, IsEmpty());
  EXPECT_THAT(describe({"-launcher", "qrsh", "p"}).carrier, ElementsAre("qrsh", "-inherit", "-V"));
  EXPECT_THAT(names(describe({"-n", "2", "p"}).request.hosts), ElementsAre("h1"));
  EXPECT_THAT(describe({"--scheduler", "none", "p"}).request.hosts, IsEmpty());
  const std::string job = file("job.toml", "program = \"p\"\n[hosts]\nlist = [\"h2\"]\n");
  EXPECT_THAT(names(describe({"-c", job}).request.hosts), ElementsAre("h2"));
}

TEST_F(SchedulerJobTest, KeepsToTheAllocation) {
  around_.environment = {{"LSB_MCPU_HOSTS", "h1 2 h2 1"}};
  EXPECT_THAT(names(describe({"-hosts", "h2.cluster", "p"}).request.hosts),
              ElementsAre("h2.cluster"));
  try {
    describe({"-hosts", "h1,h3,h4", "p"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    EXPECT_THAT(error.what(), testing::StartsWith("h3, h4: not in the allocation: lsf has"));
  }
  EXPECT_THAT(names(describe({"--scheduler", "none", "-hosts", "h3", "p"}).request.hosts),
              ElementsAre("h3"));
  const std::string nodes = file("nodes", "h1\nh1\n");
  around_.environment = {{"PBS_NODEFILE", nodes}};  // PBS allows use of other hosts
  EXPECT_THAT(names(describe({"-hosts", "h3", "p"}).request.hosts), ElementsAre("h3"));
  EXPECT_EQ(describe({"p"}).request.hosts[0].slots, 2);
  around_.environment = {{"PBS_NODEFILE", folder_ + "/none"}};
  EXPECT_THROW(describe({"p"}), Error);
}

TEST_F(SchedulerJobTest, IsOneOfSeveralNodesOnlyWhereItIsAlone) {
  around_.environment = {{"PET_NNODES", "1"}, {"PET_NODE_RANK", "0"}, {"PET_NPROC_PER_NODE", "3"}};
  EXPECT_THAT(describe({"p"}).request.hosts, IsEmpty());
  EXPECT_EQ(describe({"p"}).request.placement.ranks_per_node, 3);
  EXPECT_EQ(describe({"-ppn", "1", "p"}).request.placement.ranks_per_node, 1);
  around_.environment[0].second = "2";
  around_.environment.emplace_back("PET_MASTER_ADDR", "m");
  EXPECT_THROW(describe({"p"}), Error);
  EXPECT_THAT(names(describe({"-hosts", "a,b", "p"}).request.hosts), ElementsAre("a", "b"));
  around_.environment.emplace_back("DTL_SCHEDULER", "none");
  EXPECT_THAT(describe_job(read_job_inputs(parse_command_line({"p"}, around_.environment), around_),
                           around_)
                  .request.hosts,
              IsEmpty());
}

TEST_F(SchedulerJobTest, LetsNobodySayWhereTasksAre) {
  SchedulerEvidence evidence;
  evidence.scheduler = &kSlurm;
  evidence.role = SchedulerRole::kRank;
  evidence.node_count = 2;
  evidence.rank = SchedulerRank{1, 0, 4};
  const auto refused = [&](const std::vector<std::string>& words) {
    try {
      check_tasks(parse_command_line(words), evidence);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("slurm has started 4 tasks of dtlaunch"));
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused({"-np", "4", "--nnodes", "2", "p"}));
  EXPECT_FALSE(refused({"--oversubscribe", "p"}));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"-np", "3", "p"},
                                                {"--nnodes", "1", "p"},
                                                {"--nnodes", "1:4", "p"},
                                                {"-ppn", "2", "p"},
                                                {"-rr", "p"},
                                                {"-rankmap", "0,0,1,1", "p"},
                                                {"-np", "1:4", "p"},
                                                {"--max-restarts", "1", "--spares", "1", "p"},
                                                {"-skip-launch-node", "p"}}) {
    EXPECT_TRUE(refused(words)) << words[0] << " " << words[1];
  }
  evidence.role = SchedulerRole::kNode;
  EXPECT_FALSE(refused({"-ppn", "2", "p"}));
}

TEST_F(SchedulerJobTest, StartsNoCopiesOnHostsThatAreNamed) {
  around_.environment = {{"FLUX_TASK_RANK", "0"},  {"FLUX_JOB_SIZE", "4"},
                         {"FLUX_JOB_NNODES", "2"}, {"FLUX_TASK_LOCAL_ID", "0"},
                         {"DTL_RDZV", "a:1"},      {"FLUX_JOB_ID", "f"}};
  EXPECT_THROW(describe({"-hosts", "a,b", "p"}), Error);
  EXPECT_THROW(describe({"p"}), Error);
  around_.environment.emplace_back("DTL_SCHEDULER", "none");
  EXPECT_THAT(names(describe_job(
                        read_job_inputs(
                            parse_command_line({"-hosts", "a", "p"}, around_.environment), around_),
                        around_)
                        .request.hosts),
              ElementsAre("a"));
}

TEST_F(SchedulerJobTest, KnowsHowAPersonGetsAtTheHosts) {
  const auto by = [&](const std::vector<std::string>& words) {
    return describe(words).request.hosts.at(1).access;
  };
  EXPECT_EQ(shown_by(by({"-hosts", "a,b", "p"})), "ssh");
  ::chmod(file("srun", "").c_str(), 0755);
  around_.environment = {
      {"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "h[1-3]"},  {"SLURM_JOB_NUM_NODES", "3"},
      {"SLURM_NTASKS", "3"}, {"SLURM_TASKS_PER_NODE", "1(x3)"}, {"PATH", folder_}};
  EXPECT_EQ(shown_by(by({"p"})), "scontrol");
  EXPECT_EQ(by({"p"}).job, "7");
  EXPECT_EQ(by({"-hosts", "h1,h2.cluster", "p"}).name, "h2");
  EXPECT_EQ(shown_by(by({"-launcher", "ssh", "p"})), "ssh");
  EXPECT_EQ(shown_by(by({"-launcher", "fork", "p"})), "ssh");
  const JobSettings spare = describe({"-n", "2", "--max-restarts", "1", "p"});
  EXPECT_EQ(shown_by(spare.spares.at(0).access), "scontrol");
  EXPECT_EQ(shown_by(within_allocation(spare, {spare.spares[0]})[0].access), "scontrol");
  EXPECT_EQ(shown_by(settings_of_scheduler(around_).request.hosts.at(0).access), "scontrol");

  around_.environment = {{"LSB_JOBID", "4"}, {"LSB_MCPU_HOSTS", "h1 1 h2 1"}};
  EXPECT_EQ(shown_by(by({"p"})), "bhosts");
  EXPECT_EQ(shown_by(by({"-launcher", "ssh", "p"})), "ssh");
  around_.environment = {{"PBS_NODEFILE", file("nodes", "h1\nh2\n")}};
  EXPECT_EQ(shown_by(by({"p"})), "ssh");
  ::chmod(file("pbs_tmrsh", "").c_str(), 0755);
  around_.environment.emplace_back("PATH", folder_);
  EXPECT_EQ(shown_by(by({"p"})), "pbsnodes");
  EXPECT_EQ(shown_by(by({"-launcher", "ssh", "p"})), "ssh");
  EXPECT_EQ(shown_by(by({"-hosts", "h1,bob@h2", "p"})), "ssh");
  around_.environment = {{"K_MPI_JOB_ROLE", "launcher"},
                         {"HYDRA_HOST_FILE", file("pods", "w-0.a.b.svc\nw-1.a.b.svc\n")}};
  EXPECT_EQ(shown_by(by({"p"})), "worker");
  EXPECT_EQ(shown_by(by({"-hosts", "w-0,w-1", "p"})), "worker");
  // The only node of its job, and hosts outside it.
  around_.environment = {{"PET_NNODES", "1"}, {"PET_NODE_RANK", "0"}};
  EXPECT_EQ(shown_by(describe({"p"}).request.here), "ssh");  // set by hand
  around_.environment.emplace_back("KUBERNETES_SERVICE_HOST", "10.96.0.1");
  EXPECT_EQ(shown_by(describe({"p"}).request.here), "pod");
  EXPECT_EQ(shown_by(by({"-hosts", "a,b", "p"})), "ssh");
}

TEST_F(SchedulerJobTest, StartsAgentsOverSshInAJobOfPbsWithoutItsStartersAndSaysSo) {
  around_.environment = {{"PBS_NODEFILE", file("nodes", "h1\nh2\n")}};
  const JobSettings settings = describe({"p"});
  EXPECT_FALSE(settings.step);
  EXPECT_THAT(
      settings.notices,
      ElementsAre("there is no pbs_tmrsh or pbsdsh on PATH or in $PBS_EXEC/bin: agents start "
                  "over ssh, outside of what PBS counts and ends"));
  EXPECT_THAT(describe({"-launcher", "ssh", "p"}).notices, IsEmpty());
  EXPECT_THROW(describe({"-launcher", "pbs", "p"}), Error);
  EXPECT_THAT(shown(parse_command_line({"--show-scheduler"})),
              HasSubstr("starter     ssh\nso          there is no pbs_tmrsh or pbsdsh on PATH"));
}

TEST_F(SchedulerJobTest, StartsAgentsInTasksOfPbs) {
  const std::string own = own_host_name();
  around_.environment = {{"PBS_JOBID", "9.srv"},
                         {"PBS_NODEFILE", file("nodes", own + "\nh2\n" + own + "\nh3\nh2\n")},
                         {"PBS_EXEC", folder_}};
  std::filesystem::create_directory(folder_ + "/bin");
  ::chmod(file("bin/pbsdsh", "").c_str(), 0755);
  const JobSettings all = describe({"p"});
  ASSERT_TRUE(all.step);
  EXPECT_EQ(all.step->by, kPbs.starter);
  EXPECT_EQ(all.step->program, folder_ + "/bin/pbsdsh");
  EXPECT_THAT(names(all.step->nodes), ElementsAre("h2", "h3"));  // here it is dtlaunch's child
  EXPECT_THAT(all.step->lines, ElementsAre(1, 3));
  EXPECT_EQ(all.step->job, "9.srv");
  EXPECT_EQ(all.step->meeting_host, own);
  EXPECT_FALSE(all.step->only);
  EXPECT_THAT(all.notices, IsEmpty());

  ::chmod(file("bin/pbs_tmrsh", "").c_str(), 0755);
  EXPECT_EQ(describe({"p"}).step->program, folder_ + "/bin/pbs_tmrsh");
  EXPECT_EQ(describe({"-launcher", "pbsdsh", "p"}).step->program, folder_ + "/bin/pbsdsh");
  EXPECT_THAT(shown(parse_command_line({"--show-scheduler"})),
              HasSubstr("bin/pbs_tmrsh for each host"));
  EXPECT_THAT(describe({"--dry-run", "p"}).notices,
              ElementsAre("agents start by pbs_tmrsh, in tasks of job 9.srv, on h2, h3"));

  EXPECT_THAT(names(describe({"-n", "3", "p"}).step->nodes), ElementsAre("h2"));
  EXPECT_THAT(describe({"-hosts", "h3", "p"}).step->lines, ElementsAre(3));
  EXPECT_FALSE(describe({"-n", "1", "p"}).step);
  EXPECT_EQ(describe({"--start-timeout", "9", "p"}).step->patience, std::chrono::seconds(9));
  EXPECT_FALSE(describe({"-launcher", "ssh", "p"}).step);
}

TEST_F(SchedulerJobTest, LeavesToSshWhatTasksOfPbsCannot) {
  around_.environment = {{"PBS_NODEFILE", file("nodes", "h1\nh2\n")}, {"PATH", folder_}};
  ::chmod(file("pbs_tmrsh", "").c_str(), 0755);
  ASSERT_TRUE(describe({"p"}).step);
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--push"}, {"--reconnect", "9"}}) {
    std::vector<std::string> words = option;
    words.push_back("p");
    const JobSettings settings = describe(words);
    EXPECT_FALSE(settings.step);
    EXPECT_THAT(settings.notices, testing::Contains(HasSubstr("agents start over ssh")));
    words.insert(words.begin(), {"-launcher", "tmrsh"});
    EXPECT_THROW(describe(words), Error);
  }
  const JobSettings beside = describe({"-hosts", "h2,h3", "p"});
  EXPECT_THAT(names(beside.step->nodes), ElementsAre("h2"));
  EXPECT_THAT(beside.notices, ElementsAre(HasSubstr("agents start over ssh on h3, outside")));
  const JobSettings bobs = describe({"-hosts", "bob@h2,h1", "p"});
  EXPECT_THAT(bobs.notices, ElementsAre(HasSubstr("agents start over ssh on h2, outside")));
  EXPECT_THAT(names(bobs.step->nodes), ElementsAre("h1"));
  EXPECT_THROW(describe({"-launcher", "pbs", "-hosts", "bob@h2,h1", "p"}), Error);
  try {
    describe({"-launcher", "pbs", "-hosts", "h2,h3", "p"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("h3: not in the allocation: pbs has given this job h1, h2"));
  }
  around_.environment = {{"LSB_MCPU_HOSTS", "h1 2"}};
  EXPECT_THROW(describe({"-launcher", "pbs", "p"}), Error);
}

TEST_F(SchedulerJobTest, StartsAgentsInAStepOfSlurmWhereSrunIsThere) {
  around_.environment = {{"SLURM_JOB_ID", "7"},
                         {"SLURM_JOB_NODELIST", "h[1-3]"},
                         {"SLURM_JOB_NUM_NODES", "3"},
                         {"SLURM_NTASKS", "3"},
                         {"SLURM_TASKS_PER_NODE", "1(x3)"}};
  const JobSettings without = describe({"p"});
  EXPECT_FALSE(without.step);
  EXPECT_THAT(without.notices, ElementsAre(HasSubstr("srun is not on PATH")));
  ::chmod(file("srun", "").c_str(), 0755);
  around_.environment.emplace_back("PATH", folder_);

  const JobSettings all = describe({"p"});
  ASSERT_TRUE(all.step);
  EXPECT_THAT(names(all.step->nodes), ElementsAre("h1", "h2", "h3"));
  EXPECT_TRUE(all.step->whole);
  EXPECT_EQ(all.step->job, "7");
  EXPECT_EQ(all.step->beside, "");
  EXPECT_THAT(names(describe({"-hosts", "h2.cluster", "p"}).step->nodes), ElementsAre("h2"));
  EXPECT_FALSE(describe({"-hosts", "h2", "p"}).step->whole);
  EXPECT_THAT(names(describe({"-n", "2", "p"}).step->nodes), ElementsAre("h1", "h2"));
  EXPECT_TRUE(describe({"-n", "2", "--max-restarts", "1", "p"}).step->whole);
  EXPECT_TRUE(describe({"--nnodes", "1:2", "p"}).step->whole);
  const JobSettings patient = describe({"--start-timeout", "9", "p"});
  EXPECT_EQ(patient.step->patience, std::chrono::seconds(9));
  EXPECT_THAT(patient.notices, IsEmpty());

  EXPECT_FALSE(describe({"-launcher", "ssh", "p"}).step);
  EXPECT_TRUE(describe({"-launcher", "srun", "p"}).step);
  EXPECT_THROW(describe({"--push", "p"}), Error);
  EXPECT_THROW(describe({"--reconnect", "9", "p"}), Error);
  around_.environment = {{"LSB_MCPU_HOSTS", "h1 2"}};
  EXPECT_THROW(describe({"-launcher", "srun", "p"}), Error);
}

TEST_F(SchedulerJobTest, SaysOnceThatTimeToStartIsIgnored) {
  EXPECT_THAT(describe({"--start-timeout", "9", "-hosts", "a", "p"}).notices,
              ElementsAre(HasSubstr("--start-timeout is ignored")));
}

// As one task of a step, one per node, without a token.
TEST_F(SchedulerJobTest, StartsAStepBesideTheOneThatItIsTheFirstTaskOf) {
  ::chmod(file("srun", "").c_str(), 0755);
  around_.environment = {{"PATH", folder_},
                         {"SLURM_JOB_ID", "7"},
                         {"SLURM_JOB_NODELIST", "h[1-3]"},
                         {"SLURM_JOB_NUM_NODES", "3"},
                         {"SLURM_JOB_CPUS_PER_NODE", "1,2(x2)"},
                         {"SLURM_STEP_ID", "4"},
                         {"SLURM_STEP_NUM_TASKS", "2"},
                         {"SLURM_STEP_NODELIST", "h[2-3]"},
                         {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                         {"SLURM_NODEID", "0"}};
  const JobSettings first = describe({"p"});
  ASSERT_TRUE(first.step);
  EXPECT_EQ(first.step->beside, "7.4");
  EXPECT_EQ(first.step->job, "7");
  EXPECT_FALSE(first.step->whole);
  EXPECT_THAT(names(first.request.hosts), ElementsAre("h2", "h3"));
  EXPECT_EQ(first.request.hosts[0].max_slots, 2);
  EXPECT_TRUE(first.request.hosts[0].here);
  // The other tasks wait until they learn the end.
  EXPECT_THAT(names(describe({"-hosts", "h3", "p"}).step->nodes), ElementsAre("h2", "h3"));
  EXPECT_THROW(describe({"-launcher", "ssh", "p"}), Error);
  EXPECT_THROW(describe({"--detach", "p"}), Error);
  around_.has_token = true;  // lets them find each other
  EXPECT_THROW(describe({"p"}), Error);
}

TEST_F(SchedulerJobTest, SaysWhatIsSaidInThePlaceOfTheScheduler) {
  around_.environment = {{"LSB_MCPU_HOSTS", "h1 2"}};
  EXPECT_THAT(shown(parse_command_line({"--show-scheduler", "-hosts", "h1"})),
              HasSubstr("-hosts names the hosts of the job"));
}

}  // namespace
}  // namespace dtl::scheduler_job_test
