#include "trainer/report/label_errors_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace dtl::trainer {

ReportTable label_errors_table(const ModelConfig& config, const std::vector<ClassCounts>& counts) {
  constexpr std::size_t kMostRows = 50;  // more rows are not read
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return counts[a].present > counts[b].present;
  });
  ReportTable table{"Errors of each label"};
  table.columns = {"label", "found", "missed", "wrong", "precision", "recall", "F1"};
  if (order.size() > kMostRows) {
    table.note = fmt::format("The {} most frequent of {} labels.", kMostRows, order.size());
    order.resize(kMostRows);
  }
  for (const std::size_t c : order) {
    const ClassCounts& count = counts[c];
    const ClassFigures figures = figures_of(count);
    table.rows.push_back({{printable(config.labels[c])},
                          {fmt::format("{:.0f}", count.hits)},
                          {fmt::format("{:.0f}", count.present - count.hits)},
                          {fmt::format("{:.0f}", count.answered - count.hits)},
                          {fmt::format("{:.3f}", figures.precision)},
                          {fmt::format("{:.3f}", figures.recall)},
                          {fmt::format("{:.3f}", figures.f1)}});
  }
  return table;
}

}  // namespace dtl::trainer
