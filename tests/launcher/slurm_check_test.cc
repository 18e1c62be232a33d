#include "launcher/doctor/slurm_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl::slurm_check_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

SchedulerSeen slurm(const std::string& settings) {
  SchedulerSeen seen;
  seen.text = "slurm-wlm 22.05.8\nConfiguration data as of 2026-11-24T23:10:25\n" + settings;
  seen.by_step = true;
  Host node;
  node.name = "n1";
  node.max_slots = 2;
  seen.nodes = {node};
  return seen;
}

std::vector<Examination> host(const std::vector<int>& cpus, const std::string& adopts) {
  Examination host;
  host.name = "n1";
  host.facts.emplace();
  host.facts->topology.allowed = CpuSet(cpus);
  host.more = {{"pam.slurm_adopt", adopts}};
  return {host};
}

std::vector<Finding> check(const SchedulerSeen& seen, const std::vector<Examination>& hosts) {
  std::vector<Finding> findings;
  check_slurm(seen, hosts, findings);
  return findings;
}

TEST(SlurmCheck, SaysVersionStarterAndCgroups) {
  const auto found = check(slurm("KillWait                = 30 sec\n"
                                 "ProctrackType           = proctrack/cgroup\n"
                                 "TaskPlugin              = task/affinity,task/cgroup\n"),
                           host({0, 1}, "yes"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].level, Level::kOk);
  EXPECT_EQ(found[0].text,
            "slurm-wlm 22.05.8, agents start by one srun; cgroups hold the job's processes and "
            "confine them (proctrack/cgroup, task/affinity,task/cgroup)");
}

TEST(SlurmCheck, WarnsWhereScancelLeavesNoTimeToSave) {
  const auto found = check(slurm("KillWait                = 2 sec\n"), host({0, 1}, "yes"));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[1].level, Level::kWarning);
  EXPECT_THAT(found[1].text, HasSubstr("KillWait is 2 s"));
}

TEST(SlurmCheck, WarnsOfCpusThatTheStepMayNotUse) {
  const auto found = check(slurm("KillWait = 30 sec\n"), host({1}, "yes"));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[1].text, "the job has 2 CPUs there, and its step may use 1");
}

TEST(SlurmCheck, SaysWhatSshIsOutsideOf) {
  SchedulerSeen over_ssh = slurm("KillWait = 30 sec\n");
  EXPECT_EQ(check(over_ssh, host({0, 1}, "no"))[1].level, Level::kOk);
  over_ssh.by_step = false;
  EXPECT_EQ(check(over_ssh, host({0, 1}, "no"))[1].level, Level::kWarning);
}

TEST(SlurmCheck, SaysThatItGotNoAnswer) {
  SchedulerSeen silent;
  ASSERT_THAT(check(silent, {}), SizeIs(1));
  EXPECT_EQ(check(silent, {})[0].level, Level::kNote);
}

}  // namespace
}  // namespace dtl::slurm_check_test
