#include "launcher/report/job_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/page/report_chart.h"
#include "base/page/report_text.h"

namespace dtl {
namespace {

constexpr std::size_t kMostCurves = kColours;  // each has its own colour

// The time axis shows whole numbers.
struct TimeUnit {
  double seconds;
  const char* name;
};

TimeUnit unit_for(double seconds) {
  if (seconds > 3 * 86400) return {86400, "days since the start"};
  if (seconds > 3 * 3600) return {3600, "hours since the start"};
  if (seconds > 15 * 60) return {60, "minutes since the start"};
  return {1, "seconds since the start"};
}

struct MetricWords {
  const char* metric;
  const char* title;
  const char* unit;
};
constexpr std::array<MetricWords, 8> kCharts = {{
    {"loss", "Loss", ""},
    {"step", "Training step", ""},
    {"tokens_per_second", "Training speed", "tokens/s"},
    {"cpu_cores", "CPU", "cores"},
    {"memory_mib", "Memory", "MiB"},
    {"sent_mb_per_second", "Sent to other hosts", "MB/s"},
    {"collectives_mb_per_second", "Collectives of libdtring", "MB/s"},
    {"output_kb_per_second", "Output", "kB/s"},
}};

// Values at one time, sorted; unknown ones left out.
std::vector<double> sorted_at(const ReportedCurves& curves, std::size_t point) {
  std::vector<double> values;
  for (const auto& [name, curve] : curves) {
    if (point < curve.size() && std::isfinite(curve[point])) values.push_back(curve[point]);
  }
  std::sort(values.begin(), values.end());
  return values;
}

ReportedCurves ranges_of(const ReportedCurves& curves) {
  std::size_t points = 0;
  for (const auto& [name, curve] : curves) points = std::max(points, curve.size());
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  ReportedCurves ranges = {{"lowest rank", {}}, {"median", {}}, {"highest rank", {}}};
  for (std::size_t point = 0; point < points; ++point) {
    const std::vector<double> values = sorted_at(curves, point);
    ranges[0].second.push_back(values.empty() ? kUnknown : values.front());
    ranges[1].second.push_back(values.empty() ? kUnknown : values[values.size() / 2]);
    ranges[2].second.push_back(values.empty() ? kUnknown : values.back());
  }
  return ranges;
}

bool is_rank(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

ReportCurve curve_of(const std::string& name, const std::vector<double>& values, double point_s,
                     double unit_s) {
  ReportCurve curve;
  curve.name = is_rank(name) ? "rank " + name : name;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // A value is about a point's time; its middle is where it belongs.
    curve.points.push_back({(static_cast<double>(i) + 0.5) * point_s / unit_s, values[i]});
  }
  return curve;
}

}  // namespace

std::string job_charts_html(const ReportedJob& job) {
  std::string html;
  const TimeUnit unit = unit_for(job.total);
  for (const auto& [metric, title, unit_name] : kCharts) {
    const auto known = job.series.find(metric);
    if (known == job.series.end()) continue;
    ReportChart chart;
    chart.title = title;
    chart.x_name = unit.name;
    chart.y_name = unit_name;
    const bool many = known->second.size() > kMostCurves;
    for (const auto& [name, values] : many ? ranges_of(known->second) : known->second) {
      chart.curves.push_back(
          curve_of(name.empty() ? "job" : name, values, job.point_s, unit.seconds));
    }
    html += chart_html(chart);
  }
  return html.empty() ? html : "<div class=\"grid\">\n" + html + "</div>\n";
}

std::vector<std::vector<double>> core_curves(const ReportedJob& job) {
  const auto known = job.series.find("cpu_cores");
  if (known == job.series.end()) return {};
  std::map<std::string, const std::vector<double>*> by_rank;
  for (const auto& [name, values] : known->second) by_rank.emplace(name, &values);
  std::vector<std::vector<double>> curves;
  bool any = false;
  for (const ReportedRank& rank : job.ranks) {
    const auto its = by_rank.find(std::to_string(rank.rank));
    curves.push_back(its == by_rank.end() ? std::vector<double>() : *its->second);
    any = any || its != by_rank.end();
  }
  return any ? curves : std::vector<std::vector<double>>();
}

}  // namespace dtl
