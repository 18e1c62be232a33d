#include "trainer/layers/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl::trainer::batch_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Three texts of 3, 1 and 2 tokens.
Examples three_texts() {
  Examples examples;
  examples.ids = {11, 12, 13, 21, 31, 32};
  examples.types = {0, 1, 1, 0, 0, 1};
  examples.starts = {0, 3, 4, 6};
  return examples;
}

const std::vector<std::int64_t> kThirdAndFirst{2, 0};

TEST(Batch, LaysTheChosenTextsOneBehindTheOther) {
  const Batch batch = make_batch(three_texts(), kThirdAndFirst);
  EXPECT_THAT(batch.ids, ElementsAre(31, 32, 11, 12, 13));
  EXPECT_THAT(batch.types, ElementsAre(0, 1, 0, 1, 1));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(batch.starts, ElementsAre(0, 2, 5));
  EXPECT_THAT(batch.own_lengths, ElementsAre(2, 3));
  EXPECT_THAT(batch.numbers, ElementsAre(2, 0));
}

TEST(Batch, FillsShorterTextsWithPadding) {
  const Batch batch = make_batch(three_texts(), kThirdAndFirst, {.length = 4, .token = 9});
  EXPECT_THAT(batch.ids, ElementsAre(31, 32, 9, 9, 11, 12, 13, 9));
  EXPECT_THAT(batch.types, ElementsAre(0, 1, 0, 0, 0, 1, 1, 0));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(batch.starts, ElementsAre(0, 4, 8));
  EXPECT_THAT(batch.own_lengths, ElementsAre(2, 3));
  EXPECT_EQ(batch.length(0), 4);
  EXPECT_EQ(batch.own_length(0), 2);
}

TEST(Batch, LeavesTextsLongerThanThePaddingAsTheyAre) {
  const Batch batch = make_batch(three_texts(), kThirdAndFirst, {.length = 2, .token = 9});
  EXPECT_THAT(batch.ids, ElementsAre(31, 32, 11, 12, 13));
  EXPECT_THAT(batch.own_lengths, ElementsAre(2, 3));
}

TEST(Batch, CarriesLabels) {
  Examples examples = three_texts();
  examples.labels = {5, 6, 7};
  const Batch batch = make_batch(examples, kThirdAndFirst);
  EXPECT_THAT(batch.labels, ElementsAre(7, 5));
  EXPECT_THAT(batch.targets, IsEmpty());
  EXPECT_THAT(batch.answer_starts, IsEmpty());
}

TEST(Batch, CarriesAllTargetsOfAText) {
  Examples examples = three_texts();
  examples.targets = {0, 1, 2, 3, 4, 5};
  EXPECT_THAT(make_batch(examples, kThirdAndFirst).targets, ElementsAre(4, 5, 0, 1));
}

TEST(Batch, CarriesAnswers) {
  Examples examples = three_texts();
  examples.answer_starts = {1, 0, 0};
  examples.answer_ends = {2, 0, 1};
  const Batch batch = make_batch(examples, kThirdAndFirst);
  EXPECT_THAT(batch.answer_starts, ElementsAre(0, 1));
  EXPECT_THAT(batch.answer_ends, ElementsAre(1, 2));
}

}  // namespace
}  // namespace dtl::trainer::batch_test
