// Widths and places are shares of their parent in percent, so everything fits any screen.
#include "base/page/report_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/page/report_text.h"

namespace dtl {
namespace {

constexpr std::string_view kPartsStyle = R"(
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--faint); font-weight: normal; } .number { text-align: right; }
td svg { width: 8rem; height: 1.3rem; display: block; overflow: visible; }
@media (max-width: 60rem) { thead { display: none; } table, tbody, tr, td { display: block; }
  tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  td { border: 0; padding: 0; display: flex; justify-content: space-between; gap: 1rem; }
  td:empty { display: none; } td::before { content: attr(data-name); color: var(--faint); } }
pre { white-space: pre-wrap; font: 13px/1.45 ui-monospace, monospace; margin: 0; padding: .6rem .8rem;
  border-left: 3px solid var(--line); }
.lane { margin-bottom: 1rem; }
.track { position: relative; height: 1.4rem; margin: .2rem 0 .4rem; border-radius: 4px;
  background: var(--line); }
.track div { position: absolute; top: 0; bottom: 0; min-width: 1px; }
.track .mark { width: 2px; background: var(--ink); top: -.25rem; bottom: -.25rem; }
.ends { display: flex; justify-content: space-between; color: var(--faint); font-size: 12px; }
.verdict { border-left: 4px solid var(--line); padding: .3rem .8rem; font-size: 1.1rem;
  margin: .8rem 0; white-space: pre-line; } .good { border-color: var(--c2); }
.bad { border-color: var(--c1); }
)";

// The curve without axes: its lowest value, or 0, is at the bottom. Values are unknown if they are
// not finite.
std::string small_curve(const std::vector<double>& values, double highest) {
  std::string points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    const double last = static_cast<double>(std::max<std::size_t>(values.size() - 1, 1));
    const double height = std::clamp(values[i] / highest, 0.0, 1.0);
    points += fmt::format("{:.0f},{:.0f} ", 100 * static_cast<double>(i) / last, 20 * (1 - height));
  }
  if (points.empty()) return {};
  return fmt::format(
      "<svg viewBox=\"0 0 100 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><polyline "
      "class=\"curve\" stroke=\"{}\" points=\"{}\"/></svg>",
      colour_of(0), points);
}

// All curves of a table have one scale, so that they can be compared.
double highest_of(const std::vector<std::vector<double>>& curves) {
  double highest = 0;
  for (const std::vector<double>& curve : curves) {
    for (const double value : curve) {
      if (std::isfinite(value)) highest = std::max(highest, value);
    }
  }
  return highest > 0 ? highest : 1;
}

bool is_used(const ReportList& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return column < row.size() && !row[column].empty(); });
}

std::string seconds_at(double at) {
  return html_text(time_words(at));
}

// A lane and the list of its spans, which names their durations.
std::string lane_html(const ReportLane& lane, const ReportTimeline& timeline,
                      std::vector<std::string>& names) {
  const auto share = [&](double at) { return 100 * std::clamp(at / timeline.end, 0.0, 1.0); };
  std::string track, key;
  for (const ReportSpan& span : lane.spans) {
    auto known = std::find(names.begin(), names.end(), span.name);
    if (known == names.end()) known = names.insert(names.end(), span.name);
    const std::string colour = colour_of(static_cast<std::size_t>(known - names.begin()));
    const std::string text =
        fmt::format("{}: {}", html_text(span.name), seconds_at(span.end - span.begin));
    track += fmt::format(
        "<div style=\"left:{:.3f}%;width:{:.3f}%;background:{}\" title=\"{}\"></div>",
        share(span.begin), std::max(0.0, share(span.end) - share(span.begin)), colour, text);
    key += fmt::format("<li><span style=\"background:{}\"></span>{}</li>", colour, text);
  }
  for (const ReportMark& mark : timeline.marks) {
    track += fmt::format("<div class=\"mark\" style=\"left:{:.3f}%\" title=\"{}\"></div>",
                         share(mark.at), html_text(mark.text));
  }
  return fmt::format(
      "<div class=\"lane\">{}<div class=\"track\">{}</div>\n<ul class=\"key\">{}</ul></div>\n",
      html_text(lane.name), track, key);
}

}  // namespace

std::string_view parts_style() {
  return kPartsStyle;
}

std::string list_html(const ReportList& table) {
  if (table.rows.empty()) return "";
  std::string html = fmt::format("<h2>{}</h2>\n<table><thead><tr>", html_text(table.title));
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!is_used(table, i)) continue;
    used.push_back(i);
    html += fmt::format("<th{}>{}</th>", table.columns[i].is_number ? " class=\"number\"" : "",
                        html_text(table.columns[i].name));
  }
  if (!table.curves.empty()) html += fmt::format("<th>{}</th>", html_text(table.curve_name));
  html += "</tr></thead><tbody>\n";
  const double highest = highest_of(table.curves);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    html += "<tr>";
    for (const std::size_t column : used) {
      const std::string text = column < table.rows[i].size() ? table.rows[i][column] : "";
      html += fmt::format("<td{} data-name=\"{}\">{}</td>",
                          table.columns[column].is_number ? " class=\"number\"" : "",
                          html_text(table.columns[column].name), html_text(text));
    }
    if (!table.curves.empty()) {
      html += fmt::format("<td data-name=\"{}\">{}</td>", html_text(table.curve_name),
                          i < table.curves.size() ? small_curve(table.curves[i], highest) : "");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

std::string printed_html(const std::string& title, const std::string& text) {
  if (text.empty()) return "";
  return fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", html_text(title), html_text(text));
}

std::string timeline_html(const std::string& title, const ReportTimeline& timeline) {
  if (!(timeline.end > 0) || !std::isfinite(timeline.end) || timeline.lanes.empty()) return "";
  std::string html = fmt::format("<h2>{}</h2>\n", html_text(title));
  std::vector<std::string> names;
  for (const ReportLane& lane : timeline.lanes) html += lane_html(lane, timeline, names);
  html += fmt::format("<p class=\"ends\"><span>0</span><span>{}</span></p>\n",
                      seconds_at(timeline.end));
  if (timeline.marks.empty()) return html;
  html += "<ul>\n";
  for (const ReportMark& mark : timeline.marks) {
    html += fmt::format("<li>after {}: {}</li>\n", seconds_at(mark.at), html_text(mark.text));
  }
  return html + "</ul>\n";
}

std::string time_words(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 9.995) return fmt::format("{:.2f} s", std::max(seconds, 0.0));
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  if (seconds > 1e9) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
}

std::string size_words(double bytes) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};
  for (const auto& [size, unit] : kUnits) {
    // 999.6 kB would become 1e+03 kB.
    if (bytes >= 0.9995 * size) return fmt::format("{:.3g} {}", bytes / size, unit);
  }
  return fmt::format("{:.0f} bytes", bytes);
}

}  // namespace dtl
