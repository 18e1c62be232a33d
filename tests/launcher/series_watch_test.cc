#include "launcher/report/series_watch.h"

#include <gtest/gtest.h>

namespace dtl::series_watch_test {
namespace {

TEST(SeriesWatch, HearsWhatRanksUseAndPrintAndTellsOthers) {
  SeriesWatch watch;
  int told = 0;
  SessionHooks hooks;
  hooks.placed = [&](std::size_t) { ++told; };
  hooks.state = [&](JobState) { ++told; };
  hooks.output = [&](const Output&) { ++told; };
  hooks.seen = [&](const RankReport&) { ++told; };
  hooks = watch.watching(std::move(hooks));
  hooks.placed(2);
  hooks.state(JobState::kRunning);
  RankReport report;
  report.rank = 1;
  report.usage.cpu_ms = 40;
  report.wires = {{"10.0.0.1", 100, 0}, {"10.0.0.2", 20, 0}};
  report.comms.resize(2);
  report.comms[0].bytes = report.comms[1].bytes = 7;
  hooks.seen(report);
  hooks.output({1, Stream::kStdout, "line\n"});
  ASSERT_EQ(watch.series().totals().size(), 2U);
  const RankTotals& total = watch.series().totals()[1];
  EXPECT_TRUE(total.reported);
  EXPECT_EQ(total.cpu_ms, 40U);
  EXPECT_EQ(total.sent_bytes, 120U);
  EXPECT_EQ(total.collective_bytes, 14U);
  EXPECT_EQ(total.output_bytes, 5U);
  EXPECT_FALSE(watch.series().totals()[0].reported);
  EXPECT_EQ(told, 4);
}

TEST(SeriesWatch, WorksWithoutOtherListeners) {
  SeriesWatch watch;
  const SessionHooks hooks = watch.watching({});
  hooks.placed(1);
  hooks.state(JobState::kRunning);
  hooks.seen({});
  hooks.output({});
  EXPECT_EQ(watch.series().totals().size(), 1U);
}

}  // namespace
}  // namespace dtl::series_watch_test
