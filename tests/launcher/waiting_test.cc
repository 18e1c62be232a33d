// --wait and dtlaunch submit as far as the command line, the job file and variables decide them.
#include "launcher/request/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "launcher/request/job_file.h"

namespace dtl::waiting_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

CommandLine parse(const Words& words, const Variables& environment = {}) {
  return parse_command_line(words, environment);
}

std::string refusal(const Words& words, const Variables& environment = {}) {
  try {
    parse(words, environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(WaitOption, HasNoLimitByItself) {
  for (const Words& words : {Words{"--wait", "./a", "600"},
                             {"-wait", "-np", "2", "./a", "600"},
                             {"--wait", "--", "./a", "600"}}) {
    const CommandLine line = parse(words);
    EXPECT_TRUE(line.placement.waits);
    EXPECT_FALSE(line.placement.wait_limit);
    EXPECT_THAT(line.programs[0].command, ElementsAre("./a", "600"));
  }
  EXPECT_TRUE(parse({"--wait"}).placement.waits);
  EXPECT_FALSE(parse({"./a"}).placement.waits);
}

TEST(WaitOption, TakesANumberBehindItAsSeconds) {
  for (const Words& words :
       {Words{"--wait", "600", "a"}, {"--wait=600", "a"}, {"-wait=6e2", "a"}}) {
    EXPECT_EQ(parse(words).placement.wait_limit, milliseconds(600000)) << words[0];
    EXPECT_THAT(parse(words).programs[0].command, ElementsAre("a"));
  }
  EXPECT_EQ(parse({"--wait", "0.5", "a"}).placement.wait_limit, milliseconds(500));
}

TEST(WaitOption, TakesNamesThatBeginWithADigitAsPrograms) {
  for (const std::string name : {"7z", "2to3", "inf", "nan", "600a", "1.sh"}) {
    EXPECT_FALSE(parse({"--wait", name}).placement.wait_limit) << name;
    EXPECT_THAT(parse({"--wait", name}).programs[0].command, ElementsAre(name));
  }
}

TEST(WaitOption, RefusesOtherLimits) {
  EXPECT_EQ(refusal({"--wait", "10m", "a"}),
            "--wait 10m: not a number of seconds. Try: --wait 600");
  EXPECT_EQ(refusal({"--wait=0", "a"}),
            "--wait=0: too small (0.001 to 31622400 seconds). Try: dtlaunch --help");
  EXPECT_EQ(refusal({"--wait=soon", "a"}),
            "--wait=soon: not a number of seconds (0.001 to 31622400). Try: dtlaunch --help");
  EXPECT_EQ(refusal({"--wait=", "a"}), "--wait=: the value is empty. Try: --wait [SECONDS]");
  EXPECT_EQ(refusal({"--wait", "5", "--wait", "a"}),
            "--wait: given twice (first as --wait 5). Try: --wait");
}

TEST(WaitOption, StandsInAVariable) {
  const auto with = [](const std::string& value) {
    return parse({"a"}, {{"DTL_WAIT", value}}).placement;
  };
  EXPECT_TRUE(with("1").waits);
  EXPECT_FALSE(with("1").wait_limit);
  EXPECT_TRUE(with("yes").waits);
  EXPECT_EQ(with("600").wait_limit, milliseconds(600000));
  EXPECT_FALSE(with("0").waits);
  EXPECT_FALSE(with("no").waits);
  EXPECT_FALSE(with("").waits);
  EXPECT_EQ(parse({"--wait", "5", "a"}, {{"DTL_WAIT", "600"}}).placement.wait_limit,
            milliseconds(5000));
  EXPECT_EQ(refusal({"a"}, {{"DTL_WAIT", "10m"}}),
            "DTL_WAIT=10m: not a number of seconds. Try: --wait 600");
}

TEST(WaitOption, StandsInAJobFile) {
  const auto said = [](const std::string& text) {
    return parse_job_file("program = \"a\"\n" + text, "job.toml").said.line.placement;
  };
  EXPECT_TRUE(said("wait = true").waits);
  EXPECT_FALSE(said("wait = true").wait_limit);
  EXPECT_FALSE(said("wait = false").waits);
  EXPECT_EQ(said("wait = 600").wait_limit, milliseconds(600000));
  EXPECT_THROW(said("wait = \"600\""), Error);
  EXPECT_THROW(said("wait = 0"), Error);
}

TEST(WaitOption, OfTheLineOverridesTheFile) {
  const JobFile file = parse_job_file("program = \"a\"\nwait = 600\n", "job.toml");
  CommandLine line = parse({"--wait"});
  add_options(line, file.options);
  EXPECT_FALSE(line.placement.wait_limit);
  // As dtlaunch submit does it: the file's limit counts.
  CommandLine submitted = parse({});
  submitted.placement.waits = true;
  add_options(submitted, file.options);
  EXPECT_EQ(submitted.placement.wait_limit, milliseconds(600000));
}

Words notices(const CommandLine& line, bool waits) {
  Placement placement = line.placement;
  Words notices;
  settle_waiting(line, placement, notices);
  EXPECT_EQ(placement.waits, waits);
  return notices;
}

TEST(Waiting, HasNoEffectBesideOthers) {
  EXPECT_THAT(notices(parse({"--wait", "5", "--share-cores", "a"}), false),
              ElementsAre("--wait 5: the job does not wait: with --share-cores it starts beside "
                          "others"));
  EXPECT_THAT(notices(parse({"--wait", "--oversubscribe", "a"}), false),
              ElementsAre("--wait: the job does not wait: with --oversubscribe it starts beside "
                          "others"));
  EXPECT_THAT(notices(parse({"--wait", "a"}, {{"DTL_SHARE_CORES", "1"}}), false),
              ElementsAre("--wait: the job does not wait: with DTL_SHARE_CORES=1 it starts beside "
                          "others"));
  EXPECT_THAT(notices(parse({"--share-cores", "a"}), false), IsEmpty());
  EXPECT_THAT(notices(parse({"--wait", "a"}), true), IsEmpty());
}

CommandLine submit(const Words& words) {
  CommandLine line = parse(words);
  line.detach = line.placement.waits = true;
  line.given.push_back({"--detach", "submit"});
  return line;
}

TEST(Waiting, IsLeftOutOfADryRun) {
  EXPECT_THAT(notices(parse({"--wait", "--dry-run", "a"}), false),
              ElementsAre("--wait: left out: --dry-run does not wait"));
  EXPECT_THAT(notices(submit({"--dry-run", "a"}), false), IsEmpty());
  EXPECT_EQ(typed_name(submit({"a"}), "--detach"), "submit");
}

TEST(Waiting, NamesTheCommandThatWasTyped) {
  EXPECT_THAT(notices(submit({"--share-cores", "a"}), false),
              ElementsAre("submit: the job does not wait: with --share-cores it starts beside "
                          "others"));
}

TEST(Waiting, SuggestsTheLineOfTheJobsHosts) {
  Request request;
  EXPECT_EQ(queue_command(parse({"a"}), request), "dtlaunch queue");
  for (int i = 1; i <= 2; ++i) request.hosts.emplace_back().name = "n" + std::to_string(i);
  EXPECT_EQ(queue_command(parse({"-hosts", "n1,n2", "a"}), request), "dtlaunch queue -hosts n1,n2");
  EXPECT_EQ(queue_command(parse({"-f", "my hosts", "a"}), request), "dtlaunch queue -f 'my hosts'");
  for (int i = 3; i <= 9; ++i) request.hosts.emplace_back().name = "n" + std::to_string(i);
  EXPECT_EQ(queue_command(parse({"a"}), request), "dtlaunch queue -hosts 'n[1-9]'");
}

}  // namespace
}  // namespace dtl::waiting_test
