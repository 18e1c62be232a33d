#include "trainer/embeddings/retrieval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "trainer/embeddings/embedding_metrics.h"
#include "trainer/embeddings/npy.h"
#include "trainer/maths/gemm.h"

namespace dtl::trainer::retrieval_test {
namespace {

using testing::ElementsAre;

double figure(const MetricList& metrics, const std::string& name) {
  for (const auto& [each, value] : metrics) {
    if (each == name) return value;
  }
  ADD_FAILURE() << name;
  return 0;
}

// Passages at 10, 20 .. degrees; the query at 0 degrees, so they rank in their order.
TEST(Retrieval, RanksByCosineAndCountsRelevantPassages) {
  prepare_gemm();
  std::vector<float> embeddings = {3, 0};
  RetrievalSet set{.queries = {0}, .passages = {}, .relevant = {{1, 3}}, .order = {}};
  for (int i = 1; i <= 8; ++i) {
    const double angle = i * 0.17;
    embeddings.push_back(static_cast<float>(i * std::cos(angle)));
    embeddings.push_back(static_cast<float>(i * std::sin(angle)));
    set.passages.push_back(i);
    set.order.push_back(i - 1);
  }
  const std::vector<Ranking> rankings = rank_passages(set, embeddings, 2, 2);
  EXPECT_THAT(rankings[0].best, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(rankings[0].relevant, 1);
  EXPECT_EQ(rankings[0].relevant_rank, 2);
  const MetricList metrics = retrieval_metrics(set, rankings);
  EXPECT_EQ(figure(metrics, "cosine_accuracy@1"), 0);
  EXPECT_EQ(figure(metrics, "cosine_accuracy@3"), 1);
  EXPECT_DOUBLE_EQ(figure(metrics, "cosine_precision@3"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(figure(metrics, "cosine_recall@3"), 0.5);
  EXPECT_DOUBLE_EQ(figure(metrics, "cosine_recall@5"), 1);
  EXPECT_DOUBLE_EQ(figure(metrics, "cosine_mrr@10"), 0.5);
  EXPECT_DOUBLE_EQ(figure(metrics, "cosine_map@100"), (1.0 / 2 + 2.0 / 4) / 2);
  const double gain = 1 / std::log2(3) + 1 / std::log2(5), ideal = 1 + 1 / std::log2(3);
  EXPECT_DOUBLE_EQ(figure(metrics, "cosine_ndcg@10"), gain / ideal);
}

TEST(Retrieval, PutsTheSmallerIdFirstAmongEqualScores) {
  prepare_gemm();
  const std::vector<float> embeddings = {1, 0, 1, 0, 2, 0};
  const RetrievalSet set{.queries = {0}, .passages = {1, 2}, .relevant = {{0}}, .order = {1, 0}};
  EXPECT_THAT(rank_passages(set, embeddings, 2, 1)[0].best, ElementsAre(1, 0));
}

TEST(EmbeddingMetrics, AskEveryNegative) {
  // Anchor, positive, two negatives. In the second example one negative is nearer.
  const std::vector<float> values = {1, 0, 1, 0.1F, 0, 1, -1, 0, 1, 0, 0, 1, -1, 0, 1, 0.1F};
  const EmbeddingTable table{values, 4, 2};
  EXPECT_DOUBLE_EQ(figure(triplet_metrics(table), "cosine_accuracy"), 0.5);
}

TEST(EmbeddingMetrics, CorrelateCosinesWithScores) {
  const std::vector<float> values = {1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1};
  const std::vector<float> scores = {5, 4, 0};
  const MetricList metrics = similarity_metrics({values, 2, 2}, scores);
  EXPECT_DOUBLE_EQ(figure(metrics, "spearman_cosine"), 1);
  EXPECT_LT(figure(metrics, "pearson_cosine"), 1);
}

TEST(Npy, HasAHeaderOf64BytesOrMore) {
  const std::string header = npy_header({3, 2});
  EXPECT_EQ(header.size() % 64, 0U);
  EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_NE(header.find("'shape': (3, 2), }"), header.npos);
  EXPECT_NE(npy_header({5}).find("'shape': (5, ), }"), header.npos);
  const std::string bytes = npy_bytes({1}, {1.5F});
  float value = 0;
  std::memcpy(&value, bytes.data() + bytes.size() - sizeof value, sizeof value);
  EXPECT_EQ(value, 1.5F);
}

}  // namespace
}  // namespace dtl::trainer::retrieval_test
