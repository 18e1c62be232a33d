#pragma once
// Columns of a data set: by their names, and which are texts where the user has not said so. Pure
// functions.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

// The column of this name: exactly, or else without blanks around it, or else in any case if only
// one is called so. -1: there is none.
int column_named(const std::vector<std::string>& header, std::string_view name);

// The names for a message: "title, column 2 (no name)".
std::string shown_columns(const std::vector<std::string>& header);

// Why a column cannot be read: "the columns are title, label; none is called 'text'".
std::string without_column(const std::vector<std::string>& header, std::string_view name);

// Of the column at this index, from 0.
std::string shown_column(const std::vector<std::string>& header, std::size_t index);

// Indices of columns, from 0.
struct ColumnChoice {
  int first = -1, second = -1;  // columns; second < 0: no pairs; first < 0: there are no texts
  std::string reason = {};      // why there are none
  bool label_alone = false;     // the label is the only column
};

// By name: sentence1 with sentence2, or sentence, or text, in any case. Otherwise the first one or
// two columns that may be texts. These may not: the label; a column without a name, or with
// pandas' name for one ("Unnamed: 0"); idx, index and id; a column that holds only numbers, dates
// or empty cells; a column that holds a different identifier in each row; and, if another column
// has a value of several words, a column that has none. Without rows, names alone decide.
ColumnChoice choose_texts(const std::vector<std::string>& header, int label,
                          std::span<const std::vector<std::string>> rows);

// The column that most looks like one of labels, for a hint: of those whose values come again and
// again, one with a usual name, or else the one with the fewest values. -1: none, or the header is
// itself a row.
int guess_label(const std::vector<std::string>& header,
                std::span<const std::vector<std::string>> rows);

// False where names alone decide.
bool needs_rows(const std::vector<std::string>& header);

}  // namespace dtl::trainer
