#pragma once
// A chart of report.html. Its curves are an SVG that stretches to the width of the page; its
// numbers are text around it, readable on any screen. Pure functions.

#include <cstddef>
#include <string>
#include <vector>

namespace dtl {

struct ReportPoint {
  double x = 0, y = 0;
};

struct ReportCurve {
  std::string name;                 // "train", "rank 3"
  std::vector<ReportPoint> points;  // x increasing; points that are not finite are left out
};

struct ReportChart {
  std::string title;                    // "Loss"
  std::string x_name = "step", y_name;  // y_name has the unit: "tokens/s"; x is a whole number
  std::vector<ReportCurve> curves;      // curves without points are left out
};

// Empty for a chart without points. Thins long curves: keeps the lowest and highest point of each
// column, so no peak is lost.
std::string chart_html(const ReportChart& chart);

// At most 4 * columns points: from each of `columns` equal parts of the x axis the first, lowest,
// highest and last, in order of x. Keeps all points if there are at most twice as many as columns.
std::vector<ReportPoint> thin_out(const std::vector<ReportPoint>& points, std::size_t columns);

}  // namespace dtl
