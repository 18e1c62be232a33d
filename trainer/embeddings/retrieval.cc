// Scores of a few queries with all passages at a time, by matrix products.
#include "trainer/embeddings/retrieval.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "trainer/embeddings/embedding_metrics.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/on_threads.h"

namespace dtl::trainer {
namespace {

constexpr std::int64_t kQueriesAtOnce = 16;  // 64 MiB of scores with a million passages
constexpr std::array<std::size_t, 4> kCuts = {1, 3, 5, 10};
constexpr std::size_t kCut = 10;  // of ndcg and mrr

// Between unit rows a cosine is a dot product, so one matrix product gives all scores of a block.
std::vector<float> unit_rows(const std::vector<std::int64_t>& rows,
                             std::span<const float> embeddings, std::int64_t D) {
  std::vector<float> units(rows.size() * static_cast<std::size_t>(D));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* row = embeddings.data() + rows[i] * D;
    const auto scale = static_cast<float>(1 / std::max(row_length(row, D), kShortest));
    float* unit = units.data() + static_cast<std::int64_t>(i) * D;
    for (std::int64_t d = 0; d < D; ++d) unit[d] = row[d] * scale;
  }
  return units;
}

Ranking rank_one(const RetrievalSet& set, std::size_t query, const float* scores) {
  // Equal scores are ordered too. Otherwise metrics would depend on the algorithm that selects.
  const auto ahead = [&](std::int32_t a, std::int32_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    return scores[i] != scores[j] ? scores[i] > scores[j] : set.order[i] < set.order[j];
  };
  Ranking ranking;
  ranking.best.resize(set.passages.size());
  std::iota(ranking.best.begin(), ranking.best.end(), 0);
  const std::vector<std::int32_t>& relevant = set.relevant[query];
  // Found among all passages: the first relevant one may be far behind the kRanked that are kept.
  ranking.relevant = *std::min_element(relevant.begin(), relevant.end(), ahead);
  ranking.relevant_rank =
      1 + std::count_if(ranking.best.begin(), ranking.best.end(),
                        [&](std::int32_t each) { return ahead(each, ranking.relevant); });
  const auto kept = static_cast<std::ptrdiff_t>(std::min(kRanked, ranking.best.size()));
  const auto end = ranking.best.begin() + kept;
  if (end != ranking.best.end()) {
    // Only those that are kept are worth sorting; a corpus may have a million passages.
    std::nth_element(ranking.best.begin(), end - 1, ranking.best.end(), ahead);
  }
  std::sort(ranking.best.begin(), end, ahead);
  ranking.best.resize(static_cast<std::size_t>(kept));
  // resize() would keep the memory for all passages, once for each query.
  ranking.best.shrink_to_fit();
  return ranking;
}

double discounted(std::size_t rank) {  // from 0
  return 1 / std::log2(static_cast<double>(rank) + 2);
}

// Sums over queries.
struct Sums {
  std::array<double, kCuts.size()> accuracy{}, precision{}, recall{};
  double ndcg = 0, mrr = 0, map = 0;
};

void add_query(const Ranking& ranking, const std::vector<std::int32_t>& relevant, Sums& sums) {
  const std::vector<std::int32_t>& best = ranking.best;
  std::array<double, kCuts.size()> hits{};
  double gain = 0, ideal = 0, found = 0, precisions = 0;
  // The best possible gain: all relevant passages in front, as many as the cut has places.
  for (std::size_t i = 0; i < std::min(kCut, relevant.size()); ++i) ideal += discounted(i);
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (std::find(relevant.begin(), relevant.end(), best[i]) == relevant.end()) continue;
    for (std::size_t c = 0; c < kCuts.size(); ++c) hits[c] += i < kCuts[c] ? 1 : 0;
    if (i < kCut) gain += discounted(i);
    if (i < kCut && found == 0) sums.mrr += 1 / static_cast<double>(i + 1);
    ++found;
    precisions += found / static_cast<double>(i + 1);
  }
  const auto count = static_cast<double>(relevant.size());
  for (std::size_t c = 0; c < kCuts.size(); ++c) {
    sums.accuracy[c] += hits[c] > 0 ? 1 : 0;
    sums.precision[c] += hits[c] / static_cast<double>(kCuts[c]);
    sums.recall[c] += hits[c] / count;
  }
  sums.ndcg += gain / ideal;
  // A query with more relevant passages than ranks are kept can still reach 1.
  sums.map += precisions / std::min(count, static_cast<double>(kRanked));
}

}  // namespace

std::vector<Ranking> rank_passages(const RetrievalSet& set, std::span<const float> embeddings,
                                   std::int64_t D, int threads) {
  const std::vector<float> queries = unit_rows(set.queries, embeddings, D);
  const std::vector<float> passages = unit_rows(set.passages, embeddings, D);
  const auto Q = static_cast<std::int64_t>(set.queries.size());
  const auto P = static_cast<std::int64_t>(set.passages.size());
  std::vector<Ranking> rankings(set.queries.size());
  const std::int64_t blocks = (Q + kQueriesAtOnce - 1) / kQueriesAtOnce;
  on_threads(static_cast<std::size_t>(blocks), threads, [&](std::size_t block) {
    const std::int64_t begin = static_cast<std::int64_t>(block) * kQueriesAtOnce;
    const std::int64_t count = std::min(kQueriesAtOnce, Q - begin);
    std::vector<float> scores(static_cast<std::size_t>(count * P));
    gemm<float>({count, P, D}, 1.0F, {queries.data() + begin * D, D},
                {passages.data(), D, Op::kTranspose}, 0.0F, {scores.data(), P});
    for (std::int64_t i = 0; i < count; ++i) {
      const auto query = static_cast<std::size_t>(begin + i);
      rankings[query] = rank_one(set, query, scores.data() + i * P);
    }
  });
  return rankings;
}

MetricList retrieval_metrics(const RetrievalSet& set, std::span<const Ranking> rankings) {
  Sums sums;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    add_query(rankings[i], set.relevant[i], sums);
  }
  // Without queries every figure is 0, and not NaN, which JSON cannot hold.
  const double count = std::max(1.0, static_cast<double>(rankings.size()));
  MetricList metrics;
  const auto add_cuts = [&](const char* name, const std::array<double, kCuts.size()>& values) {
    for (std::size_t c = 0; c < kCuts.size(); ++c) {
      metrics.emplace_back(fmt::format("cosine_{}@{}", name, kCuts[c]), values[c] / count);
    }
  };
  add_cuts("accuracy", sums.accuracy);
  add_cuts("precision", sums.precision);
  add_cuts("recall", sums.recall);
  metrics.emplace_back("cosine_ndcg@10", sums.ndcg / count);
  metrics.emplace_back("cosine_mrr@10", sums.mrr / count);
  metrics.emplace_back("cosine_map@100", sums.map / count);
  return metrics;
}

}  // namespace dtl::trainer
