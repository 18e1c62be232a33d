#include "launcher/history/job_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dtl::job_history_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// The state folder is this test's own.
class JobHistoryTest : public testing::Test {
 protected:
  JobHistoryTest() {
    std::string name = testing::TempDir() + "job_history.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    ::setenv("XDG_STATE_HOME", folder_.c_str(), 1);
  }
  ~JobHistoryTest() override {
    ::unsetenv("XDG_STATE_HOME");
    std::filesystem::remove_all(folder_);
  }

  static HistoryRecord begin() {
    JobRecord job;
    job.job_id = "0123456789abcdef";
    job.hosts = "n1,n2";
    job.command = "python3 \x1b[31mtrain.py";
    return record_at_start(job, {}, {});
  }
  static JobResult result(int status) {
    JobResult job;
    Outcome outcome;
    outcome.cause = status == 0 ? Cause::kCompleted : Cause::kCannotStart;
    outcome.exit_status = status;
    outcome.text = "\x1b]0;title\a";
    job.last.job.outcome = outcome;
    job.last.last_lines = {"\x1b[2J went wrong"};
    return job;
  }
  static std::optional<HistoryRecord> recorded() {
    const auto store = HistoryStore::for_reading(history_path());
    return store ? store->read("0123456789abcdef") : std::nullopt;
  }

  std::string folder_;
};

TEST_F(JobHistoryTest, RecordsTheBeginningAndTheEnd) {
  {
    JobHistory history(begin(), {});
    history.ended(result(3), 3);
  }
  const auto job = recorded();
  ASSERT_TRUE(job);
  EXPECT_EQ(job->exit_status, 3);
  EXPECT_EQ(job->cause, "cannot-start");
  EXPECT_EQ(job->hosts, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_THAT(job->report, HasSubstr("\"outcome\""));
}

TEST_F(JobHistoryTest, StoresNoControlCharacters) {
  {
    JobHistory history(begin(), {});
    history.ended(result(3), 3);
  }
  const auto job = recorded();
  ASSERT_TRUE(job);
  for (const std::string& text : {job->command, job->card, job->report}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  }
}

TEST_F(JobHistoryTest, AnErrorIsAnEnd) {
  {
    JobHistory history(begin(), {});
    history.ended(Error(Exit::kOs, "cannot reach 3 hosts at once", "few descriptors"));
  }
  ASSERT_TRUE(recorded());
  EXPECT_EQ(recorded()->exit_status, static_cast<int>(Exit::kOs));
  EXPECT_THAT(recorded()->card, HasSubstr("few descriptors"));
}

TEST_F(JobHistoryTest, WithoutAnEndTheBeginningStays) {
  { const JobHistory history(begin(), {}); }
  ASSERT_TRUE(recorded());
  EXPECT_FALSE(recorded()->took_ms);
}

TEST_F(JobHistoryTest, ZeroDaysLeaveNothing) {
  {
    JobHistory history(begin(), {.days = 0});
    history.ended(result(0), 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(JobHistoryTest, WithoutAFolderTheJobGoesOn) {
  std::ofstream(folder_ + "/dtlaunch") << "a file";
  testing::internal::CaptureStderr();
  {
    JobHistory history(begin(), {});
    history.ended(result(0), 0);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_THAT(said, HasSubstr("/dtlaunch"));
}

}  // namespace
}  // namespace dtl::job_history_test
