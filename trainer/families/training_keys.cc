// Both objects are written by dttrain alone, so other keys in them are refused.
#include "trainer/families/training_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace dtl::trainer {
namespace {

constexpr const char* kColumns = "dttrain_columns";
constexpr const char* kLoss = "dttrain_loss";

constexpr KnownKey kOfColumns[] = {{"texts", KeyUse::kUsed},
                                   {"delimiter", KeyUse::kUsed},
                                   {"second_text", KeyUse::kUsed},
                                   {"label", KeyUse::kUsed}};
constexpr KnownKey kOfLoss[] = {{"label_smoothing_factor", KeyUse::kUsed},
                                {"focal_gamma", KeyUse::kUsed},
                                {"label_weights", KeyUse::kUsed},
                                {"reranking_loss", KeyUse::kUsed}};

}  // namespace

TextColumns read_columns(const ConfigKeys& keys) {
  TextColumns columns;
  const std::unique_ptr<ConfigKeys> inner = keys.object(kColumns, {kOfColumns});
  if (inner == nullptr) return columns;
  columns.first = inner->texts("texts");
  if (columns.first.empty()) keys.refuse(kColumns, "its 'texts' are not a list of names");
  if (const std::string delimiter = inner->text("delimiter"); !delimiter.empty()) {
    columns.delimiter = delimiter;
  }
  columns.second = inner->text("second_text");
  columns.label = inner->text("label");
  return columns;
}

HeadLoss read_head_loss(const ConfigKeys& keys, std::size_t labels) {
  HeadLoss loss;
  const std::unique_ptr<ConfigKeys> inner = keys.object(kLoss, {kOfLoss});
  if (inner == nullptr) return loss;
  inner->fraction("label_smoothing_factor", loss.label_smoothing);
  inner->positive("focal_gamma", loss.focal_gamma);
  loss.label_weights = inner->numbers("label_weights");
  const auto is_weight = [](double weight) { return weight > 0; };
  if (!std::all_of(loss.label_weights.begin(), loss.label_weights.end(), is_weight)) {
    inner->refuse("label_weights", "one is not above 0");
  }
  if (!loss.label_weights.empty() && loss.label_weights.size() != labels) {
    inner->refuse("label_weights", fmt::format("it has {} numbers, and the model has {} labels",
                                               loss.label_weights.size(), labels));
  }
  if (loss.label_smoothing > 0 && loss.focal_gamma > 0) {
    inner->refuse("focal_gamma", "there is a label_smoothing_factor, too");
  }
  const std::string reranking = inner->text("reranking_loss");
  loss.softmax = reranking == "softmax";
  if (!loss.softmax && !reranking.empty() && reranking != "binary") {
    inner->refuse("reranking_loss", fmt::format("'{}' is not one of binary, softmax", reranking));
  }
  return loss;
}

ConfigEntries columns_entries(const TextColumns& columns) {
  ConfigEntries entries;
  if (columns.first.empty()) return entries;
  entries.emplace_back("texts", columns.first);
  if (columns.first.size() > 1) entries.emplace_back("delimiter", columns.delimiter);
  if (!columns.second.empty()) entries.emplace_back("second_text", columns.second);
  if (!columns.label.empty()) entries.emplace_back("label", columns.label);
  return entries;
}

ConfigEntries head_loss_entries(const HeadLoss& loss) {
  ConfigEntries entries;
  if (loss.label_smoothing > 0) {
    entries.emplace_back("label_smoothing_factor", loss.label_smoothing);
  }
  if (loss.focal_gamma > 0) entries.emplace_back("focal_gamma", loss.focal_gamma);
  if (!loss.label_weights.empty()) entries.emplace_back("label_weights", loss.label_weights);
  if (loss.softmax) entries.emplace_back("reranking_loss", std::string("softmax"));
  return entries;
}

}  // namespace dtl::trainer
