#pragma once
// What a page of report_html.h has besides charts: a headline, who ran what and when, tables with
// shaded cells, and a list of examples. They fit narrow screens and dark mode. Pure functions; all
// texts are escaped.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtl {

struct ReportHeadline {
  std::string value;   // "0.8407"; empty: no headline
  std::string name;    // "accuracy"
  std::string detail;  // "on the evaluation set, 408 examples"
};

enum class ReportShade { kNone, kGood, kBad };

struct ReportCell {
  std::string text;
  std::string hint = {};  // shown when the pointer rests on the cell
  ReportShade shade = ReportShade::kNone;
  double depth = 0;  // of the shade, 0 to 1
};

struct ReportTable {
  std::string title;
  std::string note = {};                           // a sentence below; may be empty
  std::vector<std::string> columns = {};           // headings; the first is that of the row names
  std::vector<std::vector<ReportCell>> rows = {};  // the first cell names the row
};

// A text with a line of facts below it.
struct ReportExample {
  std::string text;
  std::vector<std::pair<std::string, std::string>> facts;  // "true", "positive"
};

struct ReportExamples {
  std::string title;
  std::string note = {};
  std::vector<ReportExample> examples = {};
};

// The styles of everything below. They use the colours of report_html.cc.
std::string_view table_style();

// Each is empty if there is nothing to show.
std::string headline_html(const ReportHeadline& headline);
// Names and values one below the other: the values may be long, such as a command.
std::string facts_html(const std::vector<std::pair<std::string, std::string>>& facts);
// Side by side where they fit.
std::string tables_html(const std::vector<ReportTable>& tables);
std::string examples_html(const ReportExamples& examples);

// A count of at most four characters for a narrow cell: "9999", "12k", "3M".
std::string narrow_count(double count);

}  // namespace dtl
