#pragma once
// How well scores rank the passages of one query: 0 to 1. Pure functions. Scores are compared as
// they are; relevance is yes or no. All are 0 for a query without a relevant passage.

#include <cstddef>
#include <span>
#include <vector>

namespace dtl::trainer {

struct RankedPassage {
  double score = 0;
  bool relevant = false;
};
using RankedPassages = std::span<const RankedPassage>;

// 1 / the place of the first relevant passage, or 0 beyond place k. Of equal scores, later passages
// come first, as in sentence-transformers' CrossEncoderRerankingEvaluator.
double reciprocal_rank(RankedPassages passages, std::size_t k);

// Normalised discounted cumulative gain of the first k places (Järvelin and Kekäläinen 2002), with
// the mean gain for equal scores, as scikit-learn's ndcg_score.
double ndcg(RankedPassages passages, std::size_t k);

// That of data/ranking.h.
double average_precision(RankedPassages passages);

// Places from 1, the highest score first; in the order of the passages.
std::vector<std::size_t> places(RankedPassages passages);

}  // namespace dtl::trainer
