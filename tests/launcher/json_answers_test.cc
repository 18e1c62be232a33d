// The names and types of the members that scripts read: dtlaunch-json(7) promises them. A change
// here that is not a new line needs another number in "schema".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/doctor/doctor_text.h"
#include "launcher/jobs/jobs_json.h"
#include "launcher/keep/kept_json.h"
#include "launcher/report/plan_json.h"
#include "launcher/request/facts_json.h"
#include "tests/launcher/json_members.h"

namespace dtl::json_answers_test {
namespace {

using json_members::Json;
using json_members::members;
using json_members::schema;
using testing::HasSubstr;

JobView job() {
  JobView job;
  job.id = "00112233aabbccdd";
  job.launcher_host = "login";
  job.state = "running r1";
  job.nodes = 2;
  job.launcher_seen = job.launcher_alive = true;
  job.agents.resize(1);
  job.agents[0].name = "n1";
  job.record.hosts = "n1,n2";
  job.record.since = 1'000'000'000;
  job.record.ranks = 4;
  job.record.command = "python3 train.py";
  job.record.tags = {"nightly"};
  job.record.epochs = {"1: rank 3 on n2"};
  return job;
}

const std::vector<Unreachable> kAbsent = {{"n9", "n9: cannot connect"}};

TEST(JsonAnswers, KeepTheMembersOfPs) {
  const std::string answer = jobs_json({job()}, 1'000'000'060, kAbsent);
  EXPECT_EQ(members(answer), R"(
schema string
time string
jobs list
jobs[] object
jobs[].job string
jobs[].status string
jobs[].state string
jobs[].exit_status null
jobs[].launcher_host string
jobs[].complete boolean
jobs[].nodes number
jobs[].ranks number
jobs[].hosts list
jobs[].hosts[] string
jobs[].agents list
jobs[].agents[] string
jobs[].began string
jobs[].age_s number
jobs[].restarts number
jobs[].detached boolean
jobs[].tags list
jobs[].tags[] string
jobs[].command string
jobs[].epochs list
jobs[].epochs[] string
unreachable list
unreachable[] object
unreachable[].host string
unreachable[].error string
)");
  EXPECT_EQ(schema(answer), "dtlaunch-jobs/1");
  const Json first = Json::parse(answer)["jobs"][0];
  EXPECT_EQ(first["began"], "2001-09-09T01:46:40Z");
  EXPECT_EQ(first["age_s"], 60);
}

TEST(JsonAnswers, HaveNullForWhatOnlyTheLauncherKnows) {
  JobView view = job();
  view.launcher_seen = false;
  view.record.command.clear();
  const Json first = Json::parse(jobs_json({view}, 1'000'000'060, {}))["jobs"][0];
  for (const char* name : {"hosts", "tags", "restarts", "detached", "epochs", "command"}) {
    EXPECT_TRUE(first[name].is_null()) << name;
  }
  EXPECT_EQ(first["complete"], false);
}

TEST(JsonAnswers, GiveTheStatusOfAnEndedJob) {
  JobView view = job();
  view.status = JobStatus::kEnded;
  view.ended = true;
  view.record.exit_status = 3;
  const Json first = Json::parse(jobs_json({view}, 0, {}))["jobs"][0];
  EXPECT_EQ(first["status"], "ended");
  EXPECT_EQ(first["exit_status"], 3);
  EXPECT_EQ(first["age_s"], 0);  // not below, whatever the clocks say
}

TEST(JsonAnswers, AreJsonWhateverBytesACommandHas) {
  JobView view = job();
  view.record.command = "a \xff\x1b[2J \"b\"";
  const Json first = Json::parse(jobs_json({view}, 0, {{"n\xff", "\xfe"}}))["jobs"][0];
  EXPECT_EQ(first["command"], "a \xef\xbf\xbd\x1b[2J \"b\"");
}

TEST(JsonAnswers, KeepTheMembersOfCores) {
  HostCores host{"n1", {"0-7", 8, "6-7", 2, {{"1a2b00000000ffff", "?", 60, true, "0-5", 6}}, {}}};
  const std::string answer = cores_json({host}, {});
  EXPECT_EQ(members(answer), R"(
schema string
hosts list
hosts[] object
hosts[].host string
hosts[].cpus string
hosts[].cores number
hosts[].free_cpus string
hosts[].free_cores number
hosts[].claims list
hosts[].claims[] object
hosts[].claims[].job string
hosts[].claims[].user null
hosts[].claims[].age_s number
hosts[].claims[].shared boolean
hosts[].claims[].cpus string
hosts[].claims[].cores number
unreachable list
)");
  EXPECT_EQ(schema(answer), "dtlaunch-cores/1");
}

TEST(JsonAnswers, KeepTheMembersOfUp) {
  const std::string answer = kept_json("", "n1 connected\nn2 not connected\n");
  EXPECT_EQ(members(answer), R"(
schema string
scheduler_job null
hosts list
hosts[] object
hosts[].host string
hosts[].connected boolean
)");
  EXPECT_EQ(schema(answer), "dtlaunch-kept/1");
  EXPECT_EQ(Json::parse(answer)["hosts"][1]["connected"], false);
  EXPECT_EQ(Json::parse(kept_json("71", ""))["scheduler_job"], "71");
}

TEST(JsonAnswers, KeepTheMembersOfVersion) {
  const std::string answer = version_json(library_places({{"zlib", "1.3"}}));
  EXPECT_EQ(members(answer), R"(
schema string
version string
protocol number
libraries list
libraries[] object
libraries[].name string
libraries[].version string
libraries[].place string
)");
  EXPECT_EQ(schema(answer), "dtlaunch-version/1");
}

TEST(JsonAnswers, KeepTheMembersOfLimits) {
  const std::string answer = limits_json(limit_facts());
  EXPECT_EQ(members(answer), R"(
schema string
waits list
waits[] object
waits[].name string
waits[].wait_s number
waits[].meaning string
bounds list
bounds[] object
bounds[].name string
bounds[].bound number
bounds[].meaning string
)");
  EXPECT_EQ(schema(answer), "dtlaunch-limits/1");
}

TEST(JsonAnswers, KeepTheMembersOfShowScheduler) {
  SchedulerEvidence evidence;
  evidence.hosts.resize(1);
  evidence.hosts[0].name = "n1";
  evidence.hosts[0].slots = 4;
  evidence.follows = {"a"};
  evidence.crowded = "b";
  evidence.used = {{"SLURM_JOB_ID", "7"}};
  const std::string answer = scheduler_json(evidence);
  EXPECT_EQ(members(answer), R"(
schema string
scheduler null
scheduler_job null
role null
restarts number
starter null
hosts list
hosts[] object
hosts[].host string
hosts[].slots number
hosts[].max_slots null
node_count null
least_nodes null
most_nodes null
node_rank null
ranks_per_node null
coordinator null
coordinator_port null
is_coordinator boolean
conclusions list
conclusions[] string
refused null
warnings list
warnings[] string
variables object
variables.SLURM_JOB_ID string
)");
  EXPECT_EQ(schema(answer), "dtlaunch-scheduler/1");
}

JobPlan plan() {
  JobPlan plan;
  plan.job_id = "00112233aabbccdd";
  plan.world_size = 1;
  plan.nodes.resize(1);
  NodePlan& node = plan.nodes[0];
  node.host_name = "n1";
  node.address = "10.0.0.1";
  RankPlan& rank = node.ranks.emplace_back();
  rank.cpus = CpuSet(std::vector<int>{0, 1});
  rank.numa = {0};
  rank.arguments = {"python3", "--hub_token", "hunter2"};
  rank.origins = {{"OMP_NUM_THREADS", Origin::kSet}};
  return plan;
}

TEST(JsonAnswers, KeepTheMembersOfTheDryRun) {
  const std::string answer = plan_answer(plan());
  EXPECT_EQ(members(answer), R"(
schema string
job string
world_size number
master_address null
master_port null
programs list
programs[] object
programs[].program number
programs[].first_rank number
programs[].ranks number
programs[].command list
programs[].command[] string
programs[].working_directory string
programs[].umask string
programs[].variables object
programs[].variables.OMP_NUM_THREADS string
nodes list
nodes[] object
nodes[].host string
nodes[].address string
nodes[].interface null
nodes[].interface_numa null
nodes[].cores number
nodes[].cpus number
nodes[].sockets number
nodes[].numa_nodes number
nodes[].memory_bytes number
nodes[].ranks list
nodes[].ranks[] object
nodes[].ranks[].rank number
nodes[].ranks[].local_rank number
nodes[].ranks[].program number
nodes[].ranks[].threads number
nodes[].ranks[].cpus string
nodes[].ranks[].comm_cpus null
nodes[].ranks[].numa list
nodes[].ranks[].numa[] number
warnings list
)");
  EXPECT_EQ(schema(answer), "dtlaunch-plan/1");
  EXPECT_THAT(answer, testing::Not(HasSubstr("hunter2")));
}

TEST(JsonAnswers, KeepTheMembersOfDoctor) {
  Examination host;
  host.name = "n1";
  host.failure = Error(Exit::kUnreachable, "n1: cannot resolve its name", "unknown");
  const std::string answer =
      doctor_json({{Level::kError, "name", {"n1"}, "x", "y", 69}}, {host}, {});
  EXPECT_EQ(members(answer), R"(
schema string
exit_status number
findings list
findings[] object
findings[].check string
findings[].fix string
findings[].hosts list
findings[].hosts[] string
findings[].level string
findings[].text string
hosts list
hosts[] object
hosts[].facts object
hosts[].name string
hosts[].up boolean
links list
version string
would_start boolean
unreachable list
unreachable[] object
unreachable[].host string
unreachable[].error string
)");
  EXPECT_EQ(schema(answer), "dtlaunch-doctor/1");
}

}  // namespace
}  // namespace dtl::json_answers_test
