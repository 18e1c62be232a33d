#pragma once
// Losses per term, by default one per example: the mean over any set of examples is the sum of
// their terms divided by the number of these, however ranks and micro-batches share them. Only the
// loss of embeddings (embedding_loss.h) is one term for all examples together. Pure functions; they
// compute in double, and all others allocate nothing. Gradients are overwritten (not added to), and
// may be null.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/families/model_config.h"
#include "trainer/layers/batch.h"
#include "trainer/layers/dropout.h"
#include "trainer/model/embedding_loss.h"

namespace dtl::trainer {

// Which tokens of a padded sequence compete as answer positions: only its own, or also padding, as
// in Hugging Face's models. Without padding both are the same.
enum class QaLoss { kMasked, kPadded };

// How an example with several texts, each with one output, learns which of them is right: softmax
// over its texts; or each text by itself, with binary cross entropy and its own target.
enum class CandidateLoss { kSoftmax, kBinary };

struct LossSettings {
  double label_smoothing = 0;  // for one label of each text or token, 0 to 1
  QaLoss qa_loss = QaLoss::kMasked;
  CandidateLoss candidates = CandidateLoss::kBinary;  // of reranking; multiple choice: softmax
  EmbeddingLossSettings embedding = {};
  // Of classifiers: see label_loss.h.
  double focal_gamma = 0;                  // 0 with label smoothing
  std::vector<double> label_weights = {};  // of each label; empty: all are alike
};

// With p = softmax(x) of x[0], x[stride], .. x[(count - 1) * stride] and e the smoothing:
// -(1 - e) log(p[label]) - e mean(log(p)), as torch.nn.CrossEntropyLoss(label_smoothing=e).
// gradient (same stride) = weight * (p - (1 - e) * one at label - e / count).
template <class S>
double cross_entropy(const S* x, std::int64_t count, std::int64_t stride, std::int64_t label,
                     double smoothing, S weight, S* gradient);

// mean(-t log(s) - (1 - t) log(1 - s)) with s = 1 / (1 + exp(-x)), over `count` independent labels,
// as torch.nn.BCEWithLogitsLoss. gradient = weight * (s - t) / count.
template <class S>
double binary_cross_entropy(const S* x, const float* targets, std::int64_t count, S weight,
                            S* gradient);

// mean((x - t)^2). gradient = weight * 2 (x - t) / count.
template <class S>
double squared_error(const S* x, const float* targets, std::int64_t count, S weight, S* gradient);

// The sum of the terms of the batch's examples, for a model's outputs, [B, O] or [T, O], by its
// task and problem. An answer's loss is the mean of its start's and end's cross entropy. A token
// with a label has a term of its own. The loss
// of embeddings is that of the batch alone; a training step joins all of its batches
// (step/joint_loss.h). doutputs, of the same shape, becomes the gradient of the sum times weight.
// NaN sums have no sign.
template <class S>
double loss_sum(const ModelConfig& config, const LossSettings& settings, const Batch& batch,
                const S* outputs, S weight, S* doutputs);

// Whether the loss is of all examples together, so that none has a term of its own.
inline bool joins_examples(const ModelConfig& config) {
  return config.task == Task::kEmbeddings;
}

// How many terms the loss of these examples has, or the sum of their weights: training minimises
// loss_sum() divided by it. One for each example, or for each token with a label, which may be
// none. key: of the step, which decides what a masked language model has to guess.
double loss_terms(const ModelConfig& config, const LossSettings& settings, const Examples& examples,
                  std::span<const std::int64_t> chosen, const DropoutKey& key = {});

// The mean of the terms of all examples for outputs [N, O], without a model.
double mean_loss_of(const ModelConfig& config, const LossSettings& settings,
                    const Examples& examples, std::span<const float> outputs);

}  // namespace dtl::trainer
