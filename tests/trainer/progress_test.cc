#include "trainer/report/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

namespace dtl::trainer::progress_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

BarFigures halfway() {
  BarFigures f;
  f.step = 173;
  f.total_steps = 345;
  f.seconds = 65;
  f.seconds_left = 3671;
  f.seconds_per_step = 0.25;
  f.loss = 0.69314;
  f.tokens_per_second = 12345;
  f.shares = {0.714, 0.12};
  return f;
}

TEST(BarText, FitsEveryWidth) {
  for (std::size_t columns = 1; columns < 300; ++columns) {
    EXPECT_LE(bar_text(halfway(), columns).size(), columns);
  }
}

TEST(BarText, ShowsTheMostImportantFiguresIn80Columns) {
  const std::string text = bar_text(halfway(), 79);
  EXPECT_THAT(text, StartsWith(" 50% [#####"));
  EXPECT_THAT(text, HasSubstr("173/345  ETA 1:01:11  loss 0.6931  12.3k tokens/s"));
  EXPECT_EQ(text.size(), 79u);
}

TEST(BarText, ShowsAllIn200Columns) {
  const std::string text = bar_text(halfway(), 199);
  EXPECT_THAT(text, HasSubstr("GEMM 71%  net 12%  4.00 steps/s  1:05 so far"));
  EXPECT_LE(text.size(), 199u);
}

TEST(BarText, LeavesOutWhatIsUnknown) {
  BarFigures f = halfway();
  f.shares = {};
  const std::string text = bar_text(f, 199);
  EXPECT_THAT(text, Not(HasSubstr("GEMM")));
  EXPECT_THAT(text, Not(HasSubstr("net")));
}

TEST(BarText, IsFullAtTheEndOnly) {
  BarFigures f = halfway();
  f.step = 344;
  EXPECT_THAT(bar_text(f, 79), StartsWith(" 99% ["));
  EXPECT_THAT(bar_text(f, 79), HasSubstr(".]"));
  f.step = 345;
  EXPECT_THAT(bar_text(f, 79), HasSubstr("#]"));
  EXPECT_THAT(bar_text(f, 79), StartsWith("100% ["));
}

LineFigures line_halfway() {
  return {173, 345, 0.5, 0.69314, 1.5e-5, 1.2345, 12345, {0.714, 0.12}, 3671};
}

TEST(LineText, IsCompleteWithoutATerminalAndIn200Columns) {
  const char* all =
      "step 173/345  epoch 0.50  loss 0.6931  lr 1.5e-05  grad_norm 1.23  12345 tokens/s  "
      "71% of GEMM peak  12% network  ETA 1:01:11";
  EXPECT_EQ(line_text(line_halfway(), std::nullopt), all);
  EXPECT_EQ(line_text(line_halfway(), 200), all);
}

TEST(LineText, LeavesOutTheLeastImportantFiguresIn80Columns) {
  EXPECT_EQ(line_text(line_halfway(), 80),
            "step 173/345  epoch 0.50  loss 0.6931  lr 1.5e-05  12345 tokens/s  ETA 1:01:11");
  EXPECT_EQ(line_text(line_halfway(), 76),  // behind a label
            "step 173/345  epoch 0.50  loss 0.6931  12345 tokens/s  ETA 1:01:11");
  EXPECT_EQ(line_text(line_halfway(), 10), "step 173/345");
}

TEST(Progress, GivesTheMeansSinceTheLastLine) {
  Progress progress(/*speaks=*/false, 4, 0, /*bar=*/true);
  StepReport report;
  report.tokens = 10;
  for (const double loss : {1.0, 3.0}) {
    report.loss = loss;
    progress.step(report, {});
  }
  EXPECT_DOUBLE_EQ(progress.log().mean_loss, 2.0);
  report.loss = 8;
  progress.step(report, {});
  const Progress::Line line = progress.log();
  EXPECT_DOUBLE_EQ(line.mean_loss, 8.0);
  EXPECT_GT(line.tokens_per_second, 0.0);
  EXPECT_DOUBLE_EQ(progress.mean_loss(), 4.0);
  EXPECT_EQ(progress.tokens(), 30);
}

TEST(Progress, ShowsNoSignOfWhatIsNotANumber) {
  Progress progress(/*speaks=*/true, 4, 0, /*bar=*/false);
  StepReport report;
  report.gradient_norm = std::copysign(NAN, -1.0);
  progress.step(report, {});
  testing::internal::CaptureStdout();
  progress.log();
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("grad_norm nan "));
}

TEST(Progress, CountsNoPauseForItsSpeed) {
  Progress progress(/*speaks=*/false, 4, 0, /*bar=*/false);
  constexpr auto kPause = std::chrono::milliseconds(500);
  StepReport report;
  report.tokens = 1000;
  progress.step(report, {});
  progress.pause();
  std::this_thread::sleep_for(kPause);
  progress.go_on();
  EXPECT_GT(progress.log().tokens_per_second, 1000 / std::chrono::duration<double>(kPause).count());
  EXPECT_GE(progress.seconds(), std::chrono::duration<double>(kPause).count());
}

}  // namespace
}  // namespace dtl::trainer::progress_test
