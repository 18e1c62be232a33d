#pragma once
// report.html: what a run did, on one page that needs no network, no script and no other file.
// Readable in light and dark.

#include <string>
#include <utility>
#include <vector>

namespace dtl::trainer {

struct ReportPoint {
  double x = 0, y = 0;
};

struct ReportCurve {
  std::string name;                 // "train", "rank 3"
  std::vector<ReportPoint> points;  // x rising; points that are not finite are left out
};

struct ReportChart {
  std::string title;                    // "Loss"
  std::string x_name = "step", y_name;  // with the unit: "tokens/s"
  std::vector<ReportCurve> curves;      // without points: left out; without any: no chart
};

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

// Whatever the texts hold is shown, never interpreted. Long curves are thinned out: of each column
// of the picture the lowest and the highest point stay, so no peak is lost.
std::string report_html(const Report& report);

// At most 4 * columns points: of each of `columns` equal parts of the x axis the first, the
// lowest, the highest and the last, in their order; all points where there are at
// most twice as many as columns.
std::vector<ReportPoint> thin_out(const std::vector<ReportPoint>& points, std::size_t columns);

}  // namespace dtl::trainer
