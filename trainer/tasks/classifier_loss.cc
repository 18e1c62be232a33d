#include "trainer/tasks/classifier_loss.h"

#include "trainer/tasks/embedding_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "trainer/settings/label_weight_list.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostShown = 10;  // weights in the notice

// Counted over the whole training set, on rank 0 alone: weights that followed each rank's share
// would give the ranks different losses.
std::vector<double> balanced_weights(const ModelConfig& config, const Examples& training) {
  const std::size_t labels = config.labels.size();
  std::vector<double> counts(labels), weights(labels, 1.0);
  for (const std::int32_t label : training.labels) counts[static_cast<std::size_t>(label)] += 1;
  for (std::size_t i = 0; i < training.targets.size(); ++i) {
    // Either `labels` or `targets` has values: one label per example, or a row of 0 and 1 for each.
    counts[i % labels] += training.targets[i] > 0.5F ? 1 : 0;
  }
  const auto all = static_cast<double>(training.size());
  for (std::size_t c = 0; c < labels; ++c) {
    // Labels that no example has, or of several that every example has, have no ratio.
    if (counts[c] == 0) continue;
    if (config.problem == Problem::kSingleLabel) {
      weights[c] = all / (static_cast<double>(labels) * counts[c]);
    } else if (counts[c] < all) {
      weights[c] = (all - counts[c]) / counts[c];
    }
  }
  return weights;
}

std::vector<double> named_weights(const LabelWeightList& list, const ModelConfig& config) {
  std::vector<double> weights(config.labels.size(), 1.0);
  for (const auto& [name, weight] : list.named) {
    const auto found = std::find(config.labels.begin(), config.labels.end(), name);
    if (found == config.labels.end()) {
      const std::string near = nearest(name, config.labels);
      throw Error(Exit::kUsage, fmt::format("--label_weights {}", name),
                  fmt::format("the labels are {}", join(config.labels, ", ")),
                  near.empty() ? "--label_weights balanced"
                               : fmt::format("--label_weights {}",
                                             one_shell_word(fmt::format("{}={}", near, weight))));
    }
    weights[static_cast<std::size_t>(found - config.labels.begin())] = weight;
  }
  return weights;
}

// "label_smoothing_factor 0.1 and label_weights"
std::string words_of(const HeadLoss& loss) {
  std::vector<std::string> words;
  if (loss.label_smoothing > 0) {
    words.push_back(fmt::format("label_smoothing_factor {:g}", loss.label_smoothing));
  }
  if (loss.focal_gamma > 0) words.push_back(fmt::format("focal_gamma {:g}", loss.focal_gamma));
  if (!loss.label_weights.empty()) words.emplace_back("label_weights");
  if (loss.softmax) words.emplace_back("reranking_loss softmax");
  return join(words, " and ");
}

}  // namespace

std::vector<double> label_weights(const Settings& settings, const ModelConfig& config,
                                  const Examples& training, std::vector<std::string>& notices) {
  if (settings.label_weights.empty()) return {};
  if (config.problem == Problem::kRegression) {
    throw Error(Exit::kUsage, "--label_weights " + settings.label_weights,
                "the labels are numbers with fractions, which the model learns as numbers",
                "--label_weights ''");
  }
  const LabelWeightList list = parse_label_weights(settings.label_weights);
  const std::vector<double> weights =
      list.balanced ? balanced_weights(config, training) : named_weights(list, config);
  // Shown even if the user named them: balanced weights depend on counts that nobody knows by
  // heart.
  std::vector<std::string> shown;
  for (std::size_t c = 0; c < std::min(weights.size(), kMostShown); ++c) {
    shown.push_back(fmt::format("{} {:.4g}", printable(config.labels[c]), weights[c]));
  }
  if (weights.size() > kMostShown) shown.emplace_back("..");
  notices.push_back(fmt::format("--label_weights: {}", join(shown, ", ")));
  return weights;
}

void choose_head_loss(const Settings& s, Prepared& prepared) {
  HeadLoss& loss = prepared.loss;
  ModelConfig& config = prepared.config;
  if (s.do_train || s.loss_was_said) {
    loss.label_smoothing = s.label_smoothing;
    loss.focal_gamma = s.focal_gamma;
    loss.softmax = s.reranking_loss == "softmax";
    if (s.do_train) config.loss = loss;
    return;
  }
  loss = config.loss;
  // An option has made another number of labels of it.
  if (loss.label_weights.size() != config.labels.size()) loss.label_weights.clear();
  if (!s.do_eval || loss == HeadLoss()) return;
  prepared.notices.push_back(fmt::format("{}: eval_loss is computed as in its training, with {}",
                                         s.model, words_of(loss)));
}

LossSettings loss_settings(const Settings& s, const Prepared& prepared) {
  LossSettings loss;
  loss.label_smoothing = prepared.loss.label_smoothing;
  loss.qa_loss = s.qa_loss == "padded" ? QaLoss::kPadded : QaLoss::kMasked;
  if (prepared.loss.softmax) loss.candidates = CandidateLoss::kSoftmax;
  loss.focal_gamma = prepared.loss.focal_gamma;
  loss.label_weights = prepared.loss.label_weights;
  loss.embedding = embedding_loss_settings(s, !prepared.train.targets.empty());
  return loss;
}

}  // namespace dtl::trainer
