#include "launcher/jobs/jobs_view.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "base/error.h"
#include "launcher/options/jobs_options.h"
#include "launcher/options/option_values.h"

namespace dtl::jobs_view_test {
namespace {

Host host(const std::string& name) {
  Host result;
  result.name = name;
  return result;
}

SeenRecord seen(const std::string& role, const std::string& where, pid_t pid, bool alive,
                const std::string& state = "running") {
  SeenRecord result;
  result.host = host(where);
  result.alive = alive;
  JobRecord& record = result.record;
  record.role = role;
  record.job_id = "00112233aabbccdd";
  record.process = {pid, 100, "boot"};
  record.host = where;
  record.launcher_host = "login";
  record.hosts = "n1,n2";
  record.command = "python3 train.py";
  record.ranks = role == "launcher" ? 4 : 2;
  record.since = 1000;
  record.state = state;
  return result;
}

JobView only(const std::vector<SeenRecord>& records) {
  const auto jobs = fold_jobs(records);
  EXPECT_EQ(jobs.size(), 1u);
  return jobs.at(0);
}

TEST(JobsView, ReadsWhatDtagentLists) {
  const SeenRecord record = seen("agent", "n1", 7, true);
  const auto list = parse_job_list(host("n1"), to_text(record.record) + "alive yes\n\n" +
                                                   to_text(record.record) + "alive no\n\nend\n");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].alive);
  EXPECT_FALSE(list[1].alive);
  EXPECT_EQ(list[0].host.name, "n1");
}

TEST(JobsView, FoldsLauncherAndAgentsIntoOneJob) {
  const JobView job = only({seen("agent", "n1", 7, true), seen("agent", "n2", 8, true),
                            seen("launcher", "login", 9, true)});
  EXPECT_EQ(job.state, "running");
  EXPECT_EQ(job.nodes, 2);
  EXPECT_EQ(job.record.ranks, 4);
  EXPECT_EQ(job.agents.size(), 2u);
}

TEST(JobsView, CountsAMachineOnceThatWasAskedUnderTwoNames) {
  EXPECT_EQ(only({seen("agent", "n1", 7, true), seen("agent", "n1.cluster", 7, true)}).nodes, 1);
}

TEST(JobsView, KnowsAJobFromItsWorkersAlone) {
  const JobView job = only({seen("agent", "n1", 7, true)});
  EXPECT_EQ(job.status, JobStatus::kAlive);
  EXPECT_EQ(job.launcher_host, "login");
  EXPECT_FALSE(job.launcher_seen);
}

TEST(JobsView, TellsEndedLostAndLeftOverApart) {
  JobView job = only({seen("launcher", "login", 9, false, "ended")});
  EXPECT_EQ(job.status, JobStatus::kEnded);
  EXPECT_EQ(job.state, "exit 0");
  job = only({seen("launcher", "login", 9, false)});
  EXPECT_EQ(job.status, JobStatus::kLost);
  job = only({seen("launcher", "login", 9, false), seen("agent", "n1", 7, true)});
  EXPECT_EQ(job.state, "ending");
  job = only({seen("agent", "n1", 7, false)});
  EXPECT_EQ(job.status, JobStatus::kLeftover);
}

TEST(JobsView, TellsWhatIsStillToBeCleaned) {
  JobView job = only({seen("launcher", "login", 9, false, "lost")});
  EXPECT_EQ(job.status, JobStatus::kCleaned);
  EXPECT_EQ(job.state, "lost");
  EXPECT_TRUE(job.unclean.empty());
  job = only({seen("launcher", "login", 9, false)});
  ASSERT_EQ(job.unclean.size(), 1u);
  EXPECT_EQ(job.unclean[0].name, "login");
  job = only({seen("launcher", "login", 9, false, "lost"), seen("agent", "n1", 7, false)});
  EXPECT_EQ(job.status, JobStatus::kLeftover);
  ASSERT_EQ(job.unclean.size(), 1u);
  EXPECT_EQ(job.unclean[0].name, "n1");
  job = only({seen("launcher", "login", 9, false, "ended"), seen("agent", "n1", 7, false)});
  EXPECT_EQ(job.status, JobStatus::kLeftover) << "an agent was killed: its ranks may live";
  EXPECT_TRUE(job.ended);
}

TEST(JobsView, FindsAJobByABeginningThatIsUnique) {
  auto other = seen("launcher", "login", 10, true);
  other.record.job_id = "00ff2233aabbccdd";
  const auto jobs = fold_jobs({seen("launcher", "login", 9, true), other});
  EXPECT_EQ(find_job(jobs, "001").id, "00112233aabbccdd");
  EXPECT_THROW(find_job(jobs, "00"), Error);
  EXPECT_THROW(find_job(jobs, "1"), Error);
}

TEST(JobsView, FitsEightyColumns) {
  auto wide = seen("launcher", "a-login-host-with-a-long-name", 9, true);
  wide.record.command = std::string(300, 'x');
  const std::string table = jobs_table(fold_jobs({wide}), 1000 + 7500, 80);
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    EXPECT_LE(end - at, 80u) << table;
    at = end + 1;
  }
  EXPECT_NE(table.find("2h05m"), std::string::npos) << table;
}

TEST(JobsView, ShowsTagsBelowTheirJob) {
  auto tagged = seen("launcher", "login", 9, true);
  tagged.record.tags = {"nightly", "run=7"};
  const auto jobs =
      fold_jobs(parse_job_list(host("login"), to_text(tagged.record) + "alive yes\n\n"));
  EXPECT_TRUE(jobs_table(jobs, 1000, 80).ends_with("\n  tags: nightly, run=7\n"));
}

TEST(JobsView, RefusesABeginningThatIsAlsoATagOfAnotherJob) {
  JobView first, second;
  first.id = "e59fe6b79fb5ee3e";
  second.id = "c03fe88b8305f312";
  second.record.tags = {"e59"};
  EXPECT_THROW(find_job({first, second}, "e59"), Error);
  EXPECT_EQ(find_job({first, second}, "e59f").id, first.id);
  first.record.tags = {"e59"};
  second.record.tags.clear();
  EXPECT_EQ(find_job({first, second}, "e59").id, first.id);
}

TEST(JobsView, ShowsFormerEpochsWhenAsked) {
  auto restarted = seen("launcher", "login", 9, true);
  restarted.record.restarts = 2;
  restarted.record.epochs = {
      "1: rank 3 on n2 after 12.3 s: rank-signal SIGKILL; on with n1,n2; 1.4 s lost",
      "2: " + std::string(60, 'a') + " " + std::string(60, 'b')};
  const auto jobs =
      fold_jobs(parse_job_list(host("login"), to_text(restarted.record) + "alive yes\n\n"));
  EXPECT_EQ(jobs_table(jobs, 1000, 80).find("SIGKILL"), std::string::npos);
  const std::string table = jobs_table(jobs, 1000, 80, true);
  EXPECT_NE(
      table.find(
          "\n  1: rank 3 on n2 after 12.3 s: rank-signal SIGKILL; on with n1,n2; 1.4 s lost\n"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find(std::string(60, 'a') + "\n    bbb"), std::string::npos) << table;
}

TEST(JobsView, CutsNothingWithoutColumns) {
  auto wide = seen("launcher", "login", 9, true);
  wide.record.launcher_host = "a-login-host-with-a-long-name";
  wide.record.command = std::string(300, 'x');
  const std::string table = jobs_table(fold_jobs({wide}), 1000, std::nullopt);
  EXPECT_NE(table.find(wide.record.command + "\n"), std::string::npos) << table;
  EXPECT_NE(table.find(wide.record.launcher_host + " "), std::string::npos) << table;
}

TEST(JobsView, MarksTheShareOfAWorker) {
  const std::string share = jobs_table(fold_jobs({seen("agent", "n1", 7, true)}), 1000, 80);
  EXPECT_NE(share.find("   1+    2+ "), std::string::npos) << share;
  const std::string whole = jobs_table(fold_jobs({seen("launcher", "login", 9, true)}), 1000, 80);
  EXPECT_EQ(whole.find('+'), std::string::npos) << whole;
}

TEST(JobsOptions, TakeOptionsBeforeAndAfterTheJob) {
  const JobsCommand command = parse_jobs_command("logs", {"-l", "3F2A", "-f", "--rank", "2"});
  EXPECT_EQ(command.job, "3f2a");
  EXPECT_TRUE(command.follow);
  EXPECT_TRUE(command.label);
  EXPECT_EQ(command.rank, 2);
  EXPECT_EQ(command.hosts.at(0).name, "localhost");
}

TEST(JobsOptions, RefuseWhatIsNoJob) {
  EXPECT_THROW(parse_jobs_command("attach", {}), Error);
  EXPECT_EQ(parse_jobs_command("logs", {}).job, "");  // the newest of this machine
  EXPECT_THROW(parse_jobs_command("logs", {"-hosts", "n1"}), Error);
  EXPECT_THROW(parse_jobs_command("logs", {"a", "b"}), Error);
  EXPECT_THROW(parse_jobs_command("kill", {"../x"}), Error);
  EXPECT_THROW(parse_jobs_command("kill", {"a", "b"}), Error);
  EXPECT_THROW(parse_jobs_command("ps", {"a"}), Error);
  EXPECT_THROW(parse_jobs_command("kill", {"--signal", "FOO", "a"}), Error);
}

TEST(JobsOptions, KnowSignalsByNameAndNumber) {
  EXPECT_EQ(signal_by_name("usr1"), 10);
  EXPECT_EQ(signal_by_name("SIGTERM"), 15);
  EXPECT_EQ(signal_by_name("9"), 9);
  EXPECT_FALSE(signal_by_name("0"));
}

}  // namespace
}  // namespace dtl::jobs_view_test
