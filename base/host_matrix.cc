// Splits a table wider than the screen into blocks of columns, each with all rows. Columns have
// numbers, since names would not fit above them.
#include "base/host_matrix.h"

#include <fmt/format.h>

#include <algorithm>

namespace dtl {
namespace {

// In characters: a line, a value with its space, a name. Longer names are cut.
constexpr std::size_t kColumns = 80, kCell = 7, kMostName = 20;

std::string cell(double gbits) {
  if (gbits < 0) return "-";
  return fmt::format("{:.{}f}", gbits, gbits < 10 ? 2 : gbits < 100 ? 1 : 0);
}

}  // namespace

std::string link_table(const std::vector<std::string>& names,
                       const std::vector<std::vector<double>>& gbits) {
  std::size_t width = 4;
  for (const std::string& name : names) width = std::max(width, std::min(name.size(), kMostName));
  const std::size_t numbers = fmt::format("{} ", names.size()).size();
  const std::size_t block = std::max<std::size_t>(1, (kColumns - width - numbers) / kCell);
  std::string text = "Gbit/s from (rows) to (columns)\n";
  for (std::size_t first = 0; first < names.size(); first += block) {
    const std::size_t last = std::min(names.size(), first + block);
    text += fmt::format("{:{}}", "", width + numbers);
    for (std::size_t to = first; to < last; ++to) text += fmt::format("{:>{}}", to + 1, kCell);
    text += "\n";
    for (std::size_t from = 0; from < names.size(); ++from) {
      text += fmt::format("{:>{}} {:{}}", from + 1, numbers - 1, names[from].substr(0, kMostName),
                          width);
      for (std::size_t to = first; to < last; ++to) {
        text += fmt::format("{:>{}}", from == to ? "." : cell(gbits[from][to]), kCell);
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace dtl
