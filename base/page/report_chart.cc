// A chart is an SVG that stretches to any width (preserveAspectRatio none). Its strokes do not
// stretch (vector-effect in report_html.cc), and numbers are HTML text beside it. So lines stay
// thin and numbers readable without a script.
#include "base/page/report_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/page/report_text.h"

namespace dtl {
namespace {

constexpr double kSide = 1000;         // of an SVG, before the page stretches it
constexpr std::size_t kColumns = 600;  // points per curve after thinning
constexpr double kMostTicks = 5;       // approximate, at round numbers
constexpr double kFewTicks = 4;        // if numbers are long and more would overlap
constexpr std::size_t kShortTick = 5;  // characters
constexpr double kLargest = 1e100;     // larger values are left out, as infinities are

bool can_be_drawn(const ReportPoint& point) {
  return std::abs(point.x) <= kLargest && std::abs(point.y) <= kLargest;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double size() const { return std::max(std::abs(low), std::abs(high)); }
  void cover(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Adds room on both sides of a single value, which has no extent. An axis that comes near 0
  // begins there.
  void widen() {
    if (low > 0 && low < 0.5 * high) low = 0;
    if (high - low > 1e-12 * size()) return;
    // 5% of the value; 1 if the value is 0 or close to it.
    const double room = size() > 1 / kLargest ? size() * 0.05 : 1;
    low = low >= 0 ? std::max(low - room, 0.0) : low - room;  // there is nothing below 0 then
    high += room;
  }
  double part_of(double value) const { return (value - low) / (high - low); }
};

// A step of 1, 2 or 5 times a power of ten that gives about `count` ticks in the range.
double round_step(const Range& range, double count) {
  const double raw = (range.high - range.low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

// Enough digits to tell ticks apart: "0.002" or "5e-5", "100.2k" in steps of 200.
std::string tick_text(double tick, double step, const Range& range) {
  if (tick == 0) return "0";
  // The power of ten. The 1e-9 keeps 1000 from counting as 999.99...
  const auto magnitude = [](double value) { return std::floor(std::log10(value) + 1e-9); };
  if (range.size() < 1e-3) {
    return scientific(tick, static_cast<int>(magnitude(std::abs(tick)) - magnitude(step)));
  }
  if (range.size() >= 1e15) return scientific(tick, 3);
  double unit = range.size() >= 1e6 ? 1e6 : range.size() >= 1e4 ? 1e3 : 1;
  if (magnitude(step / unit) < -1) unit = 1;  // 100002 is shorter than 100.002k
  const int digits = static_cast<int>(std::max(0.0, -magnitude(step / unit)));
  return fmt::format("{:.{}f}{}", tick / unit, digits, unit == 1e6 ? "M" : unit == 1e3 ? "k" : "");
}

struct Tick {
  double part = 0;  // of the axis, 0 to 1
  std::string text;
};

std::vector<Tick> ticks(const Range& range, double step) {
  std::vector<Tick> result;
  // 1e-9 of a step: rounding must not lose a tick at the very end.
  const auto first = static_cast<long long>(std::ceil(range.low / step - 1e-9));
  for (long long i = first; static_cast<double>(i) * step <= range.high + step * 1e-9; ++i) {
    const double tick = static_cast<double>(i) * step;
    result.push_back({range.part_of(tick), tick_text(tick, step, range)});
  }
  return result;
}

std::size_t longest_text(const std::vector<Tick>& all) {
  std::size_t longest = 0;
  for (const Tick& tick : all) longest = std::max(longest, tick.text.size());
  return longest;
}

// Steps are whole numbers.
std::vector<Tick> x_ticks(const Range& range) {
  std::vector<Tick> result = ticks(range, std::max(1.0, round_step(range, kMostTicks)));
  if (longest_text(result) <= kShortTick) return result;
  return ticks(range, std::max(1.0, round_step(range, kFewTicks)));
}

struct Frame {
  Range x, y;
  double at_x(double value) const { return kSide * x.part_of(value); }
  double at_y(double value) const { return kSide * (1 - y.part_of(value)); }
};

std::string curve_svg(const Frame& frame, const std::vector<ReportPoint>& points,
                      std::size_t index) {
  std::string svg =
      fmt::format("<polyline class=\"curve\" stroke=\"{}\" points=\"", colour_of(index));
  for (const ReportPoint& point : points) {
    svg += fmt::format("{:.1f},{:.1f} ", frame.at_x(point.x), frame.at_y(point.y));
  }
  svg += "\"/>\n";
  if (points.size() > 60) return svg;  // dots only on curves with few points
  for (const ReportPoint& point : points) {
    // A zero-length line with round caps stays round when the SVG is stretched.
    svg += fmt::format(
        "<path class=\"dot\" stroke=\"{}\" d=\"M{:.1f} {:.1f}h0\"><title>{:.0f}: "
        "{}</title></path>\n",
        colour_of(index), frame.at_x(point.x), frame.at_y(point.y), point.x, short_number(point.y));
  }
  return svg;
}

std::string legend(const std::vector<std::string>& names) {
  std::string html = "<ul class=\"key\">";
  for (std::size_t i = 0; i < names.size(); ++i) {
    html += fmt::format("<li><span style=\"background:{}\"></span>{}</li>", colour_of(i),
                        html_text(names[i]));
  }
  return html + "</ul>\n";
}

// The SVG and the numbers around it. The longest number decides the room on the left.
std::string plot_html(const ReportChart& chart, const Frame& frame, const std::string& curves) {
  const std::vector<Tick> beside = ticks(frame.y, round_step(frame.y, kMostTicks));
  std::string html = fmt::format(
      "<div class=\"plot\" style=\"margin-left:{}ch\">\n<svg viewBox=\"0 0 {:.0f} {:.0f}\" "
      "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\n",
      longest_text(beside) + 1, kSide, kSide, html_text(chart.title));
  for (const Tick& tick : beside) {
    html += fmt::format("<path class=\"line\" d=\"M0 {:.1f}H{:.0f}\"/>\n", kSide * (1 - tick.part),
                        kSide);
  }
  html += curves + "</svg>\n";
  for (const Tick& tick : beside) {
    html += fmt::format("<span class=\"y\" style=\"top:{:.2f}%\">{}</span>", 100 * (1 - tick.part),
                        tick.text);
  }
  for (const Tick& tick : x_ticks(frame.x)) {
    html += fmt::format("<span class=\"x\" style=\"left:{:.2f}%\">{}</span>", 100 * tick.part,
                        tick.text);
  }
  return html + fmt::format("\n</div><p class=\"x-name\">{}</p>\n", html_text(chart.x_name));
}

}  // namespace

std::string chart_html(const ReportChart& chart) {
  std::vector<std::vector<ReportPoint>> curves;
  std::vector<std::string> names;
  Frame frame;
  for (const ReportCurve& curve : chart.curves) {
    std::vector<ReportPoint> points = thin_out(curve.points, kColumns);
    if (points.empty()) continue;
    for (const ReportPoint& point : points) {
      frame.x.cover(point.x);
      frame.y.cover(point.y);
    }
    const ReportPoint& last = points.back();
    names.push_back(fmt::format("{} (last: {}{}{})", curve.name, short_number(last.y),
                                chart.y_name.empty() ? "" : " ", chart.y_name));
    curves.push_back(std::move(points));
  }
  if (curves.empty()) return "";
  frame.x.widen();
  frame.y.widen();
  std::string svg;
  for (std::size_t i = 0; i < curves.size(); ++i) svg += curve_svg(frame, curves[i], i);
  return fmt::format("<section class=\"chart\"><h2>{} <small>{}</small></h2>\n",
                     html_text(chart.title), html_text(chart.y_name)) +
         plot_html(chart, frame, svg) + legend(names) + "</section>\n";
}

std::vector<ReportPoint> thin_out(const std::vector<ReportPoint>& points, std::size_t columns) {
  std::vector<ReportPoint> clean;
  std::copy_if(points.begin(), points.end(), std::back_inserter(clean), can_be_drawn);
  if (clean.size() <= 2 * columns) return clean;
  std::vector<ReportPoint> result;
  const double low = clean.front().x;
  // If all points have the same x, a width of 0 would divide by 0.
  const double width = std::max(clean.back().x - low, std::numeric_limits<double>::min());
  const auto column_of = [&](const ReportPoint& p) {
    const double column = (p.x - low) / width * static_cast<double>(columns);
    return std::min(columns - 1, static_cast<std::size_t>(std::max(0.0, column)));
  };
  for (std::size_t begin = 0; begin < clean.size();) {
    std::size_t end = begin, lowest = begin, highest = begin;
    while (end < clean.size() && column_of(clean[end]) == column_of(clean[begin])) {
      if (clean[end].y < clean[lowest].y) lowest = end;
      if (clean[end].y > clean[highest].y) highest = end;
      ++end;
    }
    // In order of x, without duplicates.
    std::array<std::size_t, 4> kept = {begin, lowest, highest, end - 1};
    std::sort(kept.begin(), kept.end());
    const auto last = std::unique(kept.begin(), kept.end());
    for (auto i = kept.begin(); i != last; ++i) result.push_back(clean[*i]);
    begin = end;
  }
  return result;
}

}  // namespace dtl
