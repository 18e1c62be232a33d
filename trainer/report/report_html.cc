#include "trainer/report/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/text.h"

namespace dtl::trainer {
namespace {

constexpr double kWidth = 720, kHeight = 260;                       // of a chart, in SVG's units
constexpr double kLeft = 70, kRight = 15, kTop = 12, kBottom = 42;  // margins for the numbers
constexpr std::size_t kColumns = 600;                               // that a curve is thinned to
constexpr double kBarLeft = 90, kBarHeight = 22, kBarGap = 10;
constexpr int kColours = 8;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --faint: #6a737d; --line: #d8dee4;
  --c0: #0969da; --c1: #cf4a1d; --c2: #1a7f37; --c3: #8250df; --c4: #9a6700; --c5: #bf3989;
  --c6: #1b7c83; --c7: #57606a; }
@media (prefers-color-scheme: dark) { :root { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1;
  --line: #30363d; --c0: #58a6ff; --c1: #ff8c5f; --c2: #56d364; --c3: #bc8cff; --c4: #e3b341;
  --c5: #f778ba; --c6: #56d4dd; --c7: #b1bac4; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--faint); font-size: 12px; }
.grid { stroke: var(--line); stroke-width: 1; }
.curve { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .3rem 0; }
.key span { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
table { border-collapse: collapse; } td, th { text-align: left; vertical-align: top;
  padding: .15rem 1.2rem .15rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-weight: normal; color: var(--faint); } .scroll { overflow-x: auto; }
)";

// XML 1.0 knows no control characters, not even as &#1;. Of a text that is not UTF-8 only the ASCII
// stays.
std::string escaped(std::string_view text) {
  const bool utf8 = find_invalid_utf8(text) == text.npos;
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (c == '\'') {
      result += "&#39;";
    } else if ((byte >= 0x20 && byte < 0x7F) || c == '\n' || c == '\t' || (byte > 0x7F && utf8)) {
      result += c;
    } else {
      result += '?';
    }
  }
  return result;
}

std::string colour(std::size_t index) {
  return fmt::format("var(--c{})", index % kColours);
}

// 1500000: "1.5M". Small numbers keep four digits.
std::string number_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string seconds_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 600) return fmt::format("{:.3g} s", seconds);
  return fmt::format("{:.3g} min", seconds / 60);
}

bool finite(const ReportPoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void cover(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // A single value gets some room on both sides, or nothing could be drawn; and an axis that comes
  // near 0 begins there.
  void widen() {
    if (low > 0 && low < 0.5 * high) low = 0;
    if (high > low) return;
    const double room = std::max(std::abs(low), 1.0) * 0.05;
    low -= room;
    high += room;
  }
};

// About five round numbers: 1, 2 or 5 times a power of ten apart.
std::vector<double> ticks(const Range& range) {
  const double raw = (range.high - range.low) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= raw) step = factor * power;
  }
  std::vector<double> result;
  const auto first = static_cast<long long>(std::ceil(range.low / step - 1e-9));
  for (long long i = first; static_cast<double>(i) * step <= range.high + step * 1e-9; ++i) {
    result.push_back(static_cast<double>(i) * step);
  }
  return result;
}

// A chart's picture: from the data's units to SVG's.
struct Frame {
  Range x, y;
  double at_x(double value) const {
    return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  }
  double at_y(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

std::string grid(const Frame& frame, const ReportChart& chart) {
  std::string svg;
  for (const double tick : ticks(frame.y)) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeft, kWidth - kRight, frame.at_y(tick), frame.at_y(tick), kLeft - 6, frame.at_y(tick) + 4,
        number_text(tick));
  }
  for (const double tick : ticks(frame.x)) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       frame.at_x(tick), kHeight - kBottom + 18, number_text(tick));
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     (kLeft + kWidth - kRight) / 2, kHeight - 6, escaped(chart.x_name));
  svg += fmt::format(
      "<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (kHeight - kBottom + kTop) / 2, escaped(chart.y_name));
  return svg;
}

std::string curve_svg(const Frame& frame, const std::vector<ReportPoint>& points,
                      std::size_t index) {
  std::string svg = fmt::format("<polyline class=\"curve\" stroke=\"{}\" points=\"", colour(index));
  for (const ReportPoint& point : points) {
    svg += fmt::format("{:.1f},{:.1f} ", frame.at_x(point.x), frame.at_y(point.y));
  }
  svg += "\"/>\n";
  if (points.size() > 60) return svg;  // few points are worth a dot each
  for (const ReportPoint& point : points) {
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"><title>{}: "
        "{}</title></circle>\n",
        frame.at_x(point.x), frame.at_y(point.y), colour(index), number_text(point.x),
        number_text(point.y));
  }
  return svg;
}

std::string legend(const std::vector<std::string>& names) {
  std::string html = "<ul class=\"key\">";
  for (std::size_t i = 0; i < names.size(); ++i) {
    html += fmt::format("<li><span style=\"background:{}\"></span>{}</li>", colour(i),
                        escaped(names[i]));
  }
  return html + "</ul>\n";
}

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
    names.push_back(fmt::format("{} (last: {}{}{})", curve.name, number_text(last.y),
                                chart.y_name.empty() ? "" : " ", chart.y_name));
    curves.push_back(std::move(points));
  }
  if (curves.empty()) return "";
  frame.x.widen();
  frame.y.widen();
  std::string html = fmt::format(
      "<h2>{0}</h2>\n<svg viewBox=\"0 0 {1:.0f} {2:.0f}\" role=\"img\" aria-label=\"{0}\">\n",
      escaped(chart.title), kWidth, kHeight);
  html += grid(frame, chart);
  for (std::size_t i = 0; i < curves.size(); ++i) html += curve_svg(frame, curves[i], i);
  return html + "</svg>\n" + legend(names);
}

double total_seconds(const ReportTimeSplit& split) {
  double total = 0;
  for (const ReportShare& share : split.shares) total += std::max(0.0, share.seconds);
  return total;
}

std::string times_html(const std::vector<ReportTimeSplit>& times) {
  if (times.empty()) return "";
  double longest = 0;
  for (const ReportTimeSplit& split : times) longest = std::max(longest, total_seconds(split));
  if (!(longest > 0) || !std::isfinite(longest)) return "";
  const double height = static_cast<double>(times.size()) * (kBarHeight + kBarGap);
  std::string svg = fmt::format(
      "<h2>Where the time went</h2>\n<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"Where the time went\">\n",
      kWidth, height);
  std::vector<std::string> names;
  double y = 0;
  for (const ReportTimeSplit& split : times) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                       kBarLeft - 8, y + kBarHeight - 6, escaped(split.name));
    double x = kBarLeft;
    for (const ReportShare& share : split.shares) {
      auto known = std::find(names.begin(), names.end(), share.name);
      if (known == names.end()) known = names.insert(names.end(), share.name);
      const double seconds = std::max(0.0, share.seconds);
      const double width = seconds / longest * (kWidth - kBarLeft - kRight);
      svg += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" "
          "fill=\"{}\"><title>{}: {}, {:.1f}%</title></rect>\n",
          x, y, width, kBarHeight, colour(static_cast<std::size_t>(known - names.begin())),
          escaped(share.name), seconds_text(seconds),
          100 * seconds / std::max(1e-12, total_seconds(split)));
      x += width;
    }
    y += kBarHeight + kBarGap;
  }
  svg += "</svg>\n" + legend(names);
  svg += "<div class=\"scroll\"><table><tr><th></th>";
  for (const std::string& name : names) svg += fmt::format("<th>{}</th>", escaped(name));
  svg += "</tr>\n";
  for (const ReportTimeSplit& split : times) {
    svg += fmt::format("<tr><th>{}</th>", escaped(split.name));
    for (const std::string& name : names) {
      const auto share = std::find_if(split.shares.begin(), split.shares.end(),
                                      [&](const ReportShare& s) { return s.name == name; });
      svg += share == split.shares.end()
                 ? "<td></td>"
                 : fmt::format("<td>{} ({:.1f}%)</td>", seconds_text(share->seconds),
                               100 * share->seconds / std::max(1e-12, total_seconds(split)));
    }
    svg += "</tr>\n";
  }
  return svg + "</table></div>\n";
}

std::string table_html(const std::string& title,
                       const std::vector<std::pair<std::string, std::string>>& rows) {
  if (rows.empty()) return "";
  std::string html = fmt::format("<h2>{}</h2>\n<table>\n", escaped(title));
  for (const auto& [name, value] : rows) {
    html += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escaped(name), escaped(value));
  }
  return html + "</table>\n";
}

}  // namespace

std::vector<ReportPoint> thin_out(const std::vector<ReportPoint>& points, std::size_t columns) {
  std::vector<ReportPoint> clean;
  std::copy_if(points.begin(), points.end(), std::back_inserter(clean), finite);
  if (clean.size() <= 2 * columns) return clean;
  std::vector<ReportPoint> result;
  const double low = clean.front().x;
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
    std::array<std::size_t, 4> kept = {begin, lowest, highest, end - 1};
    std::sort(kept.begin(), kept.end());
    const auto last = std::unique(kept.begin(), kept.end());
    for (auto i = kept.begin(); i != last; ++i) result.push_back(clean[*i]);
    begin = end;
  }
  return result;
}

std::string report_html(const Report& r) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      escaped(r.title), kStyle);
  if (!r.summary.empty()) html += fmt::format("<p>{}</p>\n", escaped(r.summary));
  html += table_html("Results", r.results);
  for (const ReportChart& chart : r.charts) html += chart_html(chart);
  html += times_html(r.times);
  html += table_html("Settings", r.settings) + table_html("Machine", r.machine);
  return html + "</body>\n</html>\n";
}

}  // namespace dtl::trainer
