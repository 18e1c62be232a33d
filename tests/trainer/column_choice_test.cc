#include "trainer/data/column_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace dtl::trainer::column_choice_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ColumnChoice choose(const std::string& lines) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(lines, '\n')) rows.push_back(split(line, ','));
  const std::vector<std::string> header = rows.front();
  rows.erase(rows.begin());
  const auto label = std::find(header.begin(), header.end(), "label");
  return choose_texts(header, label == header.end() ? -1 : static_cast<int>(label - header.begin()),
                      rows);
}

std::vector<int> chosen(const std::string& lines) {
  const ColumnChoice choice = choose(lines);
  return {choice.first, choice.second};
}

TEST(ColumnNamed, IsFoundExactlyOrWithoutBlanksOrInAnyCase) {
  const std::vector<std::string> header = {"Text", " label", "TEXT", "Score", ""};
  EXPECT_EQ(column_named(header, "TEXT"), 2);
  EXPECT_EQ(column_named(header, "text"), -1);  // which one?
  EXPECT_EQ(column_named(header, "label"), 1);
  EXPECT_EQ(column_named(header, "LABEL "), 1);
  EXPECT_EQ(column_named(header, "score"), 3);
  EXPECT_EQ(column_named(header, "stars"), -1);
  EXPECT_EQ(without_column({"a", ""}, "b"),
            "the columns are a, column 2 (no name); none is called 'b'");
  EXPECT_EQ(shown_columns(header), "Text,  label, TEXT, Score, column 5 (no name)");
}

TEST(ColumnChoice, GoesByTheUsualNames) {
  EXPECT_THAT(chosen("note,sentence2,sentence1,label\na b,c d,e f,1"), ElementsAre(2, 1));
  EXPECT_THAT(chosen("note,Sentence,label\na b,c d,1"), ElementsAre(1, -1));
  EXPECT_THAT(chosen("note,TEXT,label\na b,7,1"), ElementsAre(1, -1));
}

TEST(ColumnChoice, TakesNoIndexForAText) {
  EXPECT_THAT(chosen(",review,label\n0,so good,1\n1,so bad,0"), ElementsAre(1, -1));
  EXPECT_THAT(chosen("Unnamed: 0,review,label\nx y,so good,1\ny z,so bad,0"), ElementsAre(1, -1));
  EXPECT_THAT(chosen("ID,review,label\nx y,so good,1"), ElementsAre(1, -1));
}

TEST(ColumnChoice, TakesNoNumbersForATextNorDates) {
  EXPECT_THAT(chosen("rating,content,label\n4.5,so good,1\n1e-3,so bad,0\nnan,fair,0\n,fair,0"),
              ElementsAre(1, -1));
  EXPECT_THAT(chosen("day,share,content,label\n2026-01-31 10:00,40 %,so good,1"),
              ElementsAre(2, -1));
}

TEST(ColumnChoice, TakesNoIdentifiersForAText) {
  const std::string unique = "R1XA,good,1\nR2XB,bad,0\nQ3XC,fair,1";
  EXPECT_THAT(chosen("review_id,word,label\n" + unique), ElementsAre(1, -1));
  // What comes twice is a word, as "mp3" is.
  EXPECT_THAT(chosen("kind,word,label\n" + unique + "\nR1XA,good,0"), ElementsAre(0, 1));
}

TEST(ColumnChoice, JudgesNoColumnByOneRowOrNone) {
  EXPECT_THAT(chosen("key,label\nmp3,1"), ElementsAre(0, -1));
  EXPECT_THAT(chosen("id,review,label"), ElementsAre(1, -1));
}

TEST(ColumnChoice, PrefersColumnsWithSeveralWordsInAValue) {
  EXPECT_THAT(
      chosen("user,split,content,reply,label\nann,test,yes,so good,1\nbob,test,no way,ok,0"),
      ElementsAre(2, 3));
  EXPECT_THAT(chosen("name,label\nAnn,1\nBob,0"), ElementsAre(0, -1));
  EXPECT_THAT(chosen("user,content,label\nann,\u8fd9\u5f88\u597d,1"), ElementsAre(1, -1));
}

TEST(ColumnChoice, SaysWhyThereAreNoTexts) {
  EXPECT_EQ(chosen("label\n1"), (std::vector<int>{-1, -1}));
  EXPECT_THAT(choose("label\n1").reason, HasSubstr("only column"));
  EXPECT_THAT(
      choose(",rating,key,label\n0,5,a1,1\n1,6,a2,0").reason,
      testing::AllOf(HasSubstr("a column has no name"), HasSubstr("'rating' holds only numbers"),
                     HasSubstr("'key' holds a different identifier in each row")));
}

}  // namespace
}  // namespace dtl::trainer::column_choice_test
