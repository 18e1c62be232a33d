// Plain HTML tables and lists. Rows of a table never scroll sideways: names may break anywhere,
// numbers are short.
#include "base/page/report_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/page/report_text.h"

namespace dtl {
namespace {

// Shades are translucent, so they suit a light and a dark page. At most half opaque: text on them
// keeps a contrast of 4.5 (WCAG 2, level AA).
constexpr double kDeepest = 0.5;

std::string shade_style(const ReportCell& cell) {
  if (cell.shade == ReportShade::kNone || !(cell.depth > 0)) return "";
  return fmt::format(" style=\"background:rgb({} / {:.2f})\"",
                     cell.shade == ReportShade::kGood ? "26 127 55" : "207 74 29",
                     kDeepest * std::min(cell.depth, 1.0));
}

std::string cell_html(const ReportCell& cell, bool is_name) {
  std::string html = is_name ? "<th scope=\"row\"" : "<td";
  if (!cell.hint.empty()) html += fmt::format(" title=\"{}\"", html_text(cell.hint));
  return fmt::format("{}{}>{}</{}>", html, shade_style(cell), html_text(cell.text),
                     is_name ? "th" : "td");
}

// Empty without rows.
std::string heading_html(const std::string& title, const std::string& note) {
  std::string html = fmt::format("<h2>{}</h2>\n", html_text(title));
  if (!note.empty()) html += fmt::format("<p class=\"note\">{}</p>\n", html_text(note));
  return html;
}

std::string table_html(const ReportTable& table) {
  if (table.rows.empty()) return "";
  std::string html = "<section>" + heading_html(table.title, table.note) + "<table>\n<tr>";
  for (const std::string& column : table.columns) {
    html += fmt::format("<th scope=\"col\">{}</th>", html_text(column));
  }
  html += "</tr>\n";
  for (const std::vector<ReportCell>& row : table.rows) {
    html += "<tr>";
    for (const ReportCell& cell : row) html += cell_html(cell, &cell == row.data());
    html += "</tr>\n";
  }
  return html + "</table></section>\n";
}

}  // namespace

std::string_view table_style() {
  return R"(.headline { margin: 1rem 0; line-height: 1.2; }
.headline b { font-size: 2.8rem; margin-right: .6rem; } .headline span { font-size: 1.3rem; }
.headline small { display: block; margin-top: .4rem; font-size: 1rem; }
.facts { margin: 1rem 0; } .facts div { display: flex; gap: 1rem; padding: .1rem 0; }
.facts dt { width: 5.5rem; flex: none; } .facts dd { text-align: left; }
.tables { display: flex; flex-wrap: wrap; column-gap: 3rem; } .tables section { max-width: 100%; }
.note { color: var(--faint); margin: 0 0 .5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: right; }
th { color: var(--faint); font-weight: normal; vertical-align: bottom; }
th:first-child { text-align: left; min-width: 5rem; padding-left: 0; }
td { white-space: nowrap; }
.examples { list-style: none; padding: 0; margin: 0; max-width: 60rem; }
.examples li { border-bottom: 1px solid var(--line); padding: .5rem 0; }
.examples p { margin: 0; white-space: pre-line; }
.examples ul { list-style: none; display: flex; flex-wrap: wrap; gap: 0 1.5rem; padding: 0; }
.examples li li { border: 0; padding: 0; } .examples span { color: var(--faint); }
.changed dd b { font-weight: bold; }
@media (max-width: 40rem) { th, td { font-size: 11px; padding: .25rem .1rem; }
  th:first-child { min-width: 2.8rem; } }
)";
}

std::string headline_html(const ReportHeadline& h) {
  if (h.value.empty()) return "";
  std::string html = fmt::format("<div class=\"headline\"><b>{}</b><span>{}</span>",
                                 html_text(h.value), html_text(h.name));
  if (!h.detail.empty()) html += fmt::format("<small>{}</small>", html_text(h.detail));
  return html + "</div>\n";
}

std::string facts_html(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (facts.empty()) return "";
  std::string html = "<dl class=\"facts\">\n";
  for (const auto& [name, value] : facts) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_text(name), html_text(value));
  }
  return html + "</dl>\n";
}

std::string tables_html(const std::vector<ReportTable>& tables) {
  std::string html;
  for (const ReportTable& table : tables) html += table_html(table);
  return html.empty() ? "" : "<div class=\"tables\">\n" + html + "</div>\n";
}

std::string examples_html(const ReportExamples& all) {
  if (all.examples.empty()) return "";
  std::string html = heading_html(all.title, all.note) + "<ol class=\"examples\">\n";
  for (const ReportExample& example : all.examples) {
    html += fmt::format("<li><p>{}</p><ul>", html_text(example.text));
    for (const auto& [name, value] : example.facts) {
      html += fmt::format("<li><span>{}</span> {}</li>", html_text(name), html_text(value));
    }
    html += "</ul></li>\n";
  }
  return html + "</ol>\n";
}

std::string narrow_count(double count) {
  if (count < 1e4) return fmt::format("{:.0f}", count);
  return count < 1e6 ? fmt::format("{:.0f}k", count / 1e3) : fmt::format("{:.0f}M", count / 1e6);
}

}  // namespace dtl
