#include "base/page/report_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/page/report_html.h"

namespace dtl::report_table_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReportTable, EscapesEveryText) {
  const std::string bad = "<i>&", good = "&lt;i&gt;&amp;";
  const std::string page = headline_html({bad, bad, bad}) + facts_html({{bad, bad}}) +
                           tables_html({{bad, bad, {bad}, {{{bad, bad}, {bad, bad}}}}}) +
                           examples_html({bad, bad, {{bad, {{bad, bad}}}}});
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = page.find(good, at)) != page.npos; ++at) ++count;
  EXPECT_EQ(count, 3u + 2u + 7u + 5u);
}

TEST(ReportTable, ShadesByDepthAndKeepsTextReadable) {
  const ReportCell deep{"9", "", ReportShade::kBad, 7.0}, none{"0", "", ReportShade::kGood, 0};
  const std::string html = tables_html({{"t", "", {""}, {{{"name"}, deep, none}}}});
  EXPECT_THAT(html, HasSubstr("<td style=\"background:rgb(207 74 29 / 0.50)\">9</td><td>0</td>"));
}

TEST(ReportTable, ShowsNothingWhereThereIsNothing) {
  EXPECT_EQ(headline_html({}) + facts_html({}) + tables_html({{"title"}}) + examples_html({"t"}),
            "");
  EXPECT_THAT(report_html({}), Not(HasSubstr("<table")));
}

TEST(ReportTable, KeepsCountsNarrow) {
  EXPECT_EQ(narrow_count(9999), "9999");
  EXPECT_EQ(narrow_count(12345), "12k");
  EXPECT_EQ(narrow_count(3e6), "3M");
}

TEST(ReportTable, MarksSettingsThatDifferFromTheirDefault) {
  ReportPage page;
  page.settings = {{"rate", "2"}, {"file", "a"}, {"seed", "1"}};
  page.defaults = {{"rate", "1"}, {"file", ""}};
  const std::string html = report_html(page);
  EXPECT_THAT(html, HasSubstr("<b>2</b> <small>(default 1)</small></dd>"));
  EXPECT_THAT(html, HasSubstr("<b>a</b></dd>"));
  EXPECT_THAT(html, HasSubstr("<dd>1</dd>"));
}

}  // namespace
}  // namespace dtl::report_table_test
