#pragma once
// report.html: what a run did, on one page that needs no network, no script and no other file.
// Readable in light and dark, from a telephone's width on.

#include <string>
#include <utility>
#include <vector>

#include "trainer/report/report_chart.h"

namespace dtl::trainer {

struct ReportShare {
  std::string name;  // "compute"
  double seconds = 0;
};

struct ReportTimeSplit {  // a stacked bar: where the time of a rank went
  std::string name;       // "rank 0"
  std::vector<ReportShare> shares;
};

struct Report {
  std::string title;                                         // "bert on mrpc, 4 ranks"
  std::string summary;                                       // a sentence; may be empty
  std::vector<std::pair<std::string, std::string>> results;  // "eval accuracy", "0.8407"
  std::vector<ReportChart> charts;
  std::vector<ReportTimeSplit> times;
  std::vector<std::pair<std::string, std::string>> settings, machine;
};

// Whatever the texts hold is shown, never interpreted.
std::string report_html(const Report& report);

}  // namespace dtl::trainer
