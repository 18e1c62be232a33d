// Written by hand: the JSON library would write each number of an indented text in a line of its
// own. Names are our own words and numbers of ranks, so nothing needs to be escaped.
#include "launcher/report/series_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dtl {
namespace {

// A number has at most 9 characters with its comma, and most have 5: 63 KiB, and 35.
constexpr std::size_t kMostNumbers = 7000;

// Three digits are more than a curve can show. Four for small losses, which fall slowly.
std::string number_text(double value, int digits) {
  if (!std::isfinite(value)) return "null";
  const double size = std::abs(value);
  if (size < 1e-4) return "0";
  if (size >= 100 && size < 1e7) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}g}", value, digits);
}

std::string curve_text(const SeriesCurve& curve, int digits) {
  std::string text = "[";
  for (std::size_t i = 0; i < curve.values.size(); ++i) {
    if (i > 0) text += ',';
    text += number_text(curve.values[i], digits);
  }
  return text + "]";
}

bool is_curve(const SeriesCurve& curve) {
  return std::count_if(curve.values.begin(), curve.values.end(),
                       [](double value) { return !std::isnan(value); }) >= 2;
}

bool has_curve(const SeriesTable& table) {
  const auto known = [](const SeriesMetric& metric) {
    return std::any_of(metric.curves.begin(), metric.curves.end(), is_curve);
  };
  return std::any_of(table.ranks.begin(), table.ranks.end(), known) ||
         std::any_of(table.job.begin(), table.job.end(), known);
}

}  // namespace

std::string series_json(const JobSeries& series) {
  const SeriesTable table = series.table(kMostNumbers);
  if (!has_curve(table)) return {};
  std::string text = fmt::format("{{\n    \"point_s\": {:g}", table.point_s);
  for (const SeriesMetric& metric : table.job) {
    text += fmt::format(",\n    \"{}\": {}", metric.name, curve_text(metric.curves[0], 4));
  }
  for (const SeriesMetric& metric : table.ranks) {
    text += fmt::format(",\n    \"{}\": {{", metric.name);
    const char* before = "\n";
    for (const SeriesCurve& curve : metric.curves) {
      text += fmt::format("{}      \"{}\": {}", before, curve.name, curve_text(curve, 3));
      before = ",\n";
    }
    text += "\n    }";
  }
  return text + "\n  }";
}

}  // namespace dtl
