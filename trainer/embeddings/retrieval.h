#pragma once
// Ranks passages for queries by the cosine of their embeddings, and the figures of such rankings,
// as sentence-transformers' InformationRetrievalEvaluator defines them. Pure functions.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/metrics.h"

namespace dtl::trainer {

// What to rank: row numbers of the embeddings [rows, D]. Every query has a relevant passage.
struct RetrievalSet {
  std::vector<std::int64_t> queries, passages;
  std::vector<std::vector<std::int32_t>> relevant = {};  // of each query: indices into passages
  // Of passages with the same score, the one with the smaller number is first.
  std::vector<std::int32_t> order = {};
};

struct Ranking {
  std::vector<std::int32_t> best;  // indices into passages, the best ones first; at most kRanked
  std::int64_t relevant_rank = 0;  // of the first relevant passage among all, from 1
  std::int32_t relevant = 0;       // that passage
};
constexpr std::size_t kRanked = 100;  // map@100 needs as many

// One for each query; computed on `threads` threads. A row without length has cosine 0 to all.
std::vector<Ranking> rank_passages(const RetrievalSet& set, std::span<const float> embeddings,
                                   std::int64_t dimensions, int threads);

// cosine_accuracy@1, 3, 5, 10; precision and recall at the same; ndcg@10, mrr@10, map@100: means
// over the queries.
MetricList retrieval_metrics(const RetrievalSet& set, std::span<const Ranking> rankings);

}  // namespace dtl::trainer
