#pragma once
// Parts of a page beside charts and rows: tables, texts as they were printed, and timelines. Each
// is HTML for page_html() with parts_style(). They escape all texts. Pure functions.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

struct ReportColumn {
  std::string name;
  bool is_number = false;
};
struct ReportList {
  std::string title;
  std::vector<ReportColumn> columns;
  std::vector<std::vector<std::string>> rows;  // a text for each column
  // Small curves in a last column, one for each row; unknown values are left out. Empty: none.
  std::string curve_name;
  std::vector<std::vector<double>> curves;
};
// Empty for a table without rows. On a narrow screen each row is a list. Columns without any text
// are left out.
std::string list_html(const ReportList& table);

// Lines as they were printed, in a fixed-width font; empty for an empty text.
std::string printed_html(const std::string& title, const std::string& text);

struct ReportSpan {
  double begin = 0, end = 0;  // seconds
  std::string name;           // spans of the same name have the same colour
};
struct ReportLane {
  std::string name;
  std::vector<ReportSpan> spans;
};
struct ReportMark {
  double at = 0;  // seconds
  std::string text;
};
struct ReportTimeline {
  double end = 0;  // seconds; it begins at 0
  std::vector<ReportLane> lanes;
  std::vector<ReportMark> marks;  // across all lanes, and a list with their times below
};
// Empty without an end or lanes.
std::string timeline_html(const std::string& title, const ReportTimeline& timeline);

std::string_view parts_style();

// "0.34 s", "12.5 s", "3 min 12 s", "2 h 5 min", "3 d 4 h".
std::string time_words(double seconds);
// "12.5 MB", "3 kB", "17 bytes"; 1 MB is 10^6 bytes.
std::string size_words(double bytes);

}  // namespace dtl
