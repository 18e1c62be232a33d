#include "launcher/report/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

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
