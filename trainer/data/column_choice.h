#pragma once
// Finds columns of a data set by name, and guesses the text columns that the user did not name.
// Pure functions.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

// The column with this name: exact, else without surrounding blanks, else in any case if only one
// column matches. -1: none.
int column_named(const std::vector<std::string>& header, std::string_view name);

// The names for a message: "title, column 2 (no name)".
std::string shown_columns(const std::vector<std::string>& header);

// Why a column was not found: "the columns are title, label; none is called 'text'".
std::string without_column(const std::vector<std::string>& header, std::string_view name);

// The name of the column at this index, from 0.
std::string shown_column(const std::vector<std::string>& header, std::size_t index);

// Indices of columns, from 0.
struct ColumnChoice {
  int first = -1, second = -1;  // second < 0: no pairs; first < 0: no text column
  std::string reason = {};      // why there is no text column
  bool label_alone = false;     // the label is the only column
};

// By name: sentence1 with sentence2, or sentence, or text, in any case. Otherwise the first one or
// two columns that may hold texts. These may not: the label; a column without a name or with
// pandas' name for one ("Unnamed: 0"); idx, index and id; a column of only numbers, dates or empty
// cells; a column with a different identifier in each row; and, if another column has values of
// several words, a column without any. Without rows, only names decide.
ColumnChoice choose_texts(const std::vector<std::string>& header, int label,
                          std::span<const std::vector<std::string>> rows);

// The most likely label column, for a hint. Among columns with repeating values: one with a usual
// name, else the one with the fewest distinct values. -1: none, or the header is a row.
int guess_label(const std::vector<std::string>& header,
                std::span<const std::vector<std::string>> rows);

// Whether the names of columns are rather a row: one of them is a sentence, or comes again as a
// value of its own column.
bool looks_like_row(const std::vector<std::string>& header,
                    std::span<const std::vector<std::string>> rows);

// False where names alone decide.
bool needs_rows(const std::vector<std::string>& header);

}  // namespace dtl::trainer
