#include "launcher/jobs/cores_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "launcher/options/jobs_options.h"

namespace dtl::cores_view_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string kNode = "cpus 0-7\ncores 8\nfree-cpus 6-7\nfree-cores 2\n\n";
const std::string kClaim =
    "job 1a2b00000000ffff\nuser 1000 alice\nage 7500\nshared no\ncpus 0-5\ncores 6\n\n";

TEST(CoresView, ReadsWhatDtagentLists) {
  const auto node = parse_node_cores(kNode + kClaim + "end\n");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->cpus, "0-7");
  EXPECT_EQ(node->free_cores, 2);
  ASSERT_THAT(node->claims, SizeIs(1));
  EXPECT_EQ(node->claims[0].job, "1a2b00000000ffff");
  EXPECT_EQ(node->claims[0].user, "alice");
  EXPECT_EQ(node->claims[0].age_s, 7500);
  EXPECT_FALSE(node->claims[0].shared);
  EXPECT_EQ(node->claims[0].cpus, "0-5");
}

TEST(CoresView, ReadsANodeWithoutAFreeCore) {
  const auto node =
      parse_node_cores("cpus 0-7\ncores 8\nfree-cpus \nfree-cores 0\n\n" + kClaim + "end\n");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->free_cpus, "");
}

// Anybody on the host may claim under any name, and names of users come from its files.
TEST(CoresView, MakesForeignTextPrintable) {
  const auto node = parse_node_cores(
      kNode + "job \x1b[2Jfree\nuser 7 \x1b]0;x\x07\nage 1\nshared yes\ncpus 0\ncores 1\n\n" +
      "job free\nuser 8 \nage 1\nshared yes\ncpus 0\ncores 1\n\n" +
      "job 1a2b\nuser ?\nage 1\nshared yes\ncpus 0\ncores 1\n\nend\n");
  ASSERT_TRUE(node);
  ASSERT_THAT(node->claims, SizeIs(3));
  EXPECT_EQ(node->claims[0].job, "?");
  EXPECT_EQ(node->claims[0].user, "\\x1b]0;x\\x07");
  EXPECT_EQ(node->claims[1].job, "?");
  EXPECT_EQ(node->claims[1].user, "8");
  EXPECT_EQ(node->claims[2].job, "?");
  EXPECT_EQ(node->claims[2].user, "?");
  EXPECT_THAT(cores_table({{"n1", *node}}, 80), Not(HasSubstr("\x1b")));
}

TEST(CoresView, RefusesAnyOtherAnswer) {
  const auto with = [](const std::string& old, const std::string& other) {
    std::string text = kNode + kClaim + "end\n";
    text.replace(text.find(old), old.size(), other);
    return text;
  };
  for (const std::string& text : {std::string(),
                                  std::string("end\n"),
                                  std::string("problem no folder\n\nend\n"),
                                  kNode,
                                  kNode + kClaim,
                                  kNode + kClaim + "end",
                                  kNode + "end\nend\n",
                                  with("cpus 0-7", "cpus all"),
                                  with("cpus 0-7", "cpus\x1b"),
                                  with("cpus 0-7", "cpus"),
                                  with("cpus 0-5", "cpus 0 5"),
                                  with("cores 8", "cores -1"),
                                  with("cores 8", "cores 65537"),
                                  with("free-cores 2", "free-cores 9"),
                                  with("cores 6", "cores 9"),
                                  with("age 7500", "age 1h"),
                                  with("age 7500", "age 9999999999999999999"),
                                  with("shared no", "shared maybe"),
                                  with("user 1000 alice", "user alice"),
                                  with("user 1000 alice", "user -1 alice"),
                                  with("user 1000 alice", "user 1000 " + std::string(2000, 'a')),
                                  with("user 1000 alice\n", ""),
                                  with("job 1a2b", "jobs 1a2b"),
                                  with("\n\njob", "\njob"),
                                  with("\n\njob", "\n\n\njob"),
                                  with("end\n", std::string(100, '\0'))}) {
    EXPECT_FALSE(parse_node_cores(text)) << printable(text);
  }
}

// Each answer that is cut off, and each with one other byte, is refused or read, and nothing worse.
TEST(CoresView, SurvivesDamagedAnswers) {
  const std::string whole = kNode + kClaim + kClaim + "end\n";
  for (std::size_t at = 0; at < whole.size(); ++at) {
    EXPECT_FALSE(parse_node_cores(whole.substr(0, at))) << at;
    for (const char byte : {'\0', '\n', ' ', '9', '\x1b', '\xff'}) {
      std::string text = whole;
      text[at] = byte;
      if (const auto node = parse_node_cores(text)) cores_table({{"n1", *node}}, 80);
    }
  }
}

HostCores host(const std::string& name, const std::string& answer) {
  return {name, parse_node_cores(answer + "end\n").value()};
}

TEST(CoresTable, HasARowForEachClaimAndOneForFreeCores) {
  const std::string shared =
      "job 99990000aaaa0000\nuser 1001 \nage 12\nshared yes\ncpus 0-7\ncores 8\n\n";
  const std::string idle = "cpus 0-7\ncores 8\nfree-cpus 0-7\nfree-cores 8\n\n";
  EXPECT_EQ(cores_table({host("node1", kNode + kClaim + shared), host("node2", idle)}, 80),
            "HOST  CPUS CORES  JOB  USER  FOR\n"
            "node1 0-5  6 of 8 1a2b alice 2h05m\n"
            "node1 0-7  8 of 8 9999 1001  12s   shared\n"
            "node1 6-7  2 of 8 free\n"
            "node2 0-7  8 of 8 free\n");
}

TEST(CoresTable, ShowsAHostWithoutAFreeCore) {
  const std::string full = "cpus 0-7\ncores 8\nfree-cpus \nfree-cores 0\n\n";
  EXPECT_THAT(cores_table({host("n1", full)}, 80), HasSubstr("n1   -    0 of 8 free\n"));
}

TEST(CoresTable, FitsTheTerminalAndIsWholeInAPipe) {
  std::string list = "0";
  for (int cpu = 2; cpu < 600; cpu += 2) list += "," + std::to_string(cpu);
  const std::string name(60, 'h'), user(60, 'u');
  const HostCores wide =
      host(name, "cpus 0-999\ncores 1000\nfree-cpus " + list + "\nfree-cores 1000\n\njob " +
                     std::string(16, 'a') + "\nuser 1 " + user + "\nage 172799\nshared yes\ncpus " +
                     list + "\ncores 1000\n\n");
  for (const int columns : {20, 80, 132}) {
    const auto lines = split(cores_table({wide}, columns), '\n');
    for (const std::string& line : lines) {
      EXPECT_LE(line.size(), static_cast<std::size_t>(std::max(columns, 80))) << line;
    }
    EXPECT_THAT(lines.at(1), HasSubstr("> 1000 of 1000 aaaa uuuuuuuuuuu> 47h59m shared"));
  }
  const std::string whole = cores_table({wide}, std::nullopt);
  for (const std::string& part : {name, user, list, std::string(16, 'a')}) {
    EXPECT_THAT(whole, HasSubstr(part));
  }
  EXPECT_THAT(whole, Not(HasSubstr(">")));
}

TEST(CoresOption, RefusesOptionsThatConcernJobs) {
  EXPECT_TRUE(parse_jobs_command("ps", {"--cores", "-w"}).cores);
  for (const char* other : {"-a", "-v"}) {
    try {
      parse_jobs_command("ps", {"--cores", other});
      ADD_FAILURE() << other;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kUsage);
      EXPECT_EQ(std::string(error.what()),
                std::string(other) + ": it does not go with --cores. Try: dtlaunch ps --cores");
    }
  }
}

}  // namespace
}  // namespace dtl::cores_view_test
