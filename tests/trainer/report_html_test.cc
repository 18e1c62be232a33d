#include "trainer/report/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dtl::trainer {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<ReportPoint> wave(std::size_t count) {
  std::vector<ReportPoint> points;
  for (std::size_t i = 0; i < count; ++i) {
    points.push_back({static_cast<double>(i + 1), std::sin(static_cast<double>(i) * 0.001)});
  }
  return points;
}

Report with_curve(std::vector<ReportPoint> points) {
  Report report;
  report.title = "a run";
  report.charts = {{"Loss", "step", "nats", {{"train", std::move(points)}}}};
  return report;
}

TEST(ReportHtml, KeepsEveryPointOfAShortCurve) {
  EXPECT_EQ(thin_out(wave(200), 100).size(), 200u);
  EXPECT_EQ(thin_out(wave(1), 100).size(), 1u);
  EXPECT_TRUE(thin_out({}, 100).empty());
}

TEST(ReportHtml, ThinsLongCurvesOutButKeepsTheirPeaks) {
  std::vector<ReportPoint> points = wave(100000);
  points[54321].y = 7;
  points[54322].y = -9;
  const std::vector<ReportPoint> thin = thin_out(points, 600);
  EXPECT_LE(thin.size(), 2400u);
  double low = 0, high = 0;
  for (std::size_t i = 0; i < thin.size(); ++i) {
    low = std::min(low, thin[i].y);
    high = std::max(high, thin[i].y);
    if (i > 0) {
      EXPECT_LT(thin[i - 1].x, thin[i].x);
    }
  }
  EXPECT_EQ(high, 7);
  EXPECT_EQ(low, -9);
  EXPECT_EQ(thin.front().x, 1);
  EXPECT_EQ(thin.back().x, 100000);
  EXPECT_LT(report_html(with_curve(points)).size(), 100000u);
}

TEST(ReportHtml, DrawsASinglePoint) {
  const std::string html = report_html(with_curve({{1, 0.5}}));
  EXPECT_THAT(html, HasSubstr("<circle"));
  EXPECT_THAT(html, HasSubstr("train (last: 0.5 nats)"));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("inf")));
}

TEST(ReportHtml, LeavesOutWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(report_html(with_curve({{1, nan}, {2, 0.25}, {3, infinity}})),
              HasSubstr("last: 0.25"));
  EXPECT_THAT(report_html(with_curve({{1, nan}})), Not(HasSubstr("<svg")));
}

TEST(ReportHtml, ShowsTextsAsTheyAre) {
  Report report = with_curve(wave(3));
  report.title = "<script>alert('x')</script>";
  report.settings = {{"train_file", "a&b\"\x01.csv"}, {"output_dir", "caf\xC3\xA9 \xFF"}};
  report.machine = {{"host", "caf\xC3\xA9"}};
  const std::string html = report_html(report);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)"));
  EXPECT_THAT(html, HasSubstr("a&amp;b&quot;?.csv"));
  EXPECT_THAT(html, HasSubstr("caf?? ?"));
  EXPECT_THAT(html, HasSubstr("caf\xC3\xA9<"));
}

TEST(ReportHtml, ShowsWhereTheTimeWent) {
  Report report;
  report.times = {{"rank 0", {{"compute", 75}, {"network wait", 25}}}};
  const std::string html = report_html(report);
  EXPECT_THAT(html, HasSubstr("network wait: 25 s, 25.0%"));
  EXPECT_THAT(html, HasSubstr("<td>75 s (75.0%)</td>"));
  report.times = {{"rank 0", {{"compute", 0}}}};
  EXPECT_THAT(report_html(report), Not(HasSubstr("<svg")));
}

}  // namespace
}  // namespace dtl::trainer
