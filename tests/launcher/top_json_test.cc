#include "launcher/top/top_json.h"

#include <gtest/gtest.h>

#include "tests/launcher/json_members.h"

namespace dtl::top_json_test {
namespace {

using json_members::Json;
using json_members::members;
using json_members::schema;

const std::vector<Unreachable> kAbsent = {{"n9", "n9: cannot connect"}};

TopView busy_view() {
  TopRank rank;
  rank.rank = 0;
  rank.host = "n1";
  rank.activity = Activity::kSleeps;
  rank.cpu_percent = 99.96;
  rank.ring_per_s = rank.sent_per_s = 1e6;
  rank.collective = "allreduce";
  rank.progress = TrainingProgress{7, 9, 100, 2.5};
  TopJob job{
      "00112233aabbccdd", "running", "python3 train.py", 4, true, 60, {"n1"}, {rank}, {}, {}, {}};
  job.training = TopTraining{7, 9, 100, 2.5, 10.0, 0.5, 4.0};
  job.wait = HangFinding{{3}, {0}, "allreduce", JobTime(4100), ""};
  return {
      {job}, {{"n1", TopHostState::kWatched, "", {}, 0.5, 8, 4}}, {{"alice", 4, {{job.id, 4}}}}};
}

constexpr const char* kMembers = R"(
schema string
time string
hosts list
hosts[] object
hosts[].host string
hosts[].state string
hosts[].load number
hosts[].cores number
hosts[].free_cores number
owners list
owners[] object
owners[].user string
owners[].cores number
owners[].jobs list
owners[].jobs[] object
owners[].jobs[].job string
owners[].jobs[].cores number
jobs list
jobs[] object
jobs[].job string
jobs[].state string
jobs[].complete boolean
jobs[].world_size number
jobs[].age_s number
jobs[].hosts list
jobs[].hosts[] string
jobs[].command string
jobs[].training object
jobs[].training.step number
jobs[].training.total_steps number
jobs[].training.loss number
jobs[].training.tokens number
jobs[].training.tokens_per_s number
jobs[].training.steps_per_s number
jobs[].training.left_s number
jobs[].wait object
jobs[].wait.for_ranks list
jobs[].wait.for_ranks[] number
jobs[].wait.ranks list
jobs[].wait.ranks[] number
jobs[].wait.collective string
jobs[].wait.lasted_s number
jobs[].wait.text string
jobs[].ranks list
jobs[].ranks[] object
jobs[].ranks[].rank number
jobs[].ranks[].host string
jobs[].ranks[].pid number
jobs[].ranks[].program string
jobs[].ranks[].state string
jobs[].ranks[].cpu_percent number
jobs[].ranks[].memory_kib number
jobs[].ranks[].threads number
jobs[].ranks[].ring_bytes_per_s number
jobs[].ranks[].tcp_bytes_per_s number
jobs[].ranks[].step number
jobs[].ranks[].waits_in object
jobs[].ranks[].waits_in.collective string
jobs[].ranks[].waits_in.number number
jobs[].ranks[].waits_in.waits_s number
jobs[].ranks[].straggler boolean
unreachable list
unreachable[] object
unreachable[].host string
unreachable[].error string
)";

TEST(TopJson, KeepsItsMembers) {
  const std::string answer = top_json(busy_view(), "2026-11-30T08:00:00Z", kAbsent);
  EXPECT_EQ(members(answer), kMembers);
  EXPECT_EQ(schema(answer), "dtlaunch-top/1");
}

TEST(TopJson, FitsOneLine) {
  const std::string line = top_json_line(busy_view(), "2026-11-30T08:00:00Z", kAbsent);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(Json::parse(line), Json::parse(top_json(busy_view(), "2026-11-30T08:00:00Z", kAbsent)));
  EXPECT_EQ(schema(line), "dtlaunch-top/1");
}

TEST(TopJson, HasNullForWhatIsUnknown) {
  TopJob job;
  job.id = "00112233aabbccdd";
  job.ranks.resize(1);
  const Json json = Json::parse(top_json({{job}, {{}}, {{"?", 4, {{"?", 4}}}}}, "", {}));
  const Json& first = json["jobs"][0];
  for (const char* name : {"state", "command", "training", "wait"}) {
    EXPECT_TRUE(first[name].is_null()) << name;
  }
  for (const char* name :
       {"rank", "state", "cpu_percent", "ring_bytes_per_s", "step", "waits_in"}) {
    EXPECT_TRUE(first["ranks"][0][name].is_null()) << name;
  }
  for (const char* name : {"load", "cores", "free_cores"}) {
    EXPECT_TRUE(json["hosts"][0][name].is_null()) << name;
  }
  EXPECT_TRUE(json["owners"][0]["user"].is_null());
  EXPECT_TRUE(json["owners"][0]["jobs"][0]["job"].is_null());
}

}  // namespace
}  // namespace dtl::top_json_test
