// Makes the page as text, without template engine or script. html_text() escapes all outside text.
// report_chart.h makes the charts.
#include "base/page/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/page/report_text.h"

namespace dtl {
namespace {

// --c0 to --c7 are the colours of colour_of() (kColours), for light and dark mode.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --faint: #59636e; --line: #d8dee4;
  --c0: #0969da; --c1: #cf4a1d; --c2: #1a7f37; --c3: #8250df; --c4: #9a6700; --c5: #bf3989;
  --c6: #1b7c83; --c7: #57606a; }
@media (prefers-color-scheme: dark) { :root { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1;
  --line: #30363d; --c0: #58a6ff; --c1: #ff8c5f; --c2: #56d364; --c3: #bc8cff; --c4: #e3b341;
  --c5: #f778ba; --c6: #56d4dd; --c7: #b1bac4; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 84rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; } small { color: var(--faint); font-weight: normal; }
.rows { columns: 20rem; column-gap: 3rem; margin: 0; }
.rows div { display: flex; justify-content: space-between; gap: 1rem; break-inside: avoid;
  padding: .15rem 0; border-bottom: 1px solid var(--line); }
dt { color: var(--faint); flex: none; max-width: 65%; } dd { margin: 0; text-align: right; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr));
  column-gap: 3rem; }
.plot { position: relative; height: 13rem; margin: 1rem 1.8rem 0 0; font-size: 12px;
  line-height: 1; color: var(--faint); }
.plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.plot span { position: absolute; white-space: nowrap; }
.plot .y { right: 100%; padding-right: .5em; transform: translateY(-50%); }
.plot .x { top: 100%; padding-top: .6em; transform: translateX(-50%); }
.x-name { color: var(--faint); font-size: 12px; text-align: center; margin: 1.5rem 0 .4rem; }
svg * { vector-effect: non-scaling-stroke; fill: none; }
.line { stroke: var(--line); stroke-width: 1; }
.curve { stroke-width: 1.6; stroke-linejoin: round; }
.dot { stroke-width: 5; stroke-linecap: round; }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: 0; }
.key span { display: inline-block; width: .8em; height: .8em; border-radius: 2px;
  margin-right: .4em; }
.bar { display: flex; height: 1.4rem; margin: .2rem 0 .4rem; border-radius: 4px; overflow: hidden; }
.rank { margin-bottom: 1.2rem; }
)";

double total_seconds(const ReportTimeSplit& split) {
  double total = 0;
  for (const ReportShare& share : split.shares) total += std::max(0.0, share.seconds);
  return total;
}

std::string seconds_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 600) return fmt::format("{:.3g} s", seconds);
  return fmt::format("{:.4g} min", seconds / 60);
}

// A bar whose length is a share of the longest bar, and the list of its parts.
std::string split_html(const ReportTimeSplit& split, double longest,
                       std::vector<std::string>& names) {
  const double total = total_seconds(split);
  std::string bar, key;
  for (const ReportShare& share : split.shares) {
    // A share has the same colour for every rank, whichever rank names it first.
    auto known = std::find(names.begin(), names.end(), share.name);
    if (known == names.end()) known = names.insert(names.end(), share.name);
    const std::string colour = colour_of(static_cast<std::size_t>(known - names.begin()));
    const double seconds = std::max(0.0, share.seconds);
    const std::string text = fmt::format("{}: {}, {:.1f}%", html_text(share.name),
                                         seconds_text(seconds), 100 * seconds / total);
    bar += fmt::format("<div style=\"width:{:.3f}%;background:{}\" title=\"{}\"></div>",
                       100 * seconds / longest, colour, text);
    key += fmt::format("<li><span style=\"background:{}\"></span>{}</li>", colour, text);
  }
  return fmt::format(
      "<div class=\"rank\">{}<div class=\"bar\">{}</div>\n<ul class=\"key\">{}</ul></div>\n",
      html_text(split.name), bar, key);
}

std::string times_html(const std::vector<ReportTimeSplit>& times) {
  double longest = 0;
  for (const ReportTimeSplit& split : times) longest = std::max(longest, total_seconds(split));
  // Widths are shares of the longest bar, so it must not be 0.
  if (!(longest > 0) || !std::isfinite(longest)) return "";
  std::vector<std::string> names;
  std::string html = "<h2>Where the time went</h2>\n<div class=\"grid\">\n";
  for (const ReportTimeSplit& split : times) {
    if (total_seconds(split) > 0) html += split_html(split, longest, names);
  }
  return html + "</div>\n";
}

// Lets a name of several words break between them.
std::string name_html(const std::string& name) {
  std::string html;
  for (const char c : html_text(name)) {
    html += c;
    if (c == '_') html += "<wbr>";
  }
  return html;
}

}  // namespace

std::string rows_html(const std::string& title,
                      const std::vector<std::pair<std::string, std::string>>& rows,
                      const std::map<std::string, std::string>& defaults) {
  if (rows.empty()) return "";
  std::string html = fmt::format("<h2>{}</h2>\n<dl class=\"rows\">\n", html_text(title));
  for (const auto& [name, value] : rows) {
    if (const auto usual = defaults.find(name); usual != defaults.end()) {
      html += fmt::format("<div class=\"changed\"><dt>{}</dt><dd><b>{}</b>{}</dd></div>\n",
                          name_html(name), html_text(value),
                          usual->second.empty() ? ""
                                                : fmt::format(" <small>(default {})</small>",
                                                              html_text(usual->second)));
      continue;
    }
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name_html(name), html_text(value));
  }
  return html + "</dl>\n";
}

std::string page_html(const std::string& title, const std::string& body,
                      std::string_view more_style) {
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<title>{0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
             html_text(title), kStyle, more_style) +
         body + "</body>\n</html>\n";
}

std::string report_html(const ReportPage& r) {
  std::string body;
  if (!r.summary.empty()) body += fmt::format("<p>{}</p>\n", html_text(r.summary));
  body += headline_html(r.headline) + facts_html(r.about) + rows_html("Results", r.results);
  body += "<div class=\"grid\">\n";
  for (const ReportChart& chart : r.charts) body += chart_html(chart);
  body += "</div>\n" + tables_html(r.tables) + examples_html(r.examples) + times_html(r.times);
  body += rows_html("Settings", r.settings, r.defaults) + rows_html("Machine", r.machine);
  return page_html(r.title, body, table_style());
}

}  // namespace dtl
