#pragma once
// text_table(): rows of text in columns, for a terminal or a pipe. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dtl {

// A line of a table. All rows have as many texts.
using TableRow = std::vector<std::string>;

// Columns are as wide as their widest text. With `columns` the table is at most that wide (80 at
// least): each column has at most its number of bytes in `most`, and the one with 0 gets what the
// others leave. A '>' ends a text that was cut.
std::string text_table(const std::vector<TableRow>& rows, const std::vector<std::size_t>& most,
                       std::optional<int> columns);

}  // namespace dtl
