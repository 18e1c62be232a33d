#pragma once
// Which columns of a data set are texts, where the user has not said so. A pure function.

#include <span>
#include <string>
#include <vector>

namespace dtl::trainer {

struct ColumnChoice {
  int first = -1, second = -1;  // columns; second < 0: no pairs; first < 0: there are no texts
  std::string reason = {};      // why there are none
};

// By name: sentence1 with sentence2, or sentence, or text, in any case. Otherwise the first one or
// two columns that may be texts. These may not: the label; a column without a name, or with
// pandas' name for one ("Unnamed: 0"); idx, index and id; a column that holds only numbers, dates
// or empty cells; a column that holds a different identifier in each row; and, if another column
// has a value of several words, a column that has none. Without rows, names alone decide.
ColumnChoice choose_texts(const std::vector<std::string>& header, int label,
                          std::span<const std::vector<std::string>> rows);

// False where names alone decide.
bool needs_rows(const std::vector<std::string>& header);

}  // namespace dtl::trainer
