// Losses and their gradients in closed form, with torch's definitions, so that runs are comparable
// with transformers number by number.
#include "trainer/model/loss.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

#include "trainer/families/task_head.h"
#include "trainer/maths/plain_nan.h"
#include "trainer/model/label_loss.h"
#include "trainer/model/masking.h"

namespace dtl::trainer {
namespace {

// x: the C outputs of sequence b.
template <class S>
double classification_loss(const ModelConfig& config, const LossSettings& settings,
                           const Batch& batch, std::int64_t b, const S* x, S weight, S* gradient) {
  const std::int64_t C = output_count(config);
  Wanted wanted;
  if (config.problem == Problem::kSingleLabel) {
    wanted.label = batch.labels[static_cast<std::size_t>(b)];
  } else {
    assert(std::ssize(batch.targets) == batch.sequences() * C);
    wanted.targets = batch.targets.data() + b * C;
  }
  return label_loss(config.problem, settings, wanted, x, C, weight, gradient);
}

// x, gradient: [tokens of sequence b, 2].
template <class S>
double answer_loss(const LossSettings& settings, const Batch& batch, std::int64_t b, const S* x,
                   S weight, S* gradient) {
  const auto i = static_cast<std::size_t>(b);
  // With kMasked, the softmax covers only the sequence's own tokens. Rows of padding keep the 0
  // from fill_n.
  const std::int64_t tokens =
      settings.qa_loss == QaLoss::kMasked ? batch.own_length(b) : batch.length(b);
  if (gradient) std::fill_n(gradient, 2 * batch.length(b), S(0));
  // The loss is the mean of two cross entropies, so each has half the weight.
  const S half = weight / S(2);
  const double start = cross_entropy(x, tokens, 2, batch.answer_starts[i], 0.0, half, gradient);
  const double end = cross_entropy(x + 1, tokens, 2, batch.answer_ends[i], 0.0, half,
                                   gradient ? gradient + 1 : nullptr);
  return (start + end) / 2;
}

// x: one output for each text of example e. Multiple choice has the right one in labels; the texts
// of reranking have targets [E, texts].
template <class S>
double candidate_loss(const ModelConfig& config, const LossSettings& settings, const Batch& batch,
                      std::int64_t e, const S* x, S weight, S* gradient) {
  if (config.task == Task::kMultipleChoice) {
    return cross_entropy(x, batch.texts, 1, batch.labels[static_cast<std::size_t>(e)],
                         settings.label_smoothing, weight, gradient);
  }
  const float* targets = batch.targets.data() + e * batch.texts;
  if (settings.candidates == CandidateLoss::kSoftmax) {
    const std::int64_t right = std::max_element(targets, targets + batch.texts) - targets;
    return cross_entropy(x, batch.texts, 1, right, 0.0, weight, gradient);
  }
  double loss = 0;  // a term for each text
  for (std::int64_t text = 0; text < batch.texts; ++text) {
    loss += binary_cross_entropy(x + text, targets + text, 1, weight,
                                 gradient ? gradient + text : nullptr);
  }
  return loss;
}

// x, gradient: [tokens of sequence b, C]. A label's weight is that of its token, not of its text.
template <class S>
double token_loss(const ModelConfig& config, const LossSettings& settings, const Batch& batch,
                  std::int64_t b, const S* x, S weight, S* gradient) {
  const std::int64_t C = output_count(config), begin = batch.starts[static_cast<std::size_t>(b)];
  assert(std::ssize(batch.token_labels) == batch.tokens());
  double loss = 0;
  for (std::int64_t t = 0; t < batch.length(b); ++t) {
    S* row = gradient ? gradient + t * C : nullptr;
    const std::int32_t label = batch.token_labels[static_cast<std::size_t>(begin + t)];
    if (label != kNoLabel) {
      loss += cross_entropy(x + t * C, C, 1, label, settings.label_smoothing, weight, row);
    } else if (row) {
      std::fill_n(row, C, S(0));
    }
  }
  return loss;
}

}  // namespace

// Subtracting the highest x keeps exp() at most 1. With centred x', the loss is log(sum) - (1 - e)
// x'[label] - e mean(x'): the shift cancels.
template <class S>
double cross_entropy(const S* x, std::int64_t count, std::int64_t stride, std::int64_t label,
                     double smoothing, S weight, S* gradient) {
  assert(label >= 0 && label < count);
  S highest = x[0];
  for (std::int64_t c = 1; c < count; ++c) highest = std::max(highest, x[c * stride]);
  const auto centred = [&](std::int64_t c) {
    return static_cast<double>(x[c * stride]) - static_cast<double>(highest);
  };
  double sum = 0, mean = 0;
  for (std::int64_t c = 0; c < count; ++c) {
    sum += std::exp(centred(c));
    if (smoothing > 0) mean += centred(c) / static_cast<double>(count);
  }
  const double share = smoothing / static_cast<double>(count);
  for (std::int64_t c = 0; gradient && c < count; ++c) {
    const double wanted = c == label ? 1 - smoothing + share : share;
    gradient[c * stride] = static_cast<S>(std::exp(centred(c)) / sum - wanted) * weight;
  }
  return std::log(sum) - (1 - smoothing) * centred(label) - smoothing * mean;
}

// -t log(s) - (1 - t) log(1 - s) = max(x, 0) - x t + log(1 + exp(-|x|)), which cannot overflow.
template <class S>
double binary_cross_entropy(const S* x, const float* targets, std::int64_t count, S weight,
                            S* gradient) {
  double sum = 0;
  for (std::int64_t c = 0; c < count; ++c) {
    const auto value = static_cast<double>(x[c]), target = static_cast<double>(targets[c]);
    sum += std::max(value, 0.0) - value * target + std::log1p(std::exp(-std::abs(value)));
    if (!gradient) continue;
    const double sigmoid = 1 / (1 + std::exp(-value));
    // The slope of each term is s - t.
    gradient[c] = static_cast<S>((sigmoid - target) / static_cast<double>(count)) * weight;
  }
  return sum / static_cast<double>(count);
}

template <class S>
double squared_error(const S* x, const float* targets, std::int64_t count, S weight, S* gradient) {
  double sum = 0;
  for (std::int64_t c = 0; c < count; ++c) {
    const double error = static_cast<double>(x[c]) - static_cast<double>(targets[c]);
    sum += error * error;
    // d/dx of (x - t)^2 / count.
    if (gradient) gradient[c] = static_cast<S>(2 * error / static_cast<double>(count)) * weight;
  }
  return sum / static_cast<double>(count);
}

template <class S>
double loss_sum(const ModelConfig& config, const LossSettings& settings, const Batch& batch,
                const S* outputs, S weight, S* doutputs) {
  const bool all_tokens = outputs_per_token(config);
  const std::int64_t O = output_count(config);
  if (joins_examples(config)) {
    const EmbeddingShape shape{batch.sequences() / batch.texts, batch.texts, O};
    return embedding_loss(settings.embedding, shape, outputs, batch.targets, weight, doutputs);
  }
  double loss = 0;
  for (std::int64_t e = 0; e < batch.examples(); ++e) {
    // Where the example's rows begin in outputs.
    const std::int64_t text = e * batch.texts;
    const std::int64_t at = O * (all_tokens ? batch.starts[static_cast<std::size_t>(text)] : text);
    S* gradient = doutputs ? doutputs + at : nullptr;
    switch (config.task) {
      case Task::kClassification:
        loss += classification_loss(config, settings, batch, e, outputs + at, weight, gradient);
        break;
      case Task::kQuestionAnswering:
        loss += answer_loss(settings, batch, e, outputs + at, weight, gradient);
        break;
      case Task::kTokenClassification:
        loss += token_loss(config, settings, batch, e, outputs + at, weight, gradient);
        break;
      case Task::kReranking:
      case Task::kMultipleChoice:
        loss += candidate_loss(config, settings, batch, e, outputs + at, weight, gradient);
        break;
      case Task::kEmbeddings:
        assert(false);  // above
        break;
      case Task::kMaskedLm:
        assert(false);  // model/masked_head.h
    }
  }
  // The error of a failed step prints this number.
  return plain_nan(loss);
}

double loss_terms(const ModelConfig& config, const LossSettings& settings, const Examples& examples,
                  std::span<const std::int64_t> chosen, const DropoutKey& key) {
  const auto count = static_cast<double>(chosen.size());
  switch (config.task) {
    case Task::kQuestionAnswering:
    case Task::kMultipleChoice:
      return count;
    case Task::kMaskedLm:
      return static_cast<double>(count_masked(key, examples, chosen));
    case Task::kReranking:
      return settings.candidates == CandidateLoss::kSoftmax
                 ? count
                 : count * static_cast<double>(examples.texts);
    case Task::kEmbeddings:
      return 1;
    case Task::kTokenClassification: {
      std::int64_t terms = 0;
      for (const std::int64_t example : chosen) {
        const auto labels = examples.token_labels.begin();
        terms += std::count_if(labels + examples.first_token(example),
                               labels + examples.first_token(example + 1),
                               [](std::int32_t label) { return label != kNoLabel; });
      }
      return static_cast<double>(terms);
    }
    case Task::kClassification:
      break;
  }
  if (config.problem != Problem::kSingleLabel || settings.label_weights.empty()) return count;
  double sum = 0;
  for (const std::int64_t example : chosen) {
    sum +=
        label_terms(config.problem, settings, examples.labels[static_cast<std::size_t>(example)]);
  }
  return sum;
}

double mean_loss_of(const ModelConfig& config, const LossSettings& settings,
                    const Examples& examples, std::span<const float> outputs) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(examples.size()));
  std::iota(all.begin(), all.end(), 0);
  const Batch batch = make_batch(examples, all);
  assert(std::ssize(outputs) ==
         output_count(config) * (outputs_per_token(config) ? batch.tokens() : batch.sequences()));
  const double sum = loss_sum<float>(config, settings, batch, outputs.data(), 1.0F, nullptr);
  const auto terms = static_cast<double>(loss_terms(config, settings, examples, all));
  return plain_nan(sum / std::max(1.0, terms));
}

template double cross_entropy<float>(const float*, std::int64_t, std::int64_t, std::int64_t, double,
                                     float, float*);
template double cross_entropy<double>(const double*, std::int64_t, std::int64_t, std::int64_t,
                                      double, double, double*);
template double binary_cross_entropy<float>(const float*, const float*, std::int64_t, float,
                                            float*);
template double binary_cross_entropy<double>(const double*, const float*, std::int64_t, double,
                                             double*);
template double squared_error<float>(const float*, const float*, std::int64_t, float, float*);
template double squared_error<double>(const double*, const float*, std::int64_t, double, double*);
template double loss_sum<float>(const ModelConfig&, const LossSettings&, const Batch&, const float*,
                                float, float*);
template double loss_sum<double>(const ModelConfig&, const LossSettings&, const Batch&,
                                 const double*, double, double*);

}  // namespace dtl::trainer
