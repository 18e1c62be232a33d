#include "trainer/model/embedding_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dtl::trainer::embedding_loss_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr std::int64_t kExamples = 7, kColumns = 6;

std::vector<double> random_rows(std::int64_t rows, std::int64_t columns) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (double& value : values) value = normal(random);
  return values;
}

// Some are equal.
const std::vector<float> kTargets{0.5F, -1, 1, 0.5F, 0, 0.25F, 1};

std::vector<EmbeddingLossSettings> every_loss() {
  std::vector<EmbeddingLossSettings> all;
  for (const EmbeddingLoss kind : {EmbeddingLoss::kRanking, EmbeddingLoss::kCosine,
                                   EmbeddingLoss::kCosent, EmbeddingLoss::kTriplet}) {
    all.push_back({.kind = kind, .scale = 3});
  }
  all.push_back({.scale = 3, .symmetric = true});
  for (const TripletDistance distance : {TripletDistance::kCosine, TripletDistance::kManhattan}) {
    all.push_back({.kind = EmbeddingLoss::kTriplet, .margin = 0.5, .distance = distance});
  }
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i) {
    all.push_back(all[i]);
    all.back().dimensions = {kColumns, 4, 2};
    all.push_back(all.back());
    all.back().dimension_weights = {1, 0.5, 2};
  }
  return all;
}

bool has_targets(const EmbeddingLossSettings& settings) {
  return settings.kind == EmbeddingLoss::kCosine || settings.kind == EmbeddingLoss::kCosent;
}

double loss_of(const EmbeddingLossSettings& settings, std::int64_t texts,
               const std::vector<double>& rows, double* gradient = nullptr, double weight = 1) {
  const auto targets =
      has_targets(settings) ? std::span<const float>(kTargets) : std::span<const float>{};
  return embedding_loss<double>(settings, {kExamples, texts, kColumns}, rows.data(), targets,
                                weight, gradient);
}

TEST(EmbeddingLoss, HasTheGradientOfFiniteDifferences) {
  for (const EmbeddingLossSettings& settings : every_loss()) {
    const bool ranking = settings.kind == EmbeddingLoss::kRanking;
    const bool triplet = settings.kind == EmbeddingLoss::kTriplet;
    for (const std::int64_t texts : {triplet ? 3 : 2, ranking ? 4 : triplet ? 3 : 2}) {
      std::vector<double> rows = random_rows(kExamples * texts, kColumns);
      std::vector<double> gradient(rows.size());
      loss_of(settings, texts, rows, gradient.data(), 0.5);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double before = rows[i], h = 1e-5;
        rows[i] = before + h;
        const double up = loss_of(settings, texts, rows);
        rows[i] = before - h;
        const double down = loss_of(settings, texts, rows);
        rows[i] = before;
        ASSERT_NEAR(gradient[i], 0.5 * (up - down) / (2 * h), 1e-8)
            << describe(settings) << ", " << texts << " texts, element " << i;
      }
    }
  }
}

// Two pairs of unit vectors with the cosines 1, 0 and 0, 1.
TEST(EmbeddingLoss, RanksAmongTheTextsOfAllExamples) {
  const std::vector<double> pairs{2, 0, 3, 0, 0, 1, 0, 5};
  const EmbeddingLossSettings settings{.scale = 2};
  const double two = std::log(1 + std::exp(-2.0));
  EXPECT_NEAR(embedding_loss<double>(settings, {2, 2, 2}, pairs.data(), {}, 1.0, nullptr), two,
              1e-12);
  // With a hard negative in each example there are four candidates: cosines 1, 0, 0, -1.
  const std::vector<double> triplets{2, 0, 3, 0, -1, 0, 0, 1, 0, 5, 0, -1};
  const double four = std::log(1 + 2 * std::exp(-2.0) + std::exp(-4.0));
  EXPECT_NEAR(embedding_loss<double>(settings, {2, 3, 2}, triplets.data(), {}, 1.0, nullptr), four,
              1e-12);
  // From the positives there are the two anchors alone.
  const EmbeddingLossSettings both{.scale = 2, .symmetric = true};
  EXPECT_NEAR(embedding_loss<double>(both, {2, 3, 2}, triplets.data(), {}, 1.0, nullptr),
              (four + two) / 2, 1e-12);
}

TEST(EmbeddingLoss, ComparesCosinesWithTargets) {
  const std::vector<double> pairs{2, 0, 3, 0, 1, 0, 0, 5};  // cosines 1 and 0
  const std::vector<float> targets{0.5F, 0.25F};
  EXPECT_NEAR(embedding_loss<double>({.kind = EmbeddingLoss::kCosine}, {2, 2, 2}, pairs.data(),
                                     targets, 1.0, nullptr),
              (0.25 + 0.0625) / 2, 1e-12);
}

TEST(EmbeddingLoss, ComparesOnlyPairsOfDifferentTargets) {
  const std::vector<double> pairs{2, 0, 3, 0, 1, 0, 0, 5, 1, 0, -2, 0};  // cosines 1, 0, -1
  const EmbeddingLossSettings settings{.kind = EmbeddingLoss::kCosent, .scale = 2};
  const auto loss = [&](const std::vector<float>& targets) {
    return embedding_loss<double>(settings, {3, 2, 2}, pairs.data(), targets, 1.0, nullptr);
  };
  EXPECT_NEAR(loss({0.5F, 0.5F, 0.5F}), 0, 1e-12);
  EXPECT_NEAR(loss({0, 1, 1}), std::log(1 + std::exp(2.0) + std::exp(4.0)), 1e-12);
  EXPECT_NEAR(loss({1, 0, 0}), std::log(1 + std::exp(-2.0) + std::exp(-4.0)), 1e-12);
}

TEST(EmbeddingLoss, KeepsNegativesAtADistance) {
  const std::vector<double> triplet{0, 0, 3, 4, 0, 6};
  const auto loss = [&](TripletDistance distance, double margin) {
    const EmbeddingLossSettings settings{
        .kind = EmbeddingLoss::kTriplet, .margin = margin, .distance = distance};
    return embedding_loss<double>(settings, {1, 3, 2}, triplet.data(), {}, 1.0, nullptr);
  };
  EXPECT_NEAR(loss(TripletDistance::kEuclidean, 5), 5 - 6 + 5, 1e-12);
  EXPECT_NEAR(loss(TripletDistance::kManhattan, 5), 7 - 6 + 5, 1e-12);
  EXPECT_EQ(loss(TripletDistance::kEuclidean, 0.5), 0);
}

TEST(EmbeddingLoss, HasNoGradientBetweenEqualTexts) {
  const std::vector<double> equal{1, 2, 1, 2, 1, 2};
  for (const TripletDistance distance :
       {TripletDistance::kEuclidean, TripletDistance::kManhattan}) {
    std::vector<double> gradient(6, 9);
    const EmbeddingLossSettings settings{.kind = EmbeddingLoss::kTriplet, .distance = distance};
    EXPECT_EQ(embedding_loss<double>(settings, {1, 3, 2}, equal.data(), {}, 1.0, gradient.data()),
              5);
    EXPECT_THAT(gradient, ElementsAre(0, 0, 0, 0, 0, 0));
  }
}

// As long as the numbers that are cut off do not matter.
TEST(EmbeddingLoss, CutsEmbeddingsToEachDimension) {
  const std::vector<double> rows{2, 0, 7, 3, 0, 1, 0, 1, 2, 0, 5, 3};
  const std::vector<double> cut{2, 0, 3, 0, 0, 1, 0, 5};
  EmbeddingLossSettings settings;
  const double whole = embedding_loss<double>(settings, {2, 2, 3}, rows.data(), {}, 1.0, nullptr);
  const double short_one =
      embedding_loss<double>(settings, {2, 2, 2}, cut.data(), {}, 1.0, nullptr);
  settings.dimensions = {3, 2};
  settings.dimension_weights = {0.5, 2};
  EXPECT_THAT(embedding_loss<double>(settings, {2, 2, 3}, rows.data(), {}, 1.0, nullptr),
              DoubleNear(0.5 * whole + 2 * short_one, 1e-12));
}

// More anchors than are compared at once.
TEST(EmbeddingLoss, IsTheSameForMoreAnchorsThanFitInABlock) {
  constexpr std::int64_t examples = 700;
  const std::vector<double> rows = random_rows(2 * examples, 3);
  double expected = 0;
  const auto cosine = [&](std::int64_t a, std::int64_t b) {
    double ab = 0, aa = 0, bb = 0;
    for (std::int64_t c = 0; c < 3; ++c) {
      const double x = rows[static_cast<std::size_t>(a * 3 + c)];
      const double y = rows[static_cast<std::size_t>(b * 3 + c)];
      ab += x * y;
      aa += x * x;
      bb += y * y;
    }
    return ab / std::sqrt(aa * bb);
  };
  for (std::int64_t e = 0; e < examples; ++e) {
    double sum = 0;
    for (std::int64_t d = 0; d < examples; ++d) sum += std::exp(20 * cosine(2 * e, 2 * d + 1));
    expected += std::log(sum) - 20 * cosine(2 * e, 2 * e + 1);
  }
  EXPECT_NEAR(embedding_loss<double>({}, {examples, 2, 3}, rows.data(), {}, 1.0, nullptr),
              expected / examples, 1e-9);
}

TEST(EmbeddingLoss, OfADataSetIsTheMeanOverGroups) {
  const std::vector<double> rows = random_rows(5 * 2, kColumns);
  const std::vector<float> embeddings(rows.begin(), rows.end());
  Examples examples;
  examples.texts = 2;
  for (int i = 0; i <= 10; ++i) examples.starts.push_back(i);
  examples.targets = {0, 0.25F, 0.5F, 0.75F, 1};
  const EmbeddingLossSettings settings{.kind = EmbeddingLoss::kCosent};
  const auto part = [&](std::int64_t begin, std::int64_t count) {
    return embedding_loss<float>(
        settings, {count, 2, kColumns}, embeddings.data() + begin * 2 * kColumns,
        std::span(examples.targets)
            .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
        1.0F, nullptr);
  };
  EXPECT_NEAR(grouped_embedding_loss(settings, examples, 3, embeddings),
              (3 * part(0, 3) + 2 * part(3, 2)) / 5, 1e-12);
  EXPECT_EQ(grouped_embedding_loss(settings, examples, 8, embeddings), part(0, 5));
}

TEST(EmbeddingLoss, DescribesWhatChangesItsValue) {
  EXPECT_EQ(describe({}), "ranking, scale 20");
  EXPECT_EQ(describe({.symmetric = true, .margin = 1}), "ranking, scale 20, symmetric");
  EXPECT_EQ(describe({.kind = EmbeddingLoss::kCosent, .scale = 0.5, .dimensions = {64, 32}}),
            "cosent, scale 0.5, dimensions 64 32");
  EXPECT_EQ(describe({.kind = EmbeddingLoss::kCosine, .dimensions = {8}, .dimension_weights = {1}}),
            "cosine, dimensions 8");
  EXPECT_EQ(describe({.kind = EmbeddingLoss::kTriplet,
                      .margin = 0.1,
                      .dimensions = {8, 4},
                      .dimension_weights = {1, 0.5}}),
            "triplet, euclidean distance, margin 0.1, dimensions 8 4, weights 1 0.5");
}

}  // namespace
}  // namespace dtl::trainer::embedding_loss_test
