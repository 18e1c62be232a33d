#include "trainer/settings/label_weight_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/options/option_table.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

constexpr double kLeastWeight = 1e-6,
                 kMostWeight = 1e6;  // the sums of a batch stay far from float's limits

[[noreturn]] void refuse_weights(const std::string& text, const std::string& reason) {
  throw Error(Exit::kUsage, "--label_weights " + text, reason, "--label_weights balanced");
}

}  // namespace

LabelWeightList parse_label_weights(const std::string& text) {
  LabelWeightList list;
  if (text == "balanced") {
    list.balanced = true;
    return list;
  }
  std::string name;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.rfind('=');
    if (equals == part.npos) {
      name += part + ",";
      continue;
    }
    name = trim(name + part.substr(0, equals));
    double weight = 0;
    const std::string wrong = read_real(part.substr(equals + 1), kLeastWeight, kMostWeight, weight);
    if (!wrong.empty()) {
      refuse_weights(
          text, fmt::format("the weight '{}' of '{}' is {}", part.substr(equals + 1), name, wrong));
    }
    const auto same = [&](const auto& each) { return each.first == name; };
    if (std::any_of(list.named.begin(), list.named.end(), same)) {
      refuse_weights(text, fmt::format("'{}' has two weights", name));
    }
    list.named.emplace_back(std::exchange(name, {}), weight);
  }
  if (!name.empty() || list.named.empty()) {
    refuse_weights(text, "neither balanced nor weights as in NAME=2.5,NAME=1");
  }
  return list;
}

}  // namespace dtl::trainer
