#include "trainer/data/wordpiece_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "trainer/data/demo_text.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer::wordpiece_trainer_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TextDataset texts(const std::vector<std::string>& lines) {
  TextDataset dataset;
  for (const std::string& line : lines) dataset.examples.push_back({line, "", "x"});
  return dataset;
}

TEST(WordPieceTrainer, StartsWithSpecialTokensAndCharactersThenMergesByFrequency) {
  // ab 5 times, abc 2 times: first a+##b (7), then ab+##c (2).
  EXPECT_THAT(learn_vocabulary(texts({"ab ab ab ab ab", "abc abc"}), {.size = 100}),
              ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "##a", "##b",
                          "##c", "ab", "abc"));
}

TEST(WordPieceTrainer, StopsAtTheSizeAskedFor) {
  EXPECT_EQ(learn_vocabulary(texts({"ab ab abc abc"}), {.size = 12}).size(), 12u);
}

TEST(WordPieceTrainer, DoesNotMergeWhatIsRare) {
  EXPECT_THAT(learn_vocabulary(texts({"abab xy"}), {.size = 100}), Not(Contains("xy")));
  EXPECT_THAT(learn_vocabulary(texts({"xy"}), {.size = 100, .min_frequency = 1}), Contains("xy"));
}

TEST(WordPieceTrainer, CountsOverlappingPairsOfARunOnce) {
  // a a a a: a+##a at the start, ##a+##a twice; the merged run is aa ##aa, then aaaa.
  const auto vocabulary = learn_vocabulary(texts({"aaaa aaaa aaaa"}), {.size = 100});
  EXPECT_THAT(vocabulary, Contains("aaaa"));
}

TEST(WordPieceTrainer, KeepsTheMostFrequentCharactersOnly) {
  const auto vocabulary =
      learn_vocabulary(texts({"aaa bbb cc", "zz a"}), {.size = 100, .alphabet_limit = 2});
  EXPECT_THAT(vocabulary, Contains("a"));
  EXPECT_THAT(vocabulary, Contains("b"));
  EXPECT_THAT(vocabulary, Not(Contains("c")));
}

TEST(WordPieceTrainer, KeepsOrLowersCase) {
  EXPECT_THAT(learn_vocabulary(texts({"Ab Ab"}), {.lower_case = false}), Contains("Ab"));
  EXPECT_THAT(learn_vocabulary(texts({"\u00C4b \u00C4b"}), {.lower_case = true}), Contains("ab"));
}

TEST(WordPieceTrainer, RefusesASizeBelowTheAlphabet) {
  EXPECT_THROW(learn_vocabulary(texts({"abcdef"}), {.size = 10}), Error);
}

TEST(WordPieceTrainer, LearnsEveryWordOfASmallLanguage) {
  const TextDataset dataset = make_demo_text(1, 2000);
  const std::vector<std::string> vocabulary = learn_vocabulary(dataset, {.size = 400});
  EXPECT_EQ(vocabulary, learn_vocabulary(dataset, {.size = 400}));
  EXPECT_EQ(std::set<std::string>(vocabulary.begin(), vocabulary.end()).size(), vocabulary.size());
  const Tokenizer tokenizer(vocabulary, true);
  EXPECT_EQ(tokenizer.encode("the old gearbox is not broken", 32).ids.size(), 8u);
}

}  // namespace
}  // namespace dtl::trainer::wordpiece_trainer_test
