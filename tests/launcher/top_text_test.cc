#include "launcher/top/top_text.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "launcher/options/jobs_options.h"
#include "launcher/options/subcommands.h"
#include "launcher/top/top_model.h"
#include "tests/launcher/top_support.h"

namespace dtl::top_text_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using top_tests::frame;
using top_tests::kJob;
using top_tests::rank_lines;

const std::string kCores =
    "cores cpus 0-7\ncores cores 8\ncores free-cpus 4-7\ncores free-cores 4\ncores \n"
    "cores job 3f2a91c07be4d518\ncores user 1000 alice\ncores age 60\ncores shared no\n"
    "cores cpus 0-3\ncores cores 4\ncores left 0\ncores \ncores end\ncores \n";

// Two hosts with two ranks each; rank 3 is stopped while the others wait for it.
TopView stopped_rank() {
  TopModel model;
  model.add_host("node1");
  model.add_host("node2");
  model.add_host("node3");
  for (const int at_ms : {1000, 3000, 5100}) {
    const std::string agent = kCores + "agent " + kJob + " 2 7500\n";
    const std::string progress = "progress " + std::to_string(at_ms / 10) + " 5000 " +
                                 std::to_string(at_ms * 100) + " 2.34567\n";
    const auto rank = [&](int number) {
      return rank_lines(number, at_ms, "sleeping", 17, 16) + progress;
    };
    model.take(0,
               frame(at_ms, agent + "launcher " + kJob +
                                " running 4 7505 node1,node2 python3 a.py\n" + rank(0) + rank(1)),
               JobTime(at_ms));
    model.take(1, frame(at_ms, agent + rank(2) + rank_lines(3, at_ms, "stopped", 16, 16)),
               JobTime(at_ms));
    model.look(JobTime(at_ms));
  }
  model.lose(2, "cannot connect: Connection refused", JobTime(9000));
  return model.view(JobTime(5100));
}

// One host with this many ranks; rank 77 is stopped, rank 200 uses most CPU.
TopView many_ranks(int ranks) {
  TopModel model;
  model.add_host("node1");
  for (const int at_ms : {1000, 3000}) {
    std::string lines = std::string("agent ") + kJob + " " + std::to_string(ranks) + " 60\n";
    for (int i = 0; i < ranks; ++i) {
      lines +=
          rank_lines(i, i == 200 ? 9 * at_ms : at_ms, i == 77 ? "stopped" : "running", 0, 0, ranks);
    }
    model.take(0, frame(at_ms, lines), JobTime(at_ms));
    model.look(JobTime(at_ms));
  }
  return model.view(JobTime(3000));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();
  return lines;
}

TEST(TopText, IsReadableIn80Columns) {
  EXPECT_EQ("\n" + top_text(stopped_rank(), {80, 24, false, "14:03:22"}), R"(
dtlaunch top  1 job, 4 ranks on 3 hosts  14:03:22
cores  8 of 16 free; alice 8 (job 3f2a 8)
lost   node3: cannot connect: Connection refused; next try in 4 s
job 3f2a  running  4 of 4 ranks on 2 hosts  for 2h05m  python3 a.py
  step 510 of 5000 (10%), loss 2.346
! ranks 0-2 wait in allreduce for rank 3 (node2, stopped), seen for 4.1 s
  RANK HOST         STATE       CPU   MEMORY THRDS BYTES/s WAITS IN
     0 node1        sleeping    50% 1269 MiB    12   2.00M allreduce 4.1s
     1 node1        sleeping    50% 1269 MiB    12   2.00M allreduce 4.1s
     2 node2        sleeping    50% 1269 MiB    12   2.00M allreduce 4.1s
!    3 node2        stopped     50% 1269 MiB    12   2.00M -
)");
}

TEST(TopText, HasMoreColumnsOnAWideTerminal) {
  const auto lines = lines_of(top_text(stopped_rank(), {200, 24, false, ""}));
  EXPECT_EQ(lines.at(6),
            "  RANK HOST             PID STATE       CPU   MEMORY THRDS BYTES/s   TCP/s     STEP "
            "PROGRAM          WAITS IN");
  EXPECT_EQ(lines.at(7),
            "     0 node1            710 sleeping    50% 1269 MiB    12   2.00M   1.00M      510 "
            "python3.11       allreduce 4.1s");
}

TEST(TopText, CutsNothingForAPipe) {
  const std::string text = top_text(stopped_rank(), {});
  EXPECT_THAT(text, AllOf(HasSubstr("job 3f2a91c07be4d518  running"), HasSubstr(" PROGRAM"),
                          Not(HasSubstr(">"))));
}

TEST(TopText, ShowsTheMostTellingRanksFirst) {
  const auto lines = lines_of(top_text(many_ranks(256), {80, 24, false, ""}));
  ASSERT_THAT(lines, SizeIs(24));
  EXPECT_THAT(lines, Each(testing::SizeIs(testing::Le(80u))));
  EXPECT_EQ(lines[1], "job 3f2a  256 of 256 ranks on 1 watched host  for 1m");
  EXPECT_EQ(lines[2], "! rank 77 (node1, stopped): nobody waits for it yet, seen for 2.0 s");
  EXPECT_THAT(lines[4], HasSubstr("!   77 node1        stopped"));
  EXPECT_THAT(lines[5], HasSubstr("   200 node1        running    450%"));
  EXPECT_THAT(lines[6], HasSubstr("     0 node1        running     50%"));
  EXPECT_EQ(lines[23], " ... 237 more ranks");
}

TEST(TopText, SharesTheRowsAmongJobs) {
  TopView view = many_ranks(256);
  for (int i = 0; i < 9; ++i) view.jobs.push_back(view.jobs[0]);
  const auto lines = lines_of(top_text(view, {80, 24, false, ""}));
  ASSERT_THAT(lines, SizeIs(24));
  EXPECT_EQ(lines[23], "... 6 more jobs");
}

TEST(TopText, FitsAnyTerminal) {
  TopView view = many_ranks(256);
  view.jobs.push_back(view.jobs[0]);
  for (const int columns : {1, 20, 79, 80, 99, 100, 139, 140, 200}) {
    for (const std::size_t rows : {5U, 6U, 9U, 24U, 600U}) {
      const auto lines = lines_of(top_text(view, {columns, rows, false, "14:03:22"}));
      EXPECT_LE(lines.size(), rows);
      const auto most = static_cast<std::size_t>(std::max(columns, 20));
      EXPECT_THAT(lines, Each(testing::SizeIs(testing::Le(most))));
    }
  }
}

TEST(TopText, ShowsNonsenseOfAHostInItsPlace) {
  TopModel model;
  model.add_host("n\x1b[2J");
  const std::string most = "9223372036854775807";
  for (const int at_ms : {1, 2}) {
    model.take(
        0,
        frame(at_ms, "rank 3f2a91c07be4d518 65534 4294967295 running " + (at_ms == 1 ? "0" : most) +
                         " " + most + " " + most + " " + (at_ms == 1 ? "0" : most) +
                         " x\x1b[2Jy\ncomm 1 65534 65535 " + most + " 255 0 " + most +
                         "\nprogress " + most + " " + most + " " + most + " 1e308\n"),
        JobTime(at_ms));
    model.look(JobTime(at_ms));
  }
  for (const int columns : {80, 200}) {
    const auto lines = lines_of(top_text(model.view(JobTime(2)), {columns, 24, false, ""}));
    EXPECT_THAT(lines, Each(testing::SizeIs(testing::Le(static_cast<std::size_t>(columns)))));
  }
}

TEST(TopText, ColoursWhatNeedsALook) {
  const std::string text = top_text(stopped_rank(), {80, 24, true, ""});
  EXPECT_THAT(text, HasSubstr("\x1b[1;31m!    3 node2 "));
  EXPECT_THAT(text, HasSubstr("\n     0 node1 "));
}

TEST(TopText, SaysThatThereIsNoJob) {
  TopModel model;
  model.add_host("n1");
  EXPECT_THAT(top_text(model.view(JobTime(0)), {80, 24, false, ""}),
              AllOf(HasSubstr("hosts  connecting to n1"), Not(HasSubstr("no job"))));
  model.take(0, frame(1000, ""), JobTime(0));
  EXPECT_THAT(top_text(model.view(JobTime(0)), {80, 24, false, ""}),
              HasSubstr("no job of yours runs on these hosts"));
}

TEST(TopCommand, TakesAJobOrNone) {
  EXPECT_EQ(parse_jobs_command("top", {}).job, "");
  EXPECT_EQ(parse_jobs_command("top", {"-hosts", "a,b"}).job, "");
  EXPECT_EQ(parse_jobs_command("top", {"--once", "3F2A"}).job, "3f2a");
  EXPECT_EQ(parse_jobs_command("top", {"--period", "0.5"}).period_s, 0.5);
  for (const char* period : {"0", "0.4", "3601", "x", "-1", "nan"}) {
    EXPECT_THROW(parse_jobs_command("top", {"--period", period}), std::exception) << period;
  }
  EXPECT_THROW(parse_jobs_command("top", {"--color", "green"}), std::exception);
  EXPECT_THROW(parse_jobs_command("top", {"3f2a", "4a"}), std::exception);
  EXPECT_EQ(meant_subcommand("htop"), "top");
}

}  // namespace
}  // namespace dtl::top_text_test
