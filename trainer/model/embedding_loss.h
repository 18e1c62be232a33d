#pragma once
// Losses of embeddings. Each is one number for all examples together, since in-batch negatives and
// rankings join every example with every other. Definitions as in sentence-transformers:
//
//   kRanking  MultipleNegativesRankingLoss: the cross entropy of scale * cosine of an anchor with
//   all
//             positives and negatives of all examples, where its own positive is right; mean over
//             anchors. symmetric: the mean of that and of the same from positives to all anchors.
//   kCosine   CosineSimilarityLoss: mean((cosine - target)^2).
//   kCosent   CoSENTLoss: log(1 + sum of exp(scale * (cosine_i - cosine_j)) over target_i <
//   target_j). kTriplet  TripletLoss: mean(max(0, distance to positive - distance to negative +
//   margin)).
//
// dimensions (MatryoshkaLoss): the weighted sum of the losses of embeddings that are cut to so many
// numbers and divided by their length. Equal texts are not treated specially. Pure functions, which
// compute in double. Values and shapes must be right: callers check them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/examples.h"

namespace dtl::trainer {

enum class EmbeddingLoss { kRanking, kCosine, kCosent, kTriplet };
// Cosine: 1 - cosine. Euclidean and Manhattan: the L2 and the L1 norm of the difference.
enum class TripletDistance { kCosine, kEuclidean, kManhattan };

struct EmbeddingLossSettings {
  EmbeddingLoss kind = EmbeddingLoss::kRanking;
  double scale = 20;                                       // kRanking, kCosent; above 0
  bool symmetric = false;                                  // kRanking
  double margin = 5;                                       // kTriplet
  TripletDistance distance = TripletDistance::kEuclidean;  // kTriplet
  std::vector<int> dimensions = {};                        // 1 to D each; empty: D alone, as it is
  std::vector<double> dimension_weights = {};              // one for each of them; empty: all 1
};

// Of E examples with `texts` rows each: the anchor (or the first of a scored pair), the positive
// (or the second), negatives. kRanking has at least 2 of them, pairs have 2 and triplets 3.
struct EmbeddingShape {
  std::int64_t examples = 0, texts = 0, dimensions = 0;
  std::int64_t rows() const { return examples * texts; }
};

// embeddings [E * texts, D]; targets [E] for kCosine and kCosent, otherwise empty. gradient, of the
// embeddings' shape and perhaps null, becomes weight * the loss's gradient. 0 without examples.
template <class S>
double embedding_loss(const EmbeddingLossSettings& settings, EmbeddingShape shape,
                      const S* embeddings, std::span<const float> targets, S weight, S* gradient);

// The loss of a whole data set: the mean, by examples, of the losses of groups of `group` examples
// that follow each other; the last group may be smaller. embeddings [texts, D], as predict() gives
// them. A larger group has more negatives, so losses of different groups are not comparable.
double grouped_embedding_loss(const EmbeddingLossSettings& settings, const Examples& examples,
                              std::int64_t group, std::span<const float> embeddings);

// "ranking, scale 20, symmetric": all that changes the loss's value. For messages and to compare
// runs, so what it says of equal settings must never change.
std::string describe(const EmbeddingLossSettings& settings);

}  // namespace dtl::trainer
