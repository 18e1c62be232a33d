#pragma once
// A chart of report.html: its curves are a picture that is stretched to the width of the page, its
// numbers are text around it, as large on a telephone as on a wall. Pure functions.

#include <cstddef>
#include <string>
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
  std::string x_name = "step", y_name;  // with the unit: "tokens/s"; x is whole numbers
  std::vector<ReportCurve> curves;      // without points: left out; without any: no chart
};

// Empty for a chart without points. Long curves are thinned out: of each column of the picture the
// lowest and the highest point stay, so no peak is lost.
std::string chart_html(const ReportChart& chart);

// At most 4 * columns points: of each of `columns` equal parts of the x axis the first, the
// lowest, the highest and the last, in their order; all points where there are at
// most twice as many as columns.
std::vector<ReportPoint> thin_out(const std::vector<ReportPoint>& points, std::size_t columns);

}  // namespace dtl::trainer
