#include "launcher/jobs/ask_view.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/options/jobs_options.h"
#include "launcher/options/subcommands.h"

namespace dtl::ask_view_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kStack =
    "answer told\n"
    "| Current thread 0x01 (most recent call first):\n"
    "|   File \"/opt/dtring/_stacks.py\", line 70 in all_reduce of 4.0 MiB of float32, since TIME\n"
    "|   File \"/home/me/train.py\", line 31 in main\n";

std::string waiting(int rank, const std::string& since) {
  std::string text = kStack;
  text.replace(text.find("TIME"), 4, since);
  return "rank " + std::to_string(rank) + " 71" + std::to_string(rank) +
         " sleeping 12400 3 1300000 12 7500 python3.11\n" + text;
}

JobAnswer job_of(const std::string& text, int ranks = 0) {
  return merge_answers("3f2a91c07be4d518", ranks, {parse_rank_answers("n1", text)});
}

TEST(RankAnswers, HaveWhatDtagentSays) {
  const HostAnswer host = parse_rank_answers(
      "n1",
      "agent 700 2\nrank 5 712 disk 12400 103 1300000 12 7500 my program\n"
      "waits 1 17 16 0 4\nanswer cannot\nnative told\n| #0  0x1 in poll ()\nend\n");
  EXPECT_EQ(host.agents, 1);
  EXPECT_EQ(host.ranks, 2);
  ASSERT_EQ(host.running.size(), 1u);
  const RankAnswer& rank = host.running[0];
  EXPECT_EQ(rank.rank, 5);
  EXPECT_EQ(rank.pid, 712);
  EXPECT_EQ(rank.state, "disk");
  EXPECT_EQ(rank.cpu_ms, 12400);
  EXPECT_EQ(rank.cpu_percent, 103);
  EXPECT_EQ(rank.memory_kib, 1300000);
  EXPECT_EQ(rank.threads, 12);
  EXPECT_EQ(rank.age_s, 7500);
  EXPECT_EQ(rank.program, "my program");
  ASSERT_EQ(rank.waits.size(), 1u);
  EXPECT_EQ(rank.waits[0].collective, "allreduce");
  EXPECT_EQ(rank.waits[0].number, 17);
  EXPECT_EQ(rank.answer, "cannot");
  EXPECT_TRUE(rank.native_told);
  EXPECT_EQ(rank.native, "#0  0x1 in poll ()\n");
}

TEST(RankAnswers, NameNoKindOfAnEarlierCollective) {
  const HostAnswer host =
      parse_rank_answers("n1", "rank 0 1 running 1 1 1 1 1 a\nwaits 1 18 15 0 4\nend\n");
  ASSERT_EQ(host.running.at(0).waits.size(), 1u);
  EXPECT_EQ(host.running[0].waits[0].collective, "collective");
  EXPECT_EQ(host.running[0].waits[0].number, 16);
}

TEST(RankAnswers, SkipNonsense) {
  const HostAnswer host = parse_rank_answers(
      "n1",
      "| text of nobody\nanswer told\nagent x\nrank -7 1 running 1 1 1 1 1 a\n"
      "rank 1 99999999999999999999 running 1 1 1 1 1 a\nanswer told\n| of no rank\n"
      "rank 2 1\nrank -1 1 running 1 1 1 1 1 a\nwaits 1 2 3\nwaits 1 1 1 0 4\n"
      "waits 1 2 1 0 0\nanswer told\n| a\x1b[2Jb\nnot quoted\nend\n");
  ASSERT_EQ(host.running.size(), 1u);
  EXPECT_EQ(host.running[0].rank, -1);
  EXPECT_EQ(host.running[0].stack, "a\\x1b[2Jb\n");
  EXPECT_TRUE(host.running[0].waits.empty());
}

TEST(AskView, ShowsEqualStacksOnceWithTheEarliestTime) {
  const JobAnswer job =
      job_of(waiting(0, "10:13:05") + waiting(1, "10:13:02") + waiting(3, "10:13:09") +
             "rank 2 712 stopped 0 0 100 1 5 python3\nanswer stopped\nend\n");
  const std::string text = ask_text(job, 80);
  EXPECT_THAT(
      text, HasSubstr("    2 n1             712 stopped     0%     0s  100 KiB     1     5s -\n"));
  EXPECT_THAT(text,
              HasSubstr("    0 n1             710 sleeping    3%    12s 1269 MiB    12  2h05m "
                        "all_reduce\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "\nranks 0-1,3: all_reduce of 4.0 MiB of float32, since 10:13:02\n"
          "  File \"/opt/dtring/_stacks.py\", line 70, in all_reduce of 4.0 MiB of float32\n"));
  EXPECT_THAT(text, HasSubstr("\n  File \"/home/me/train.py\", line 31, in main\n"));
  EXPECT_THAT(text, HasSubstr("\nrank 2: stopped, as by SIGSTOP\n"));
  for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(unanswered_lines(job),
              ElementsAre("job 3f2a91c07be4d518: rank 2: stopped, as by SIGSTOP"));
}

TEST(AskView, SaysWhyThereIsNoStack) {
  const JobAnswer job = job_of(
      "rank 0 1 running 1 1 1 1 1 python3.11\nanswer cannot\n"
      "rank 1 2 running 1 1 1 1 1 dttrain\nwaits 1 17 16 0 2\nanswer cannot\n"
      "rank 2 3 running 1 1 1 1 1 a\nanswer silent\nrank 3 4 running 1 1 1 1 1 a\nanswer busy\n"
      "rank 4 5 running 1 1 1 1 1 a\nanswer refused\nend\n");
  const std::string text = ask_text(job, std::nullopt);
  EXPECT_THAT(text,
              HasSubstr("rank 0: python3.11 without dtring reports no stack. Try: import dtri"));
  EXPECT_THAT(text,
              HasSubstr("rank 1: allreduce 17 of 2 ranks: dttrain reports no stack. Try: --nat"));
  EXPECT_THAT(text, HasSubstr("rank 2: did not answer within 2 s\n"));
  EXPECT_THAT(text, HasSubstr("rank 3: did not answer: another dtlaunch ask waits for it\n"));
  EXPECT_THAT(text, HasSubstr("rank 4: not asked: "));
  EXPECT_EQ(unanswered_lines(job).size(), 3u) << "dttrain cannot answer";
}

TEST(AskView, ShowsNativeFramesOrWhyThereAreNone) {
  const JobAnswer job = job_of(
      "rank 0 1 running 1 1 1 1 1 a\nanswer cannot\nnative told\n| #0  0x1 in poll () from x\n"
      "| #1  main ()\nrank 1 2 running 1 1 1 1 1 a\nanswer cannot\nnative unknown\n"
      "| unknown: the host has neither eu-stack nor gdb\nend\n");
  const std::string text = ask_text(job, 80);
  EXPECT_THAT(text, HasSubstr("rank 0: a\n  native:\n    poll\n    main\n"));
  EXPECT_THAT(text, HasSubstr("rank 1: a\n  native:\n    unknown: the host has neither"));
}

TEST(AskView, ShortensLongPathsOnATerminalOnly) {
  const std::string path = "/home/me/" + std::string(90, 'd') + "/train.py";
  const JobAnswer job = job_of("rank 0 1 running 1 1 1 1 1 a\nanswer told\n|   File \"" + path +
                               "\", line 3 in main\nend\n");
  EXPECT_THAT(ask_text(job, 80), HasSubstr("dd/train.py\", line 3, in main\n"));
  EXPECT_THAT(ask_text(job, 80), Not(HasSubstr(path)));
  EXPECT_THAT(ask_text(job, std::nullopt), HasSubstr(path));
}

TEST(AskView, HasARankOnceAndInOrder) {
  const HostAnswer b = parse_rank_answers("b", "rank 2 9 running 1 1 1 1 1 a\nend\n");
  const HostAnswer a =
      parse_rank_answers("a", "rank -1 8 running 1 1 1 1 1 a\nrank 1 7 running 1 1 1 1 1 a\nend\n");
  const JobAnswer job = merge_answers("id", 3, {b, a, b});
  ASSERT_EQ(job.running.size(), 3u);
  EXPECT_EQ(job.running[0].rank, 1);
  EXPECT_EQ(job.running[1].rank, 2);
  EXPECT_EQ(job.running[2].rank, -1);
  EXPECT_THAT(ask_text(job, 80), HasSubstr("\n    ? a "));
}

TEST(AskView, IsJsonToo) {
  JobAnswer job =
      job_of(waiting(0, "10:13:05") +
             "rank -1 2 running 1 1 1 1 1 a\nanswer cannot\nnative unknown\n| why\nend\n");
  job.silent_hosts.push_back({"n2", "no route"});
  const auto json = nlohmann::json::parse(ask_json(job));
  EXPECT_EQ(json["schema"], "dtlaunch-ask/1");
  EXPECT_EQ(json["ranks"][0]["collective"], "all_reduce of 4.0 MiB of float32");
  EXPECT_EQ(json["ranks"][0]["at"], "File \"/home/me/train.py\", line 31, in main");
  EXPECT_EQ(json["ranks"][0]["cpu_s"], 12.4);
  EXPECT_TRUE(json["ranks"][1]["rank"].is_null());
  EXPECT_EQ(json["ranks"][1]["native_problem"], "why");
  EXPECT_EQ(json["unreachable"][0]["host"], "n2");
}

TEST(AskView, TakesOneJob) {
  EXPECT_EQ(parse_jobs_command("ask", {"--native", "3F2A"}).job, "3f2a");
  EXPECT_THROW(parse_jobs_command("ask", {"--json"}), std::exception);
  EXPECT_EQ(meant_subcommand("pstack"), "ask");
}

}  // namespace
}  // namespace dtl::ask_view_test
