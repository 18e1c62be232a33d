// Numbers have the fewest digits that give the same float again.
#include "trainer/tasks/class_predictions.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "base/text.h"
#include "trainer/data/class_counts.h"
#include "trainer/data/label_scores.h"
#include "trainer/maths/plain_nan.h"

namespace dtl::trainer {
namespace {

// The labels whose logit is above the cut.
std::vector<std::string> names_above(const std::vector<std::string>& names, const float* row,
                                     float cut) {
  std::vector<std::string> above;
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (row[c] > cut) above.push_back(names[c]);
  }
  return above;
}

}  // namespace

std::vector<std::string> prediction_lines(const ModelConfig& config,
                                          const std::vector<float>& logits, float cut) {
  const std::size_t outputs = config.labels.size();
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < logits.size(); at += outputs) {
    const float* row = logits.data() + at;
    switch (config.problem) {
      case Problem::kSingleLabel:
        lines.push_back(config.labels[static_cast<std::size_t>(best_label(row, outputs))]);
        break;
      case Problem::kRegression:
        lines.push_back(fmt::format(
            "{:.3f}", plain_nan(static_cast<double>(row[0]))));  // as run_glue writes it
        break;
      case Problem::kMultiLabel:
        lines.push_back(join(names_above(config.labels, row, cut), ","));
        break;
    }
  }
  return lines;
}

std::string prediction_objects(const ModelConfig& config, const std::vector<float>& logits,
                               const std::vector<int>& lines, float cut) {
  const std::size_t outputs = config.labels.size();
  std::vector<std::string> quoted;
  for (const std::string& label : config.labels) quoted.push_back(nlohmann::json(label).dump());
  const std::vector<double> probabilities =
      label_probabilities(config.problem, logits, outputs);  // of a number: not used
  std::string text;
  for (std::size_t i = 0; i * outputs < logits.size(); ++i) {
    const std::span<const float> row = std::span(logits).subspan(i * outputs, outputs);
    text += fmt::format("{{\"index\": {}, \"line\": {}, \"prediction\": ", i, lines[i]);
    if (config.problem == Problem::kRegression) {
      text += fmt::format("{}}}\n", row[0]);
      continue;
    }
    text += config.problem == Problem::kMultiLabel
                ? "[" + join(names_above(quoted, row.data(), cut), ", ") + "]"
                : quoted[static_cast<std::size_t>(best_label(row.data(), outputs))];
    text += ", \"probabilities\": {";
    for (std::size_t c = 0; c < outputs; ++c) {
      text += fmt::format("{}{}: {}", c == 0 ? "" : ", ", quoted[c],
                          static_cast<float>(probabilities[i * outputs + c]));
    }
    text += fmt::format("}}, \"logits\": [{}]}}\n", fmt::join(row, ", "));
  }
  return text;
}

}  // namespace dtl::trainer
