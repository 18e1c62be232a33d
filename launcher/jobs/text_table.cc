#include "launcher/jobs/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/jobs/jobs_view.h"

namespace dtl {
namespace {

std::vector<std::size_t> widths_of(const std::vector<TableRow>& rows,
                                   const std::vector<std::size_t>& most,
                                   std::optional<int> columns) {
  std::vector<std::size_t> widths(most.size(), 0);
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  if (!columns) return widths;
  std::size_t others = widths.size() - 1;  // blanks between columns
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (most[i] != 0) others += widths[i] = std::min(widths[i], most[i]);
  }
  const auto whole = static_cast<std::size_t>(std::max(*columns, 80));
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (most[i] == 0) widths[i] = std::min(widths[i], whole - others);
  }
  return widths;
}

}  // namespace

std::string text_table(const std::vector<TableRow>& rows, const std::vector<std::size_t>& most,
                       std::optional<int> columns) {
  const std::vector<std::size_t> widths = widths_of(rows, most, columns);
  std::string text;
  for (const TableRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("{:<{}} ", fit_column(row[i], widths[i]), widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace dtl
