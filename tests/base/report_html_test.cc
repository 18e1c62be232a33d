#include "base/page/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl::report_html_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReportHtml, ShowsTextsAsTheyAre) {
  ReportPage report;
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
  ReportPage report;
  report.times = {{"rank 0", {{"compute", 75}, {"network wait", 25}}}};
  const std::string html = report_html(report);
  EXPECT_THAT(html, HasSubstr("network wait: 25 s, 25.0%"));
  EXPECT_THAT(html, HasSubstr("width:75.000%"));
  report.times = {{"rank 0", {{"compute", 0}}}};
  EXPECT_THAT(report_html(report), Not(HasSubstr("Where")));
}

}  // namespace
}  // namespace dtl::report_html_test
