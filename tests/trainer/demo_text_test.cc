#include "trainer/data/demo_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/text.h"

namespace dtl::trainer::demo_text_test {
namespace {

// Naive Bayes on word counts with add-one smoothing: the best that single words can tell when they
// occur independently.
double bayes_accuracy(const TextDataset& train, const TextDataset& test) {
  std::map<std::string, std::map<std::string, double>> counts;
  std::map<std::string, double> totals;
  for (const TextExample& example : train.examples) {
    for (const std::string& word : split(example.first, ' ')) {
      ++counts[word][example.label];
      ++totals[example.label];
    }
  }
  int right = 0;
  for (const TextExample& example : test.examples) {
    double healthy = 0;
    for (const std::string& word : split(example.first, ' ')) {
      healthy += std::log((counts[word]["healthy"] + 1) / (totals["healthy"] + 1)) -
                 std::log((counts[word]["faulty"] + 1) / (totals["faulty"] + 1));
    }
    right += (healthy > 0) == (example.label == "healthy");
  }
  return right / static_cast<double>(test.examples.size());
}

// Logistic regression on word counts, by plain gradient ascent.
double logistic_accuracy(const TextDataset& train, const TextDataset& test) {
  std::map<std::string, double> weights;
  const auto score = [&](const TextExample& example) {
    double sum = weights["(bias)"];
    for (const std::string& word : split(example.first, ' ')) sum += weights[word];
    return sum;
  };
  for (int epoch = 0; epoch < 10; ++epoch) {
    for (const TextExample& example : train.examples) {
      const double step =
          0.05 * ((example.label == "healthy" ? 1 : 0) - 1 / (1 + std::exp(-score(example))));
      weights["(bias)"] += step;
      for (const std::string& word : split(example.first, ' ')) weights[word] += step;
    }
  }
  int right = 0;
  for (const TextExample& example : test.examples) {
    right += (score(example) > 0) == (example.label == "healthy");
  }
  return right / static_cast<double>(test.examples.size());
}

TEST(DemoText, CannotBeSolvedByCountingWords) {
  const TextDataset train = make_demo_text(1, 3000), test = make_demo_text(2, 1000);
  EXPECT_LE(bayes_accuracy(train, test), 0.60);
  EXPECT_LE(logistic_accuracy(train, test), 0.60);
}

bool is_one_of(const std::string& word, const std::string& words) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

// The label once more, from the text alone: a part is good when its word is good and not negated.
std::string label_of(const std::string& text) {
  bool healthy = true, negated = false;
  for (const std::string& word : split(text, ' ')) {
    if (is_one_of(word, "not never hardly")) negated = true;
    const bool good = is_one_of(word, "intact reliable sound perfect clean safe");
    const bool bad = is_one_of(word, "broken loose cracked rusty leaking stuck");
    if (!good && !bad) continue;
    healthy = healthy && good != negated;
    negated = false;
  }
  return healthy ? "healthy" : "faulty";
}

TEST(DemoText, HasALabelThatFollowsFromTheText) {
  for (const TextExample& example : make_demo_text(3, 2000).examples) {
    ASSERT_EQ(label_of(example.first), example.label) << example.first;
  }
}

TEST(DemoText, HasBothLabelsInEqualShares) {
  int healthy = 0;
  for (const TextExample& example : make_demo_text(4, 1000).examples) {
    healthy += example.label == "healthy";
  }
  EXPECT_EQ(healthy, 500);
}

TEST(DemoText, DependsOnTheSeedAlone) {
  EXPECT_EQ(make_demo_text(5, 10).examples[3].first, make_demo_text(5, 10).examples[3].first);
  EXPECT_NE(make_demo_text(5, 10).examples[3].first, make_demo_text(6, 10).examples[3].first);
}

}  // namespace
}  // namespace dtl::trainer::demo_text_test
