#include "launcher/history/history_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/machine/process_id.h"
#include "launcher/history/history_view.h"
#include "launcher/history/since.h"

namespace dtl::history_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kNow = 1'800'000'000'000;  // 2027-01-15 08:00 UTC
constexpr std::int64_t kHour = 3'600'000;

std::string id_of(int number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016x", static_cast<unsigned>(number));
  return text;
}

// Of a process that has ended.
ProcessId dead_process() {
  ProcessId process = identify(::getpid());
  process.start_time += 1;
  return process;
}

HistoryRecord a_job(int number, std::int64_t began_ms = kNow) {
  HistoryRecord record;
  record.job_id = id_of(number);
  record.process = identify(::getpid());
  record.began_ms = began_ms;
  record.hosts = {"n1", "n2"};
  record.command = "python3 train.py";
  record.folder = "/data";
  return record;
}

HistoryRecord ended(HistoryRecord record, int status) {
  record.took_ms = 1500;
  record.exit_status = status;
  record.cause = status == 0 ? "completed" : "rank-exit";
  record.ranks = 4;
  record.card = "rank 3 on n2 exited with status 3";
  record.plan = "the plan";
  record.report =
      R"({"seconds":{"running":1.25},"epochs":[{"began_s":0,"ended_s":1,"cause":"node-lost"}]})";
  return record;
}

class History : public testing::Test {
 protected:
  History() {
    std::string name = testing::TempDir() + "history.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/history/n1.db";
    ::setenv("TZ", "UTC0", 1);
  }
  ~History() override { std::filesystem::remove_all(folder_); }

  HistoryStore store() const { return HistoryStore::for_writing(path_, milliseconds(2000)); }
  std::vector<HistoryRecord> all() const { return HistoryStore::for_reading(path_)->list({}); }

  std::string folder_, path_;
};

std::vector<std::string> ids(const std::vector<HistoryRecord>& records) {
  std::vector<std::string> found;
  for (const HistoryRecord& record : records) found.push_back(record.job_id);
  return found;
}

TEST_F(History, KeepsWhatItIsGiven) {
  HistoryRecord job = ended(a_job(1), 3);
  job.tags = {"a", "b"};
  job.detached = true;
  job.log_directory = "/logs";
  job.kept_folder = "/kept";
  job.report_file = "/report.json";
  job.outer_job = id_of(9);
  store().save(job, true);
  const auto read = HistoryStore::for_reading(path_)->read(job.job_id);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(read->process), to_text(job.process));
  EXPECT_EQ(read->began_ms, job.began_ms);
  EXPECT_EQ(read->took_ms, job.took_ms);
  EXPECT_EQ(read->exit_status, 3);
  EXPECT_EQ(read->cause, "rank-exit");
  EXPECT_EQ(read->ranks, 4);
  EXPECT_EQ(read->hosts, job.hosts);
  EXPECT_EQ(read->command, job.command);
  EXPECT_EQ(read->folder, job.folder);
  EXPECT_EQ(read->tags, job.tags);
  EXPECT_TRUE(read->detached);
  EXPECT_EQ(read->log_directory, "/logs");
  EXPECT_EQ(read->kept_folder, "/kept");
  EXPECT_EQ(read->report_file, "/report.json");
  EXPECT_EQ(read->outer_job, id_of(9));
  EXPECT_EQ(read->card, job.card);
  EXPECT_EQ(read->plan, job.plan);
  EXPECT_EQ(read->report, job.report);
}

TEST_F(History, IsForItsUserAlone) {
  const ::mode_t before = ::umask(0);
  store().save(a_job(1), false);
  ::umask(before);
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/history")) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U) << entry.path();
  }
}

TEST_F(History, TheEndReplacesTheBeginning) {
  store().save(a_job(1), false);
  EXPECT_FALSE(all()[0].took_ms);
  store().save(ended(a_job(1), 0), true);
  ASSERT_EQ(all().size(), 1U);
  EXPECT_EQ(all()[0].exit_status, 0);
  EXPECT_TRUE(all()[0].took_ms);
}

TEST_F(History, ListsTheNewestLastAndOnlyWhatIsAskedFor) {
  HistoryStore writer = store();
  for (int i = 0; i < 5; ++i) writer.save(ended(a_job(i, kNow + i * kHour), i % 2), false);
  EXPECT_EQ(ids(writer.list({})), (std::vector{id_of(0), id_of(1), id_of(2), id_of(3), id_of(4)}));
  HistoryQuery query;
  query.most = 2;
  EXPECT_EQ(ids(writer.list(query)), (std::vector{id_of(3), id_of(4)}));
  query.failed = true;
  EXPECT_EQ(ids(writer.list(query)), (std::vector{id_of(1), id_of(3)}));
  query = {};
  query.since_ms = kNow + 4 * kHour;
  EXPECT_EQ(ids(writer.list(query)), (std::vector{id_of(4)}));
}

TEST_F(History, FindsJobsByTheFirstDigits) {
  HistoryStore writer = store();
  HistoryRecord job = a_job(0);
  for (const char* id : {"3f2a000000000000", "3f2b000000000000", "4000000000000000"}) {
    job.job_id = id;
    writer.save(job, false);
    ++job.began_ms;
  }
  EXPECT_EQ(writer.find("3f2a", 2), std::vector<std::string>{"3f2a000000000000"});
  EXPECT_EQ(writer.find("3f", 2).size(), 2U);
  EXPECT_THAT(writer.find("5", 2), IsEmpty());
  EXPECT_EQ(writer.find("", 2), std::vector<std::string>{"4000000000000000"});
}

TEST_F(History, AJobWhoseLauncherIsGoneIsLost) {
  HistoryRecord job = a_job(1);
  EXPECT_EQ(status_of(job), HistoryStatus::kRunning);
  job.process = dead_process();
  EXPECT_EQ(status_of(job), HistoryStatus::kLost);
  EXPECT_TRUE(has_failed(job, HistoryStatus::kLost));
  // The machine has started again since.
  job.process.space = "00000000-0000-4000-8000-000000000000-4026531836";
  EXPECT_EQ(status_of(job), HistoryStatus::kLost);
  // The same boot, another PID namespace.
  const std::string here = identify(::getpid()).space;
  job.process.space = here.substr(0, here.rfind('-')) + "-1";
  EXPECT_EQ(status_of(job), HistoryStatus::kUnknown);
  EXPECT_FALSE(has_failed(job, HistoryStatus::kUnknown));
}

TEST_F(History, RemovesOldJobsButNoneThatRuns) {
  HistoryStore writer = store();
  const std::int64_t old = kNow - 91 * 24 * kHour;
  for (int i = 0; i < 120; ++i) writer.save(ended(a_job(i, old), 0), true);
  writer.save(a_job(200, old), false);  // this process runs
  HistoryRecord lost = a_job(201, old);
  lost.process = dead_process();
  writer.save(lost, false);
  writer.save(ended(a_job(202), 0), true);
  writer.prune({}, kNow, [] { return false; });
  EXPECT_EQ(ids(writer.list({})), (std::vector{id_of(200), id_of(202)}));
}

TEST_F(History, RemovesTheOldestJobsOfALargeHistory) {
  HistoryStore writer = store();
  for (int i = 0; i < 400; ++i) {
    HistoryRecord job = ended(a_job(i, kNow + i), 0);
    job.report = std::string(20'000, 'x');
    writer.save(job, true);
  }
  HistoryLimits limits;
  limits.bytes = 4 << 20;
  writer.prune(limits, kNow, [] { return false; });
  writer.tidy();
  const auto left = ids(writer.list({}));
  EXPECT_LT(left.size(), 210U);
  EXPECT_GT(left.size(), 100U);
  EXPECT_EQ(left.back(), id_of(399));
}

TEST_F(History, StopsToRemoveWhenTheJobEnds) {
  HistoryStore writer = store();
  for (int i = 0; i < 120; ++i) writer.save(ended(a_job(i, 0), 0), false);
  writer.prune({}, kNow, [] { return true; });
  EXPECT_EQ(writer.list({}).size(), 70U);
}

TEST_F(History, MovesADamagedFileAsideOnce) {
  std::filesystem::create_directory(folder_ + "/history");
  ::chmod((folder_ + "/history").c_str(), 0700);
  std::ofstream(path_) << std::string(8192, 'x');
  HistoryStore writer = store();
  EXPECT_THAT(writer.notice(), HasSubstr("damaged: file is not a database; moved to " + path_));
  writer.save(a_job(1), false);
  EXPECT_EQ(all().size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(path_ + ".damaged"));
  EXPECT_THAT(store().notice(), IsEmpty());
}

TEST_F(History, MovesAFileAsideWhoseTablesAreDamaged) {
  {
    HistoryStore writer = store();
    for (int i = 0; i < 300; ++i) writer.save(ended(a_job(i), 0), true);
    writer.tidy();
  }
  // All pages but the first, which has the version.
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(std::filesystem::file_size(path_) - 4096, 'x');
  file.close();
  std::filesystem::remove(path_ + "-wal");
  std::filesystem::remove(path_ + "-shm");
  HistoryStore writer = store();
  writer.save(a_job(1), false);
  EXPECT_THAT(writer.notice(), HasSubstr("a new one begins"));
  EXPECT_EQ(all().size(), 1U);
}

TEST_F(History, LeavesTheFileOfANewerVersionAlone) {
  { store().save(a_job(1), false); }
  Database(path_, Database::Mode::kWrite, milliseconds(100)).run("PRAGMA user_version = 2");
  for (const auto& open : {std::function([&] { store(); }),
                           std::function([&] { HistoryStore::for_reading(path_); })}) {
    try {
      open();
      ADD_FAILURE() << "opened it";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kVersion);
      EXPECT_THAT(error.what(), HasSubstr("a newer dtlaunch has written it"));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + ".damaged"));
}

TEST_F(History, ManyLaunchersLoseNoJob) {
  constexpr int kLaunchers = 20, kJobs = 5;
  std::vector<pid_t> children;
  for (int child = 0; child < kLaunchers; ++child) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    try {
      for (int job = 0; job < kJobs; ++job) {
        HistoryStore::for_writing(path_, milliseconds(20'000))
            .save(ended(a_job(child * kJobs + job), 0), true);
      }
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(all().size(), static_cast<std::size_t>(kLaunchers * kJobs));
}

TEST_F(History, AKilledLauncherDamagesNothing) {
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      HistoryStore writer = store();
      for (int job = 0;; ++job) writer.save(ended(a_job(round * 100'000 + job), 0), true);
    }
    // At some moment of its writing.
    for (int wait = 0; wait < 200 && !std::filesystem::exists(path_ + "-wal"); ++wait)
      ::usleep(1000);
    ::usleep(static_cast<useconds_t>(3000 + 700 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    HistoryStore writer = store();
    EXPECT_THAT(writer.notice(), IsEmpty());
    writer.save(a_job(9'000'000 + round), false);
  }
  const Database database(path_, Database::Mode::kRead, milliseconds(1000));
  Statement check = database.prepare("PRAGMA integrity_check");
  ASSERT_TRUE(check.step());
  EXPECT_EQ(check.text(0), "ok");
}

TEST_F(History, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_ + "/history") << "a file";
  EXPECT_THROW(store(), Error);
}

TEST(HistoryView, ATerminalsTableFits) {
  HistoryRecord job = ended(a_job(0x3f2a), 3);
  job.hosts = {"node01", "node02", "login", "other.example.org"};
  job.command = "python3 train.py --a-very-long-option with words";
  const std::string table = history_table({{job, HistoryStatus::kEnded}}, kNow, 80);
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    EXPECT_LE(end - at, 80U) << table;
    at = end + 1;
  }
  EXPECT_THAT(table, HasSubstr("exit 3   2027-01-15 08:00   1.5s     4 node[01-02]>"));
  EXPECT_THAT(history_table({{job, HistoryStatus::kEnded}}, kNow, std::nullopt),
              HasSubstr("--a-very-long-option with words\n"));
}

TEST(HistoryView, NamesWhatATimeoutAndARunningJobAre) {
  HistoryRecord job = ended(a_job(1), 124);
  EXPECT_EQ(status_text(job, HistoryStatus::kEnded), "exit 124");
  job.cause = "timeout";
  EXPECT_EQ(status_text(job, HistoryStatus::kEnded), "timeout");
  const std::string table =
      history_table({{a_job(2), HistoryStatus::kRunning}}, kNow + 2 * kHour, std::nullopt);
  EXPECT_THAT(table, HasSubstr("running  2027-01-15 08:00  2h00m     - n[1-2]"));
}

TEST(HistoryView, AJobHasItsCardTimesAndPlan) {
  const std::string text = job_text({ended(a_job(1), 3), HistoryStatus::kEnded}, kNow);
  EXPECT_THAT(text, HasSubstr("status     exit 3 (rank-exit)\n"));
  EXPECT_THAT(text, HasSubstr("How it failed\n  rank 3 on n2 exited"));
  EXPECT_THAT(text, HasSubstr("running 1.25 s\n  epoch 0: 0.0 s to 1.0 s: node-lost\n"));
  EXPECT_THAT(text, HasSubstr("Plan\n  the plan\n"));
}

TEST(HistoryView, ALostJobHasNoEnd) {
  const std::string text = job_text({a_job(1), HistoryStatus::kLost}, kNow);
  EXPECT_THAT(text, HasSubstr("lost: its launcher was killed"));
  EXPECT_THAT(text, Not(HasSubstr("took")));
  const auto json = nlohmann::json::parse(job_json({a_job(1), HistoryStatus::kLost}));
  EXPECT_EQ(json["status"], "lost");
  EXPECT_TRUE(json["report"].is_null());
  EXPECT_FALSE(json.contains("exit_status"));
}

TEST(HistoryView, JsonHasTheRecordAndTheReport) {
  const auto json = nlohmann::json::parse(job_json({ended(a_job(1), 3), HistoryStatus::kEnded}));
  EXPECT_EQ(json["status"], "ended");
  EXPECT_EQ(json["exit_status"], 3);
  EXPECT_EQ(json["cause"], "rank-exit");
  EXPECT_EQ(json["began"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(json["seconds"], 1.5);
  EXPECT_EQ(json["hosts"], (nlohmann::json{"n1", "n2"}));
  EXPECT_EQ(json["report"]["seconds"]["running"], 1.25);
}

TEST(HistoryView, SurvivesAReportThatIsNone) {
  HistoryRecord job = ended(a_job(1), 3);
  job.report = R"({"seconds": 3, "epochs": [1, {"rank": "x", "cause": 7}]})";
  EXPECT_THAT(job_text({job, HistoryStatus::kEnded}, kNow), HasSubstr("epoch 0"));
  job.report = "{";
  EXPECT_THAT(job_text({job, HistoryStatus::kEnded}, kNow), HasSubstr("the plan"));
}

TEST(HistorySince, ReadsAgesAndDates) {
  ::setenv("TZ", "UTC0", 1);
  EXPECT_EQ(parse_since("2h", kNow), kNow - 2 * kHour);
  EXPECT_EQ(parse_since("90m", kNow), kNow - 90 * 60'000);
  EXPECT_EQ(parse_since("3d", kNow), kNow - 72 * kHour);
  EXPECT_EQ(parse_since("1w", kNow), kNow - 168 * kHour);
  EXPECT_EQ(parse_since("2027-01-15", kNow), kNow - 8 * kHour);
  EXPECT_EQ(parse_since("2027-01-15 07:30", kNow), kNow - kHour / 2);
  EXPECT_EQ(parse_since("2027-01-15T08:00", kNow), kNow);
  for (const char* wrong : {"", "h", "2", "2x", "-1h", "2027-02-30", "2027-13-01", "2027-1-5",
                            "2027-01-15 24:00", "2027-01-15 7:30", "yesterday", "99999999999h"}) {
    EXPECT_FALSE(parse_since(wrong, kNow)) << wrong;
  }
}

}  // namespace
}  // namespace dtl::history_test
