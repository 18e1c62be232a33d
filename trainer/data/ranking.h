#pragma once
// How well scores rank positive examples above the others, with the formulas of scikit-learn. Pure
// functions; equal scores count as one step of the curve. NaN scores give NaN.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dtl::trainer {

// truth[i] != 0: example i is positive.
using PositiveFlags = std::span<const std::uint8_t>;
using RankedScores = std::span<const double>;

// The area under the ROC curve: the share of pairs of a positive and a negative example in which
// the positive one has the higher score; ties count half. NaN without both kinds.
double roc_auc(PositiveFlags truth, RankedScores scores);

// The sum over thresholds of (recall - previous recall) * precision; 0 without positive examples.
double average_precision(PositiveFlags truth, RankedScores scores);

// Of each column of scores [N, columns]: one label against all others.
using RankingFigure = double (*)(PositiveFlags, RankedScores);
std::vector<double> of_columns(RankingFigure figure, PositiveFlags truth, RankedScores scores,
                               std::size_t columns);
// Means over columns; weighted by their positive examples, a column without any has no part, and
// without any column with some the mean is 0.
double macro_mean(const std::vector<double>& values);
double weighted_mean(const std::vector<double>& values, PositiveFlags truth);

// One passage for a query. For the three figures, relevance is yes or no; all are 0 for a query
// without a relevant passage.
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

double average_precision(RankedPassages passages);

// Places from 1, the highest score first; in the order of the passages.
std::vector<std::size_t> places(RankedPassages passages);

}  // namespace dtl::trainer
