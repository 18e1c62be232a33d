// In double, with logarithms of probabilities that cannot overflow. The plain losses of loss.cc
// stay apart: without weights a run has the bits that it always had.
#include "trainer/model/label_loss.h"

#include <algorithm>
#include <cmath>

#include "trainer/maths/plain_nan.h"

namespace dtl::trainer {
namespace {

double weight_of(std::span<const double> weights, std::int64_t label) {
  return weights.empty() ? 1.0 : weights[static_cast<std::size_t>(label)];
}

// Softmax of x. The highest is subtracted, so exp() is at most 1.
template <class S>
class Softmax {
 public:
  Softmax(const S* x, std::int64_t count)
      : x_(x), highest_(static_cast<double>(*std::max_element(x, x + count))) {
    for (std::int64_t c = 0; c < count; ++c) sum_ += std::exp(centred(c));
    log_sum_ = std::log(sum_);
  }
  double log(std::int64_t c) const { return centred(c) - log_sum_; }
  double operator()(std::int64_t c) const { return std::exp(centred(c)) / sum_; }

 private:
  double centred(std::int64_t c) const { return static_cast<double>(x_[c]) - highest_; }
  const S* x_;
  double highest_, sum_ = 0, log_sum_ = 0;
};

// (1 - p)^gamma log(p) and its derivative by log(p): q^gamma - gamma q^(gamma - 1) p log(p).
struct Focused {
  double value, slope;
};
Focused focus(double log_p, double p, double q, double gamma) {
  if (gamma == 0) return {log_p, 1};
  if (q <= 0) return {0, 0};  // the limit for any gamma above 0
  const double power = std::pow(q, gamma);
  return {power * log_p, power - gamma * power / q * p * log_p};
}

}  // namespace

template <class S>
double weighted_cross_entropy(const S* x, std::int64_t count, std::int64_t label,
                              std::span<const double> weights, double smoothing, S weight,
                              S* gradient) {
  const Softmax<S> p(x, count);
  const double own = (1 - smoothing) * weight_of(weights, label);
  const double share = smoothing / static_cast<double>(count);
  double all = 0, loss = -own * p.log(label);
  // Smoothing asks for a little of every label, each with its own weight, as PyTorch does.
  for (std::int64_t c = 0; smoothing > 0 && c < count; ++c) {
    all += share * weight_of(weights, c);
    loss -= share * weight_of(weights, c) * p.log(c);
  }
  for (std::int64_t c = 0; gradient && c < count; ++c) {
    const double wanted = (c == label ? own : 0) + share * weight_of(weights, c);
    gradient[c] = static_cast<S>((own + all) * p(c) - wanted) * weight;
  }
  return loss;
}

template <class S>
double focal_loss(const S* x, std::int64_t count, std::int64_t label,
                  std::span<const double> weights, double gamma, S weight, S* gradient) {
  const Softmax<S> p(x, count);
  // 1 - p would cancel where the label is almost certain.
  double others = 0;
  for (std::int64_t c = 0; c < count; ++c) others += c == label ? 0 : p(c);
  const Focused focused = focus(p.log(label), p(label), others, gamma);
  const double own = weight_of(weights, label);
  for (std::int64_t c = 0; gradient && c < count; ++c) {
    // Of log(p[label]) by x[c].
    const double slope = c == label ? others : -p(c);
    gradient[c] = static_cast<S>(-own * focused.slope * slope) * weight;
  }
  return -own * focused.value;
}

template <class S>
double weighted_binary_cross_entropy(const S* x, const float* targets, std::int64_t count,
                                     std::span<const double> weights, double gamma, S weight,
                                     S* gradient) {
  double sum = 0;
  for (std::int64_t c = 0; c < count; ++c) {
    const auto value = static_cast<double>(x[c]), target = static_cast<double>(targets[c]);
    const double yes = 1 / (1 + std::exp(-value)), no = 1 / (1 + std::exp(value));
    // log(1 + exp(-|x|)): exp() of a negative number cannot overflow, and log1p is exact near 0.
    const double rest = std::log1p(std::exp(-std::abs(value)));
    const Focused on = focus(std::min(value, 0.0) - rest, yes, no, gamma);
    const Focused off = focus(std::min(-value, 0.0) - rest, no, yes, gamma);
    const double positive = weight_of(weights, c) * target, negative = 1 - target;
    sum -= positive * on.value + negative * off.value;
    if (!gradient) continue;
    // log(s) has the slope 1 - s, log(1 - s) the slope -s.
    const double slope = negative * off.slope * yes - positive * on.slope * no;
    gradient[c] = static_cast<S>(slope / static_cast<double>(count)) * weight;
  }
  return sum / static_cast<double>(count);
}

template <class S>
double label_loss(Problem problem, const LossSettings& settings, const Wanted& wanted, const S* x,
                  std::int64_t count, S weight, S* gradient) {
  const std::span<const double> weights = settings.label_weights;
  const bool plain = weights.empty() && settings.focal_gamma == 0;
  switch (problem) {
    case Problem::kSingleLabel:
      if (plain) {
        return cross_entropy(x, count, 1, wanted.label, settings.label_smoothing, weight, gradient);
      }
      return settings.focal_gamma > 0
                 ? focal_loss(x, count, wanted.label, weights, settings.focal_gamma, weight,
                              gradient)
                 : weighted_cross_entropy(x, count, wanted.label, weights, settings.label_smoothing,
                                          weight, gradient);
    case Problem::kMultiLabel:
      return plain ? binary_cross_entropy(x, wanted.targets, count, weight, gradient)
                   : weighted_binary_cross_entropy(x, wanted.targets, count, weights,
                                                   settings.focal_gamma, weight, gradient);
    case Problem::kRegression:
      return squared_error(x, wanted.targets, count, weight, gradient);
  }
  __builtin_unreachable();
}

double label_terms(Problem problem, const LossSettings& settings, std::int32_t label) {
  return problem == Problem::kSingleLabel ? weight_of(settings.label_weights, label) : 1.0;
}

double mean_loss(Problem problem, const Examples& examples, std::span<const float> outputs,
                 const LossSettings& settings) {
  const auto size = static_cast<std::size_t>(
      problem == Problem::kSingleLabel ? std::ssize(examples.labels) : examples.size());
  if (size == 0) return 0;
  const std::size_t count = outputs.size() / size;
  // Divided by the sum of the weights and not by their number, as PyTorch's weighted mean is.
  double sum = 0, terms = 0;
  for (std::size_t i = 0; i < size; ++i) {
    Wanted wanted;
    if (problem == Problem::kSingleLabel) wanted.label = examples.labels[i];
    if (problem != Problem::kSingleLabel) wanted.targets = &examples.targets[i * count];
    sum += label_loss<float>(problem, settings, wanted, &outputs[i * count],
                             static_cast<std::int64_t>(count), 1.0F, nullptr);
    terms += label_terms(problem, settings, wanted.label);
  }
  return plain_nan(sum / terms);
}

double example_loss(Problem problem, const Examples& examples, std::span<const float> outputs,
                    std::size_t example) {
  const std::size_t count = outputs.size() / static_cast<std::size_t>(examples.size());
  Wanted wanted;
  if (problem == Problem::kSingleLabel) wanted.label = examples.labels[example];
  if (problem != Problem::kSingleLabel) wanted.targets = &examples.targets[example * count];
  return plain_nan(label_loss<float>(problem, {}, wanted, &outputs[example * count],
                                     static_cast<std::int64_t>(count), 1.0F, nullptr));
}

template double label_loss<float>(Problem, const LossSettings&, const Wanted&, const float*,
                                  std::int64_t, float, float*);
template double label_loss<double>(Problem, const LossSettings&, const Wanted&, const double*,
                                   std::int64_t, double, double*);
template double weighted_cross_entropy<double>(const double*, std::int64_t, std::int64_t,
                                               std::span<const double>, double, double, double*);
template double focal_loss<double>(const double*, std::int64_t, std::int64_t,
                                   std::span<const double>, double, double, double*);
template double weighted_binary_cross_entropy<double>(const double*, const float*, std::int64_t,
                                                      std::span<const double>, double, double,
                                                      double*);

}  // namespace dtl::trainer
