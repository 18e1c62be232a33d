// Reads the value column of --help, so that no table needs a second column for completion.
#include "base/options/completion.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace dtl {
namespace {

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

Fill fill_of_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Fill>, 8> kNames{{{"FILE", Fill::kFile},
                                                                     {"FOLDER", Fill::kFolder},
                                                                     {"DIR", Fill::kFolder},
                                                                     {"LIST", Fill::kHosts},
                                                                     {"NET", Fill::kNetworks},
                                                                     {"VARIABLE", Fill::kVariable},
                                                                     {"JOB", Fill::kJob},
                                                                     {"PROGRAM", Fill::kCommand}}};
  for (const auto& [known, fill] : kNames) {
    if (name == known) return fill;
  }
  return Fill::kNothing;
}

}  // namespace

CompletedValue value_of_column(std::string_view column) {
  CompletedValue value;
  // "NET[,NET]" and "ompi|horovod,.."
  const std::size_t comma = std::min(column.find("[,"), column.find(",.."));
  value.list = comma != column.npos || column == "LIST";
  column = column.substr(0, comma);
  for (const std::string& piece : split(column, '|')) {
    const auto capital = std::find_if(piece.begin(), piece.end(), is_capital);
    const std::string word(piece.begin(), capital);
    const std::string name(capital, std::find_if_not(capital, piece.end(), is_capital));
    if (!word.empty()) value.words.push_back(word);
    if (word.empty() && value.fill == Fill::kNothing) value.fill = fill_of_name(name);
  }
  return value;
}

}  // namespace dtl
