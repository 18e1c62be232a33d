// Losses and their gradients in closed form. Each works on a copy of the rows in double; a chain of
// copies (cut, divided by the length) leads back to the embeddings.
#include "trainer/model/embedding_loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "trainer/maths/gemm.h"
#include "trainer/maths/plain_nan.h"
#include "trainer/model/unit_rows.h"

namespace dtl::trainer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastCosineLength = 1e-8;  // of torch's cosine_similarity
// Anchors whose scores are in memory at once: 256 anchors and 100,000 texts take 200 MiB.
constexpr std::int64_t kAnchorsAtOnce = 256;

struct LossAndGradient {
  double loss = 0;
  Rows gradient;
};

// Which rows a contrast compares: `queries`, every texts-th row from this one on, with the rows
// from `first` to `last` of each example; query i should find row `wanted` of example i.
struct Contrast {
  std::int64_t query, first, last, wanted;
  double weight;
};

// Copies text `first` to `last` of all examples next to each other.
Rows collect(const Rows& rows, std::int64_t texts, std::int64_t first, std::int64_t last) {
  const std::int64_t count = last - first, examples = rows.rows / texts;
  Rows found(examples * count, rows.cols);
  for (std::int64_t e = 0; e < examples; ++e) {
    std::copy_n(rows.row(e * texts + first), count * rows.cols, found.row(e * count));
  }
  return found;
}

// Adds such rows back.
void spread(const Rows& from, std::int64_t texts, std::int64_t first, std::int64_t last, Rows& to) {
  const std::int64_t count = last - first, examples = to.rows / texts;
  for (std::int64_t e = 0; e < examples; ++e) {
    const double* source = from.row(e * count);
    double* target = to.row(e * texts + first);
    for (std::int64_t i = 0; i < count * to.cols; ++i) target[i] += source[i];
  }
}

// Scores of one query become the gradient of its cross entropy, which is returned.
double cross_entropy_of(double* scores, std::int64_t count, std::int64_t wanted, double weight) {
  const double highest = *std::max_element(scores, scores + count);
  const double right = scores[wanted] - highest;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += scores[i] = std::exp(scores[i] - highest);
  for (std::int64_t i = 0; i < count; ++i) scores[i] *= weight / sum;
  scores[wanted] -= weight;
  return std::log(sum) - right;
}

// Adds the mean cross entropy over queries, times the contrast's weight, to `sum`. The products are
// those of matrices: a query with each candidate.
void add_contrast(const Contrast& contrast, double scale, const Rows& unit, std::int64_t texts,
                  LossAndGradient& sum) {
  const std::int64_t E = unit.rows / texts, D = unit.cols;
  const Rows queries = collect(unit, texts, contrast.query, contrast.query + 1);
  const Rows candidates = collect(unit, texts, contrast.first, contrast.last);
  const std::int64_t each = contrast.last - contrast.first, C = candidates.rows;
  Rows dqueries(E, D), dcandidates(C, D), scores(std::min(E, kAnchorsAtOnce), C);
  const double weight = contrast.weight / static_cast<double>(E);
  for (std::int64_t begin = 0; begin < E; begin += kAnchorsAtOnce) {
    const std::int64_t count = std::min(kAnchorsAtOnce, E - begin);
    gemm<double>({count, C, D}, scale, {queries.row(begin), D},
                 {candidates.values.data(), D, Op::kTranspose}, 0.0, {scores.values.data(), C});
    for (std::int64_t q = 0; q < count; ++q) {
      const std::int64_t wanted = (begin + q) * each + contrast.wanted - contrast.first;
      sum.loss += weight * cross_entropy_of(scores.row(q), C, wanted, weight);
    }
    gemm<double>({count, D, C}, scale, {scores.values.data(), C}, {candidates.values.data(), D},
                 0.0, {dqueries.row(begin), D});
    gemm<double>({C, D, count}, scale, {scores.values.data(), C, Op::kTranspose},
                 {queries.row(begin), D}, 1.0, {dcandidates.values.data(), D});
  }
  spread(dqueries, texts, contrast.query, contrast.query + 1, sum.gradient);
  spread(dcandidates, texts, contrast.first, contrast.last, sum.gradient);
}

LossAndGradient ranking_loss(const EmbeddingLossSettings& settings, const Rows& x,
                             std::int64_t texts) {
  const UnitRows unit(x, kLeastLength);
  LossAndGradient sum{0, Rows(x.rows, x.cols)};
  const double half = settings.symmetric ? 0.5 : 1;
  add_contrast({0, 1, texts, 1, half}, settings.scale, unit.rows, texts, sum);
  if (settings.symmetric) add_contrast({1, 0, 1, 0, half}, settings.scale, unit.rows, texts, sum);
  unit.backward(sum.gradient);
  return sum;
}

// The cosine of each example's first two rows.
std::vector<double> cosines(const Rows& unit, std::int64_t texts) {
  std::vector<double> found;
  for (std::int64_t r = 0; r < unit.rows; r += texts) {
    found.push_back(dot(unit.row(r), unit.row(r + 1), unit.cols));
  }
  return found;
}

// From the gradient at these cosines.
Rows cosine_gradient(const UnitRows& unit, std::int64_t texts,
                     const std::vector<double>& dcosines) {
  Rows d(unit.rows.rows, unit.rows.cols);
  for (std::size_t e = 0; e < dcosines.size(); ++e) {
    const std::int64_t one = static_cast<std::int64_t>(e) * texts, other = one + 1;
    for (std::int64_t c = 0; c < d.cols; ++c) {
      d.row(one)[c] = dcosines[e] * unit.rows.row(other)[c];
      d.row(other)[c] = dcosines[e] * unit.rows.row(one)[c];
    }
  }
  unit.backward(d);
  return d;
}

LossAndGradient cosine_loss(const Rows& x, std::int64_t texts, std::span<const float> targets) {
  const UnitRows unit(x, kLeastCosineLength);
  std::vector<double> values = cosines(unit.rows, texts);
  const auto count = static_cast<double>(values.size());
  double loss = 0;
  for (std::size_t e = 0; e < values.size(); ++e) {
    const double error = values[e] - static_cast<double>(targets[e]);
    loss += error * error / count;
    values[e] = 2 * error / count;
  }
  return {loss, cosine_gradient(unit, texts, values)};
}

// log(exp(x) + exp(y)); either may be -infinity.
double log_add(double x, double y) {
  const double highest = std::max(x, y);
  if (highest == -kInfinity) return highest;
  return highest + std::log1p(std::exp(std::min(x, y) - highest));
}

// With scores s in the order of their targets: above[i] is the logarithm of the sum of exp(-s_j)
// over higher targets, and below[j] that of exp(s_i) over lower ones. So the loss L = log(1 + sum_i
// exp(s_i + above_i)), dL/ds_i = exp(s_i + above_i - L) - exp(below_i - s_i - L).
LossAndGradient cosent_loss(const EmbeddingLossSettings& settings, const Rows& x,
                            std::int64_t texts, std::span<const float> targets) {
  const UnitRows unit(x, kLeastLength);
  std::vector<double> scores = cosines(unit.rows, texts);
  for (double& score : scores) score *= settings.scale;
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return targets[a] < targets[b]; });
  std::vector<double> above(scores.size()), below(scores.size());
  // Walks through the scores; a run of equal targets joins the sum after its last.
  const auto walk = [&](auto from, auto to, double sign, std::vector<double>& sums) {
    double sum = -kInfinity;
    while (from != to) {
      auto next = from;
      for (; next != to && targets[*next] == targets[*from]; ++next) sums[*next] = sum;
      for (; from != next; ++from) sum = log_add(sum, sign * scores[*from]);
    }
  };
  walk(order.rbegin(), order.rend(), -1.0, above);
  walk(order.begin(), order.end(), 1.0, below);
  double loss = 0;  // log(1)
  for (const std::size_t i : order) loss = log_add(loss, scores[i] + above[i]);
  std::vector<double> dcosines(scores.size());
  for (const std::size_t i : order) {
    dcosines[i] = settings.scale *
                  (std::exp(scores[i] + above[i] - loss) - std::exp(below[i] - scores[i] - loss));
  }
  return {loss, cosine_gradient(unit, texts, dcosines)};
}

// Adds sign times the gradient at a and b if da is not null, and returns the distance. The gradient
// of a norm at 0 is 0.
double add_distance(TripletDistance kind, std::int64_t count, const double* a, const double* b,
                    double factor, double* da, double* db) {
  double distance = 0;
  for (std::int64_t c = 0; c < count; ++c) {
    const double difference = a[c] - b[c];
    switch (kind) {
      case TripletDistance::kCosine:
        distance -= a[c] * b[c];
        break;
      case TripletDistance::kEuclidean:
        distance += difference * difference;
        break;
      case TripletDistance::kManhattan:
        distance += std::abs(difference);
        break;
    }
  }
  if (kind == TripletDistance::kCosine) distance += 1;
  if (kind == TripletDistance::kEuclidean) distance = std::sqrt(distance);
  for (std::int64_t c = 0; da && c < count; ++c) {
    if (kind == TripletDistance::kCosine) {
      da[c] -= factor * b[c];
      db[c] -= factor * a[c];
      continue;
    }
    const double difference = a[c] - b[c];
    const double sign = difference > 0 ? 1 : difference < 0 ? -1 : 0;
    const double step = kind == TripletDistance::kManhattan ? sign
                        : distance > 0                      ? difference / distance
                                                            : 0;
    da[c] += factor * step;
    db[c] -= factor * step;
  }
  return distance;
}

LossAndGradient triplet_loss(const EmbeddingLossSettings& settings, const Rows& x,
                             std::int64_t texts) {
  const bool cosine = settings.distance == TripletDistance::kCosine;
  const UnitRows unit(x, kLeastLength);
  const Rows& rows = cosine ? unit.rows : x;
  LossAndGradient sum{0, Rows(x.rows, x.cols)};
  const double weight = static_cast<double>(texts) / static_cast<double>(x.rows);
  for (std::int64_t r = 0; r < x.rows; r += texts) {
    const auto add = [&](std::int64_t other, double factor, bool gradient) {
      return add_distance(settings.distance, x.cols, rows.row(r), rows.row(r + other), factor,
                          gradient ? sum.gradient.row(r) : nullptr, sum.gradient.row(r + other));
    };
    const double excess = add(1, 0, false) - add(2, 0, false) + settings.margin;
    if (!(excess > 0)) {
      if (std::isnan(excess)) sum.loss = excess;
      continue;
    }
    sum.loss += weight * excess;
    add(1, weight, true);
    add(2, -weight, true);
  }
  if (cosine) unit.backward(sum.gradient);
  return sum;
}

LossAndGradient loss_of(const EmbeddingLossSettings& settings, const Rows& x, std::int64_t texts,
                        std::span<const float> targets) {
  switch (settings.kind) {
    case EmbeddingLoss::kRanking:
      return ranking_loss(settings, x, texts);
    case EmbeddingLoss::kCosine:
      return cosine_loss(x, texts, targets);
    case EmbeddingLoss::kCosent:
      return cosent_loss(settings, x, texts, targets);
    case EmbeddingLoss::kTriplet:
      return triplet_loss(settings, x, texts);
  }
  __builtin_unreachable();
}

// The first `dimensions` numbers of each row.
template <class S>
Rows cut(EmbeddingShape shape, const S* embeddings, std::int64_t dimensions) {
  Rows rows(shape.rows(), dimensions);
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    std::transform(embeddings + r * shape.dimensions,
                   embeddings + r * shape.dimensions + dimensions, rows.row(r),
                   [](S value) { return static_cast<double>(value); });
  }
  return rows;
}

bool needs_targets(EmbeddingLoss kind) {
  return kind == EmbeddingLoss::kCosine || kind == EmbeddingLoss::kCosent;
}

}  // namespace

template <class S>
double embedding_loss(const EmbeddingLossSettings& settings, EmbeddingShape shape,
                      const S* embeddings, std::span<const float> targets, S weight, S* gradient) {
  assert(shape.texts >= (settings.kind == EmbeddingLoss::kTriplet ? 3 : 2));
  assert(!needs_targets(settings.kind) || std::ssize(targets) == shape.examples);
  if (shape.examples == 0) return 0;
  const std::size_t sizes = std::max<std::size_t>(1, settings.dimensions.size());
  Rows total(shape.rows(), shape.dimensions);
  double loss = 0;
  for (std::size_t i = 0; i < sizes; ++i) {
    const bool whole = settings.dimensions.empty();
    const std::int64_t dimensions = whole ? shape.dimensions : settings.dimensions[i];
    const double share = settings.dimension_weights.empty() ? 1 : settings.dimension_weights[i];
    const Rows x = cut(shape, embeddings, dimensions);
    const UnitRows unit(x, kLeastLength);
    LossAndGradient part = loss_of(settings, whole ? x : unit.rows, shape.texts, targets);
    if (!whole) unit.backward(part.gradient);
    loss += share * part.loss;
    for (std::int64_t r = 0; r < total.rows; ++r) {
      for (std::int64_t c = 0; c < dimensions; ++c) {
        total.row(r)[c] += share * part.gradient.row(r)[c];
      }
    }
  }
  if (gradient) {
    std::transform(total.values.begin(), total.values.end(), gradient,
                   [&](double value) { return static_cast<S>(value) * weight; });
  }
  return plain_nan(loss);
}

double grouped_embedding_loss(const EmbeddingLossSettings& settings, const Examples& examples,
                              std::int64_t group, std::span<const float> embeddings) {
  if (examples.size() == 0) return 0;
  const std::int64_t texts = examples.texts;
  const std::int64_t D = std::ssize(embeddings) / (examples.size() * texts);
  double sum = 0;
  for (std::int64_t begin = 0; begin < examples.size(); begin += group) {
    const std::int64_t count = std::min(group, examples.size() - begin);
    const std::span<const float> targets =
        needs_targets(settings.kind)
            ? std::span(examples.targets)
                  .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count))
            : std::span<const float>{};
    sum += static_cast<double>(count) * embedding_loss<float>(settings, {count, texts, D},
                                                              embeddings.data() + begin * texts * D,
                                                              targets, 1.0F, nullptr);
  }
  return sum / static_cast<double>(examples.size());
}

std::string describe(const EmbeddingLossSettings& settings) {
  std::string text;
  switch (settings.kind) {
    case EmbeddingLoss::kRanking:
      text = fmt::format("ranking, scale {}{}", settings.scale,
                         settings.symmetric ? ", symmetric" : "");
      break;
    case EmbeddingLoss::kCosine:
      text = "cosine";
      break;
    case EmbeddingLoss::kCosent:
      text = fmt::format("cosent, scale {}", settings.scale);
      break;
    case EmbeddingLoss::kTriplet: {
      const char* const distances[] = {"cosine", "euclidean", "manhattan"};
      text = fmt::format("triplet, {} distance, margin {}",
                         distances[static_cast<std::size_t>(settings.distance)], settings.margin);
      break;
    }
  }
  if (settings.dimensions.empty()) return text;
  text += fmt::format(", dimensions {}", fmt::join(settings.dimensions, " "));
  const std::vector<double>& weights = settings.dimension_weights;
  if (std::any_of(weights.begin(), weights.end(), [](double weight) { return weight != 1; })) {
    text += fmt::format(", weights {}", fmt::join(weights, " "));
  }
  return text;
}

template double embedding_loss<float>(const EmbeddingLossSettings&, EmbeddingShape, const float*,
                                      std::span<const float>, float, float*);
template double embedding_loss<double>(const EmbeddingLossSettings&, EmbeddingShape, const double*,
                                       std::span<const float>, double, double*);

}  // namespace dtl::trainer
