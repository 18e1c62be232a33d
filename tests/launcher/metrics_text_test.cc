#include "launcher/report/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <regex>

#include "base/text.h"
#include "launcher/report/metrics_file.h"

namespace dtl::metrics_text_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

JobMetrics running() {
  JobMetrics metrics;
  metrics.job_id = "00112233aabbccdd";
  metrics.launcher_host = "login";
  metrics.tags = {"nightly", "run=7"};
  metrics.state = "running";
  metrics.ranks = 64;
  metrics.cores = 128;
  metrics.restarts = 1;
  metrics.seconds = 60.5;
  metrics.now = 1'000'000'000;
  return metrics;
}

TEST(MetricsText, HasAGaugeForEachFact) {
  const std::string text = metrics_text(running());
  EXPECT_THAT(text, HasSubstr("# TYPE dtlaunch_job_ranks gauge\n"
                              "dtlaunch_job_ranks{job=\"00112233aabbccdd\"} 64\n"));
  EXPECT_THAT(text, HasSubstr("dtlaunch_job_claimed_cores{job=\"00112233aabbccdd\"} 128\n"));
  EXPECT_THAT(text, HasSubstr("dtlaunch_job_restarts{job=\"00112233aabbccdd\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("dtlaunch_job_duration_seconds{job=\"00112233aabbccdd\"} 60.500\n"));
  EXPECT_THAT(text, HasSubstr("launcher_host=\"login\",tags=\"nightly,run=7\",version="));
  EXPECT_THAT(text, HasSubstr("job=\"00112233aabbccdd\",state=\"running\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("job=\"00112233aabbccdd\",state=\"ended\"} 0\n"));
  EXPECT_THAT(text, EndsWith("\n# EOF\n"));
}

TEST(MetricsText, LeavesOutWhatIsNotKnownYet) {
  JobMetrics metrics;
  metrics.job_id = "00112233aabbccdd";
  const std::string text = metrics_text(metrics);
  for (const char* name : {"ranks", "claimed_cores", "exit_status"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("dtlaunch_job_") + name + "{"))) << name;
  }
  metrics.exit_status = 3;
  EXPECT_THAT(metrics_text(metrics),
              HasSubstr("dtlaunch_job_exit_status{job=\"00112233aabbccdd\"} 3\n"));
}

RankReport training(std::uint32_t rank, std::uint64_t step, std::uint64_t tokens, double loss) {
  RankReport report;
  report.rank = rank;
  report.progress = {step, 100, tokens, loss};
  CommState comm;
  comm.bytes = step * 1000;
  report.comms = {comm};
  return report;
}

TEST(MetricsText, ShowsHowFastTheRanksTrain) {
  JobMetrics metrics = running();
  TrainingPace& pace = metrics.pace;
  EXPECT_THAT(metrics_text(metrics), Not(HasSubstr("training")));
  pace.add(training(1, 9, 500, 2), 9);  // rank 0 decides, once it tells
  pace.add(training(0, 10, 1000, 1), 10);
  EXPECT_THAT(metrics_text(metrics), Not(HasSubstr("step_seconds")));
  pace.add(training(0, 10, 1000, 1), 13);
  pace.add(training(1, 14, 9000, 2), 14);
  pace.add(training(0, 14, 3000, 0.5), 14);
  const std::string text = metrics_text(metrics);
  EXPECT_THAT(text, HasSubstr("_training_step{job=\"00112233aabbccdd\"} 14\n"));
  EXPECT_THAT(text, HasSubstr("_training_total_steps{job=\"00112233aabbccdd\"} 100\n"));
  EXPECT_THAT(text, HasSubstr("_training_loss{job=\"00112233aabbccdd\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("_training_step_seconds{job=\"00112233aabbccdd\"} 1.000000\n"));
  EXPECT_THAT(text, HasSubstr("_training_tokens_per_second{job=\"00112233aabbccdd\"} 500.000\n"));
  EXPECT_THAT(text, HasSubstr("_wire_bytes{job=\"00112233aabbccdd\"} 28000\n"));
}

// They start at an earlier step, and their communicators at 0 bytes.
TEST(MetricsText, StartsAgainWithTheRanks) {
  TrainingPace pace;
  pace.add(training(0, 10, 1000, 1), 10);
  pace.add(training(0, 12, 1000, std::nan("")), 12);
  EXPECT_EQ(pace.step_seconds(), 1.0);
  EXPECT_FALSE(pace.tokens_per_second());
  pace.restart();
  EXPECT_FALSE(pace.progress());
  pace.add(training(0, 5, 10, 1), 30);
  EXPECT_FALSE(pace.step_seconds());
  pace.add(training(0, 6, 20, 1), 32);
  EXPECT_EQ(pace.step_seconds(), 2.0);
  pace.add(training(0, 1, 20, 1), 33);  // goes back without a word
  EXPECT_EQ(pace.step_seconds(), 2.0);
  EXPECT_EQ(pace.wire_bytes(), 12000U + 6000 + 1000);
}

// What the Prometheus text format and OpenMetrics both allow. A family is HELP, TYPE and samples.
TEST(MetricsText, IsInBothFormatsWhateverNamesItHas) {
  JobMetrics metrics = running();
  metrics.launcher_host = "a\"b\\c\nd\x1b[2J";
  const std::regex help("# HELP (dtlaunch_job_[a-z_]+) [A-Z1][^\"\\\\]*\\.");
  const std::regex sample(
      "(dtlaunch_job_[a-z_]+)\\{([a-z_]+=\"([^\"\\\\\n]|\\\\[\\\\n\"])*\",?)+\\} "
      "[0-9]+(\\.[0-9]+)?");
  std::vector<std::string> lines = split(metrics_text(metrics), '\n');
  ASSERT_EQ(lines.back(), "");
  lines.pop_back();
  ASSERT_EQ(lines.back(), "# EOF");
  lines.pop_back();
  std::string family;
  std::smatch found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_match(lines[i], found, help)) {
      family = found[1];
      ASSERT_EQ(lines.at(++i), "# TYPE " + family + " gauge");
    } else {
      ASSERT_TRUE(std::regex_match(lines[i], found, sample)) << lines[i];
      EXPECT_EQ(found[1], family);
    }
  }
}

TEST(MetricsText, CallsTheShortStatesBeforeTheRanksStarting) {
  JobMetrics metrics = running();
  metrics.state = "preflight";
  metrics.restarts = 0;
  EXPECT_THAT(metrics_text(metrics), HasSubstr("state=\"starting\"} 1\n"));
  metrics.restarts = 1;
  EXPECT_THAT(metrics_text(metrics), HasSubstr("state=\"restarting\"} 1\n"));
}

TEST(MetricsFile, WritesAtOnceAndAtTheEnd) {
  char folder[] = "/tmp/metrics.XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/job.prom";
  const auto content = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  {
    MetricsFile file(path, running());
    EXPECT_THAT(content(), HasSubstr("state=\"running\"} 1\n"));
    file.watching({}).placed(3);
    file.ended(3);
    EXPECT_THAT(content(), HasSubstr("state=\"ended\"} 1\n"));
    EXPECT_THAT(content(), HasSubstr("_ranks{job=\"00112233aabbccdd\"} 3\n"));
    EXPECT_THAT(content(), HasSubstr("_exit_status{job=\"00112233aabbccdd\"} 3\n"));
  }
  EXPECT_EQ(::unlink(path.c_str()), 0);
  EXPECT_EQ(::rmdir(folder), 0);  // nothing else is left
}

}  // namespace
}  // namespace dtl::metrics_text_test
