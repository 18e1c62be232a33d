// Tables.
#include "trainer/embeddings/module_names.h"

#include <fmt/format.h>

#include <utility>

#include "trainer/embeddings/sentence_folder.h"

namespace dtl::trainer {
namespace {

constexpr std::array<std::pair<std::string_view, TextPooling>, 6> kPoolings = {{
    {"cls", TextPooling::kCls},
    {"mean", TextPooling::kMean},
    {"max", TextPooling::kMax},
    {"mean_sqrt_len_tokens", TextPooling::kMeanSqrtLength},
    {"weightedmean", TextPooling::kWeightedMean},
    {"lasttoken", TextPooling::kLastToken},
}};

constexpr std::array<std::pair<std::string_view, DenseActivation>, 5> kActivations = {{
    {"torch.nn.modules.linear.Identity", DenseActivation::kIdentity},
    {"torch.nn.modules.activation.Tanh", DenseActivation::kTanh},
    {"torch.nn.modules.activation.ReLU", DenseActivation::kRelu},
    {"torch.nn.modules.activation.GELU", DenseActivation::kGelu},
    {"torch.nn.modules.activation.Sigmoid", DenseActivation::kSigmoid},
}};

template <class Table>
std::string names_in(const Table& table) {
  std::string names;
  for (const auto& row : table) names += (names.empty() ? "" : ", ") + std::string(row.first);
  return names;
}

template <class Table, class Value>
bool find_named(const Table& table, std::string_view name, Value& value) {
  for (const auto& [each, its] : table) {
    if (each != name) continue;
    value = its;
    return true;
  }
  return false;
}

}  // namespace

std::string pooling_names() {
  return names_in(kPoolings);
}

std::string pooling_name(TextPooling pooling) {
  for (const auto& [name, value] : kPoolings) {
    if (value == pooling) return std::string(name);
  }
  __builtin_unreachable();
}

bool pooling_named(const std::string& name, TextPooling& pooling) {
  return find_named(kPoolings, name, pooling);
}

std::string_view activation_name(DenseActivation activation) {
  for (const auto& [name, value] : kActivations) {
    if (value == activation) return name;
  }
  __builtin_unreachable();
}

bool activation_named(std::string_view name, DenseActivation& activation) {
  return find_named(kActivations, name, activation);
}

std::string activation_names() {
  return names_in(kActivations);
}

std::string dense_prefix(int number) {
  return fmt::format("dense.{}.", number);
}

}  // namespace dtl::trainer
