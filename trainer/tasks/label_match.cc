// Rules only: callers rename the labels in their data.
#include "trainer/tasks/label_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "trainer/data/dataset_summary.h"

namespace dtl::trainer {

bool has_default_labels(const std::vector<std::string>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != fmt::format("LABEL_{}", i)) return false;
  }
  return true;
}

std::optional<LabelNames> match_ignoring_case(const std::vector<std::string>& model,
                                              const std::vector<std::string>& data) {
  // Labels that differ only in case make the map smaller than the model: then case matters.
  LabelNames by_lower_case, names;
  for (const std::string& label : model) by_lower_case[to_lower(label)] = label;
  if (by_lower_case.size() != model.size()) return std::nullopt;
  for (const std::string& label : data) {
    const auto found = by_lower_case.find(to_lower(label));
    if (found == by_lower_case.end()) return std::nullopt;
    names[label] = found->second;
  }
  return names;
}

std::optional<std::map<std::string, std::size_t>> label_numbers(
    const std::vector<std::string>& names, std::size_t labels) {
  std::map<std::string, std::size_t> numbers;
  for (const std::string& name : names) {
    const auto number = parse_integer(name, 0, static_cast<std::int64_t>(labels) - 1);
    // "01" or "+1" is a name, not a number.
    if (!number || std::to_string(*number) != name) return std::nullopt;
    numbers[name] = static_cast<std::size_t>(*number);
  }
  return numbers;
}

LearntLabels labels_to_learn(const std::vector<std::string>& model,
                             const std::vector<std::string>& data, const std::string& path) {
  // Keep the model's order: other programs may rely on its ids.
  if (std::is_permutation(model.begin(), model.end(), data.begin(), data.end())) return {model};
  if (has_default_labels(model)) return {data};
  const auto names = match_ignoring_case(model, data);
  std::set<std::string> matched;
  for (const auto& [from, to] : names.value_or(LabelNames{})) matched.insert(to);
  // All or none: matching both 'Yes' and 'yes' of the data to 'yes' of the model would merge them.
  if (model.size() == data.size() && matched.size() == model.size()) return {model, *names};
  const std::string theirs = shown_labels(data), own = shown_labels(model);
  return {
      data,
      {},
      model.size() == data.size()
          ? fmt::format("{}: its labels ({}) take the places of the model's ({}), in this order",
                        path, theirs, own)
          : fmt::format("{}: it has {} ({}), but the model has {} ({})", path,
                        plural(static_cast<std::int64_t>(data.size()), "label"), theirs,
                        model.size(), own)};
}

LearntLabels labels_to_evaluate(const std::vector<std::string>& model,
                                const std::vector<std::string>& data, const std::string& path) {
  LearntLabels result{model};
  const auto numbers = label_numbers(data, model.size());
  if (has_default_labels(model)) {
    if (data.size() == model.size()) result.labels = data;
    // Numbers stand for all of the model's labels, including those that this file lacks.
    for (std::size_t i = 0; numbers && i < model.size(); ++i) result.labels[i] = std::to_string(i);
    return result;
  }
  if (auto same = match_ignoring_case(model, data)) {
    result.renamed = std::move(*same);
    return result;
  }
  const auto is_label = [&](const std::string& name) {
    return std::find(model.begin(), model.end(), name) != model.end();
  };
  if (!numbers || std::any_of(data.begin(), data.end(), is_label)) return result;
  for (const std::string& name : data) result.renamed[name] = model[numbers->at(name)];
  result.notice = fmt::format("{}: its labels are numbers: 0 means the model's {}, and so on", path,
                              model.front());
  return result;
}

}  // namespace dtl::trainer
