#include "launcher/report/job_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "launcher/report/job_identity.h"

namespace dtl::job_events_test {
namespace {

using testing::ElementsAre;

constexpr std::time_t kNow = 1'800'000'000;  // 2027-01-15 08:00

nlohmann::json read(const JobEvent& event) {
  return nlohmann::json::parse(event_json(event, "0123456789abcdef", {}, kNow));
}

JobEvent failure() {
  JobEvent event;
  event.kind = JobEvent::Kind::kFailure;
  event.restarts = 2;
  event.hosts = {"n1", "n2"};
  event.host = "n2";
  event.since_start = JobTime(1500);
  event.outcome.emplace();
  event.outcome->cause = Cause::kRankSignal;
  event.outcome->rank = 3;
  event.outcome->signal = SIGKILL;
  event.outcome->exit_status = 137;
  return event;
}

TEST(JobIdentity, QuotesTheCommandAsAShellNeedsIt) {
  Request request;
  request.programs[0].command = {"sh", "-c", "echo 'a  b'"};
  request.programs.push_back({});
  request.programs[1].command = {"python3", "train.py", "--token", "secret"};
  EXPECT_EQ(first_record("0123456789abcdef", request, false).command,
            R"(sh -c 'echo '\''a  b'\''' : python3 train.py --token '***')");
}

TEST(JobEvents, AnEventSaysWhatAndWhen) {
  JobEvent event;
  event.ranks = 4;
  event.hosts = {"n1", "n2"};
  const auto start = read(event);
  EXPECT_EQ(start["event"], "start");
  EXPECT_EQ(start["job"], "0123456789abcdef");
  EXPECT_EQ(start["time"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(start["ranks"], 4);
  EXPECT_EQ(start["hosts"], (nlohmann::json{"n1", "n2"}));
  EXPECT_FALSE(start.contains("exit_status"));
}

TEST(JobEvents, AFailureHasItsCauseAndPlace) {
  const auto json = read(failure());
  EXPECT_EQ(json["event"], "failure");
  EXPECT_EQ(json["seconds"], 1.5);
  EXPECT_EQ(json["restarts"], 2);
  EXPECT_EQ(json["cause"], cause_name(Cause::kRankSignal));
  EXPECT_EQ(json["exit_status"], 137);
  EXPECT_EQ(json["rank"], 3);
  EXPECT_EQ(json["host"], "n2");
  EXPECT_EQ(json["signal"], "SIGKILL");
}

TEST(JobEvents, IsOneLineWhateverProgramsWrite) {
  JobEvent event = failure();
  event.outcome->text = "a\nb\"\xff";
  const std::string line = event_json(event, "0123456789abcdef", {}, kNow);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(nlohmann::json::accept(line));
}

JobEvents told_by(const std::string& command) {
  Reporting reporting;
  reporting.on_event = command;
  return {std::move(reporting), "0123456789abcdef"};
}

class JobEventsCommand : public testing::Test {
 protected:
  JobEventsCommand() {
    std::string name = testing::TempDir() + "/events.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    ::setenv("DTL_EVENTS_HERE", folder_.c_str(), 1);
  }
  ~JobEventsCommand() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> lines() const {
    std::ifstream file(folder_ + "/log");
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }

  std::string folder_;
};

TEST_F(JobEventsCommand, HearsOfAllOneAfterTheOtherBeforeTheEndReturns) {
  {
    JobEvents events = told_by(
        "sleep 0.1; echo \"$DTL_EVENT $DTL_JOB $DTL_RESTARTS ${DTL_EXIT_STATUS-}\" "
        ">>$DTL_EVENTS_HERE/log");
    events.tell(JobEvent{});
    events.tell(failure());
  }
  EXPECT_THAT(lines(), ElementsAre("start 0123456789abcdef 0 ", "failure 0123456789abcdef 2 137"));
}

TEST_F(JobEventsCommand, TakesNothingFromTheEventOfAnOuterJob) {
  const std::map<std::string, std::string> outer = {
      {"DTL_EVENT", "end"}, {"DTL_JOB", "f00d"}, {"DTL_RESTARTS", "7"}, {"DTL_EXIT_STATUS", "9"}};
  for (const auto& [name, value] : outer) ::setenv(name.c_str(), value.c_str(), 1);
  {
    JobEvents events = told_by(
        "echo \"$DTL_EVENT $DTL_JOB $DTL_RESTARTS ${DTL_EXIT_STATUS-}\" >>$DTL_EVENTS_HERE/log");
    events.tell(JobEvent{});
  }
  for (const auto& [name, value] : outer) ::unsetenv(name.c_str());
  EXPECT_THAT(lines(), ElementsAre("start 0123456789abcdef 0 "));
}

TEST_F(JobEventsCommand, ReadsTheEventAndMayIgnoreIt) {
  {
    JobEvents events = told_by("cat >>$DTL_EVENTS_HERE/log; exit 3");
    events.tell(failure());
    events.tell(JobEvent{});
  }
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(lines()[0])["event"], "failure");
  EXPECT_EQ(nlohmann::json::parse(lines()[1])["event"], "start");
}

TEST_F(JobEventsCommand, WithoutACommandNothingIsStarted) {
  JobEvents events = told_by("");
  events.tell(failure());
  JobResult result;
  result.last.job.outcome.emplace();
  events.finish(result, 0);
  EXPECT_THAT(lines(), ElementsAre());
}

}  // namespace
}  // namespace dtl::job_events_test
