#pragma once
// report.html: a run's results on one page without network, scripts or other files. It is readable
// in light and dark mode and on narrow screens.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/page/report_chart.h"
#include "base/page/report_table.h"

namespace dtl {

struct ReportShare {
  std::string name;  // "compute"
  double seconds = 0;
};

struct ReportTimeSplit {  // a stacked bar: a rank's time
  std::string name;       // "rank 0"
  std::vector<ReportShare> shares;
};

struct ReportPage {
  std::string title;    // "bert on mrpc, 4 ranks"
  std::string summary;  // a sentence; may be empty
  ReportHeadline headline;
  std::vector<std::pair<std::string, std::string>> about;    // "date", "2026-01-31 23:59 +0100"
  std::vector<std::pair<std::string, std::string>> results;  // "eval accuracy", "0.8407"
  std::vector<ReportChart> charts;
  std::vector<ReportTable> tables;
  ReportExamples examples;
  std::vector<ReportTimeSplit> times;
  std::vector<std::pair<std::string, std::string>> settings, machine;
  // Defaults of the settings that differ from theirs; empty: it has none. The page marks these.
  std::map<std::string, std::string> defaults;
};

// All texts are escaped, never interpreted as HTML.
std::string report_html(const ReportPage& report);

// For pages with other parts: a heading with names and their values (HTML for a body); empty
// without rows.
std::string rows_html(const std::string& title,
                      const std::vector<std::pair<std::string, std::string>>& rows,
                      const std::map<std::string, std::string>& defaults = {});
// A whole page: `body`, which is HTML, below the title. more_style: CSS.
std::string page_html(const std::string& title, const std::string& body,
                      std::string_view more_style = {});

}  // namespace dtl
