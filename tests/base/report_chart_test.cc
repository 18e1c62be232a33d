#include "base/page/report_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace dtl::report_chart_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<ReportPoint> wave(std::size_t count) {
  std::vector<ReportPoint> points;
  for (std::size_t i = 0; i < count; ++i) {
    points.push_back({static_cast<double>(i + 1), std::sin(static_cast<double>(i) * 0.001)});
  }
  return points;
}

std::string with_curve(std::vector<ReportPoint> points) {
  return chart_html({"Loss", "step", "nats", {{"train", std::move(points)}}});
}

// The numbers beside an axis.
std::vector<std::string> numbers(const std::string& html, const std::string& axis) {
  std::vector<std::string> found;
  const std::regex tick("<span class=\"" + axis + "\"[^>]*>([^<]*)<");
  for (std::sregex_iterator i(html.begin(), html.end(), tick), end; i != end; ++i) {
    found.push_back((*i)[1]);
  }
  return found;
}

TEST(ReportChart, KeepsEveryPointOfAShortCurve) {
  EXPECT_EQ(thin_out(wave(200), 100).size(), 200u);
  EXPECT_EQ(thin_out(wave(1), 100).size(), 1u);
  EXPECT_TRUE(thin_out({}, 100).empty());
}

TEST(ReportChart, ThinsLongCurvesOutButKeepsTheirPeaks) {
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
  EXPECT_LT(with_curve(points).size(), 100000u);
}

TEST(ReportChart, DrawsASinglePoint) {
  const std::string html = with_curve({{1, 0.5}});
  EXPECT_THAT(html, HasSubstr("class=\"dot\""));
  EXPECT_THAT(html, HasSubstr("train (last: 0.5 nats)"));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("inf")));
}

TEST(ReportChart, LeavesOutWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(with_curve({{1, nan}, {2, 0.25}, {3, infinity}, {4, 1e300}}),
              HasSubstr("last: 0.25"));
  EXPECT_EQ(with_curve({{1, nan}}), "");
}

TEST(ReportChart, GivesNumbersAsManyDigitsAsTellThemApart) {
  const std::string close = with_curve({{100000, 0.69314}, {100010, 0.69316}});
  EXPECT_THAT(numbers(close, "y"),
              ElementsAre("0.693140", "0.693145", "0.693150", "0.693155", "0.693160"));
  EXPECT_THAT(numbers(close, "x"), ElementsAre("100000", "100005", "100010"));
  EXPECT_THAT(numbers(with_curve({{0, 0}, {40, 5e-5}}), "y"),
              ElementsAre("0", "1e-5", "2e-5", "3e-5", "4e-5", "5e-5"));
  EXPECT_THAT(numbers(with_curve({{0, 0}, {40, 250000}}), "y"),
              ElementsAre("0", "50k", "100k", "150k", "200k", "250k"));
}

TEST(ReportChart, HasWholeSteps) {
  EXPECT_THAT(numbers(with_curve({{1, 1}, {2, 2}}), "x"), ElementsAre("1", "2"));
  EXPECT_THAT(numbers(with_curve({{7, 1}}), "x"), ElementsAre("7"));
}

TEST(ReportChart, KeepsNearASmallConstant) {
  EXPECT_THAT(numbers(with_curve({{1, 2e-5}, {9, 2e-5}}), "y"), Contains("2.00e-5"));
}

}  // namespace
}  // namespace dtl::report_chart_test
