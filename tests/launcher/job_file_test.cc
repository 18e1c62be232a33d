#include "launcher/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::string error_of(const std::string& text) {
  try {
    parse_job_file(text, "job.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "no error";
}

TEST(JobFile, DescribesAWholeJob) {
  const JobFile job = parse_job_file(R"(
program = "python3"
arguments = ["train.py", "--lr", "1e-4"]
ranks = 4
ranks_per_node = 2
oversubscribe = true
working_directory = "/srv/work"
timeout = 90
report = "out/report.json"
label = true

[environment]
HF_HOME = "/srv/hf"
DEBUG = 1

[hosts]
file = "hosts"

[pinning]
enabled = false
threads = 3
)",
                                     "jobs/job.toml");
  EXPECT_THAT(job.command, ElementsAre("python3", "train.py", "--lr", "1e-4"));
  EXPECT_THAT(job.environment, ElementsAre(Pair("HF_HOME", "/srv/hf"), Pair("DEBUG", "1")));
  EXPECT_EQ(job.hostfile, "jobs/hosts");
  EXPECT_EQ(job.ranks, 4);
  EXPECT_EQ(job.ranks_per_node, 2);
  EXPECT_TRUE(job.oversubscribe);
  EXPECT_EQ(job.working_directory, "/srv/work");
  EXPECT_EQ(job.timeout, std::chrono::seconds(90));
  EXPECT_EQ(job.report, "out/report.json");
  EXPECT_TRUE(job.label);
  EXPECT_FALSE(job.pin);
  EXPECT_EQ(job.threads, 3);
}

TEST(JobFile, SaysNothingWhenEmpty) {
  const JobFile job = parse_job_file("", "dtlaunch.toml");
  EXPECT_TRUE(job.command.empty());
  EXPECT_TRUE(job.pin);
  EXPECT_FALSE(job.ranks || job.hostfile || job.timeout || job.working_directory);
}

TEST(JobFile, TurnsTrainerSettingsIntoFlagsOfDttrain) {
  const std::string trainer =
      "[trainer]\nmodel_name_or_path = \"tiny\"\ndo_train = true\nfp16 = false\n"
      "learning_rate = 5e-5\nmax_steps = 100\n";
  const auto flags = ElementsAre("dttrain", "--model_name_or_path", "tiny", "--do_train",
                                 "--learning_rate", "5e-05", "--max_steps", "100");
  EXPECT_THAT(parse_job_file(trainer, "f").command, flags);
  EXPECT_THAT(parse_job_file("program = \"dttrain\"\n" + trainer, "f").command, flags);
  EXPECT_THAT(parse_job_file("arguments = [\"--demo\"]\n[trainer]\nseed = 1", "f").command,
              ElementsAre("dttrain", "--demo", "--seed", "1"));
}

TEST(JobFile, RefusesTrainerSettingsForAnotherProgram) {
  EXPECT_EQ(error_of("program = \"python3\"\n[trainer]\nseed = 1"),
            "job.toml:2: [trainer] is for dttrain, and program is 'python3'. "
            "Try: arguments = [...]");
}

TEST(JobFile, TakesAListOfHosts) {
  const JobFile job = parse_job_file("[hosts]\nlist = [\"a:2\", \"n[01-02]\"]\n", "job.toml");
  ASSERT_EQ(job.hosts.size(), 3u);
  EXPECT_EQ(job.hosts[0].name, "a");
  EXPECT_EQ(job.hosts[0].slots, 2);
  EXPECT_EQ(job.hosts[2].name, "n02");
  EXPECT_EQ(job.hosts[2].where, "job.toml:2");
}

TEST(JobFile, RefusesBadHosts) {
  EXPECT_EQ(error_of("hosts.list = [\"a\", \"b:0\"]"),
            "job.toml:1: hosts.list: '0' is not a number of slots. "
            "Try: a number from 1 to 65535, such as host:2");
  EXPECT_EQ(error_of("hosts.list = []"), "job.toml:1: the list names no host");
  EXPECT_EQ(error_of("hosts.list = [\"\"]"), "job.toml:1: hosts.list: a host name is missing");
  EXPECT_EQ(error_of("[hosts]\nfile = \"h\"\nlist = [\"a\"]"),
            "job.toml:3: hosts.file and hosts.list both name hosts. Try: one of the two");
}

TEST(JobFile, SeesRelativePathsFromItsOwnFolder) {
  const std::string text = "working_directory = \"w\"\nhosts.file = \"../h\"\n";
  const JobFile job = parse_job_file(text, "/srv/jobs/job.toml");
  EXPECT_EQ(job.hostfile, "/srv/jobs/../h");
  EXPECT_EQ(job.working_directory, "/srv/jobs/w");
  EXPECT_EQ(parse_job_file(text, "dtlaunch.toml").hostfile, "../h");
  EXPECT_EQ(parse_job_file("hosts.file = \"/etc/h\"", "a/b.toml").hostfile, "/etc/h");
}

TEST(JobFile, NamesUnknownKeysWithLineAndTheNearestOne) {
  EXPECT_EQ(error_of("ranks = 2\n\n[pinnning]\nenabled = true\n"),
            "job.toml:4: unknown key 'pinnning.enabled'. Try: pinning.enabled");
  EXPECT_EQ(error_of("rank_per_node = 2"),
            "job.toml:1: unknown key 'rank_per_node'. Try: ranks_per_node");
  EXPECT_EQ(error_of("threads = 2"), "job.toml:1: unknown key 'threads'. Try: pinning.threads");
}

TEST(JobFile, RefusesNumbersOutOfRange) {
  EXPECT_EQ(error_of("\nranks = 0"), "job.toml:2: 'ranks' is 0. Try: a number from 1 to 65535");
  EXPECT_EQ(error_of("timeout = -5"),
            "job.toml:1: 'timeout' is -5. Try: a number from 1 to 31622400");
  EXPECT_EQ(error_of("ranks = \"4\""), "job.toml:1: 'ranks' must be a whole number, not a string");
}

TEST(JobFile, RefusesNamesThatAreNone) {
  EXPECT_EQ(error_of("[environment]\n\"A B\" = 1"),
            "job.toml:1: 'A B' is not the name of a variable");
  EXPECT_EQ(error_of("[trainer]\n\"a b\" = 1"),
            "job.toml:1: 'a b' is not the name of a setting. Try: max_steps = 100");
  EXPECT_EQ(error_of("program = \"\""), "job.toml:1: 'program' is empty");
}

}  // namespace
}  // namespace dtl
