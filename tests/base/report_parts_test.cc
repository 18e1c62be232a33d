#include "base/page/report_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace dtl::report_parts_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

TEST(ReportParts, ATableEscapesItsTextsAndNamesThemForNarrowScreens) {
  ReportList table;
  table.title = "Ranks";
  table.columns = {{"rank", true}, {"host"}, {"empty"}};
  table.rows = {{"0", "<script>", ""}, {"1", "n2", ""}};
  const std::string html = list_html(table);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("<td class=\"number\" data-name=\"rank\">0</td>"));
  EXPECT_THAT(html, HasSubstr("<td data-name=\"host\">&lt;script&gt;</td>"));
  EXPECT_THAT(html, Not(HasSubstr("empty")));
  EXPECT_EQ(list_html(ReportList{"Ranks", {{"rank"}}, {}, "", {}}), "");
}

TEST(ReportParts, CurvesOfATableHaveOneScaleAndLeaveOutWhatIsUnknown) {
  ReportList table;
  table.columns = {{"rank", true}};
  table.rows = {{"0"}, {"1"}, {"2"}};
  table.curve_name = "cores";
  table.curves = {{1, kUnknown, 2}, {0, 4, -1}, {kUnknown}};
  const std::string html = list_html(table);
  EXPECT_THAT(html, HasSubstr("points=\"0,15 100,10 \""));
  EXPECT_THAT(html, HasSubstr("points=\"0,20 50,0 100,20 \""));
  EXPECT_THAT(html, HasSubstr("<td data-name=\"cores\"></td>"));
}

TEST(ReportParts, ATimelineIsInShareOfItsEnd) {
  ReportTimeline timeline;
  timeline.end = 200;
  timeline.lanes = {{"phases", {{0, 50, "starting"}, {50, 1e300, "running"}}}};
  timeline.marks = {{100, "rank 3 <b>"}};
  const std::string html = timeline_html("Time", timeline);
  EXPECT_THAT(html, HasSubstr("left:0.000%;width:25.000%;background:var(--c0)"));
  EXPECT_THAT(html, HasSubstr("left:25.000%;width:75.000%;background:var(--c1)"));
  EXPECT_THAT(html, HasSubstr("class=\"mark\" style=\"left:50.000%\""));
  EXPECT_THAT(html, HasSubstr("<li>after 1 min 40 s: rank 3 &lt;b&gt;</li>"));
  timeline.end = 0;
  EXPECT_EQ(timeline_html("Time", timeline), "");
}

TEST(ReportParts, KeepsPrintedTextsAsTheyAre) {
  EXPECT_EQ(printed_html("Card", "a <b>\n  c\n"), "<h2>Card</h2>\n<pre>a &lt;b&gt;\n  c\n</pre>\n");
  EXPECT_EQ(printed_html("Card", ""), "");
}

TEST(ReportParts, SaysTimesAndSizesInWords) {
  EXPECT_EQ(time_words(0.336), "0.34 s");
  EXPECT_EQ(time_words(9.999), "10.0 s");
  EXPECT_EQ(time_words(59.97), "1 min 0 s");
  EXPECT_EQ(time_words(192), "3 min 12 s");
  EXPECT_EQ(time_words(7500), "2 h 5 min");
  EXPECT_EQ(time_words(4 * 86400 + 7200), "4 d 2 h");
  EXPECT_EQ(time_words(1e300), "1e+300 s");
  EXPECT_EQ(size_words(17), "17 bytes");
  EXPECT_EQ(size_words(999'700), "1 MB");
  EXPECT_EQ(size_words(12.5e9), "12.5 GB");
}

}  // namespace
}  // namespace dtl::report_parts_test
