#pragma once
// The loss of an example of a classifier or a regression: its term in loss.h's sum. Pure functions.

#include <cstdint>
#include <span>

#include "trainer/data/examples.h"
#include "trainer/model/loss.h"

namespace dtl::trainer {

// Weights of classes as torch.nn.CrossEntropyLoss(weight=w, label_smoothing=e), one term of its
// sum: -(1 - e) w[label] log(p[label]) - e mean(w log(p)). The mean's divisor is the sum of
// w[label]. Without weights all are 1.
template <class S>
double weighted_cross_entropy(const S* x, std::int64_t count, std::int64_t label,
                              std::span<const double> weights, double smoothing, S weight,
                              S* gradient);

// -w[label] (1 - p[label])^gamma log(p[label]) (Lin et al. 2017, equation 5).
template <class S>
double focal_loss(const S* x, std::int64_t count, std::int64_t label,
                  std::span<const double> weights, double gamma, S weight, S* gradient);

// mean(-w t (1 - s)^gamma log(s) - (1 - t) s^gamma log(1 - s)) with s = sigmoid(x): with gamma 0
// torch.nn.BCEWithLogitsLoss(pos_weight=w), else Lin et al.'s focal loss of each label.
template <class S>
double weighted_binary_cross_entropy(const S* x, const float* targets, std::int64_t count,
                                     std::span<const double> weights, double gamma, S weight,
                                     S* gradient);

// What an example has to give: one of them, by the problem.
struct Wanted {
  std::int32_t label = 0;
  const float* targets = nullptr;  // [count]
};

// The term of an example with outputs x[count]. gradient: see loss.h.
template <class S>
double label_loss(Problem problem, const LossSettings& settings, const Wanted& wanted, const S* x,
                  std::int64_t count, S weight, S* gradient);

// What an example adds to the divisor of the mean: with weights that of its only label, else 1.
double label_terms(Problem problem, const LossSettings& settings, std::int32_t label);

// The mean over examples with outputs [N, C], as training computes it.
double mean_loss(Problem problem, const Examples& examples, std::span<const float> outputs,
                 const LossSettings& settings = {});
// The loss of one of them, without weights and other settings.
double example_loss(Problem problem, const Examples& examples, std::span<const float> outputs,
                    std::size_t example);

}  // namespace dtl::trainer
