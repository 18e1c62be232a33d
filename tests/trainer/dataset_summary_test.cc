#include "trainer/data/dataset_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::dataset_summary_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TextDataset read(const std::string& rows, const DatasetOptions& options = {}) {
  const TemporaryFolder folder;
  TextDataset dataset = read_dataset(folder.write("d.tsv", rows), options);
  dataset.path = "d.tsv";
  return dataset;
}

std::vector<std::string> doubts_of(const std::vector<std::string>& labels) {
  std::string rows = "text\tlabel\n";
  for (const std::string& label : labels) rows += "a\t" + label + "\n";
  return doubts(read(rows));
}

TEST(DatasetSummary, CountsALabelOfAnExampleOnce) {
  const TextDataset dataset = read("q\tlabel\na b\tx;y\nb b\tx; x;x\nc c\tx;;\n",
                                   {.problem = Problem::kMultiLabel, .label_delimiter = ';'});
  EXPECT_EQ(summary(dataset), "d.tsv: 3 examples; text: q; label: label (x: 3, y: 1)");
  EXPECT_THAT(doubts(dataset), ElementsAre("d.tsv: a label that is twice in one example counts "
                                           "once: 1 example, the first in line 3"));
}

TEST(DatasetSummary, SaysWhatIsReadAndWhatIsNot) {
  EXPECT_EQ(summary(read("id\tq\tr\tlabel\n1\ta b\tc d\tx\n2\ta a\tb b\ty\n3\tb b\tc c\ty\n")),
            "d.tsv: 3 examples; text: q, second text: r (guessed; --text_column_names NAME[,NAME] "
            "makes one text of others); label: label (y: 2, x: 1); not read: id");
  EXPECT_EQ(summary(read("a\tb\tlabel\n1\t2\tx\n", {.text_columns = {"b", "a"}})),
            "d.tsv: 1 example; text: b + a; label: label (x: 1)");
  EXPECT_EQ(summary(read("text\tlabel\na\t1\n", {.labelled = false})),
            "d.tsv: 1 example; text: text; not read: label");
  EXPECT_EQ(summary(read("q\tlabel\na b\tx\na a\tx \n")),
            "d.tsv: 2 examples; text: q; label: label (x: 1, 'x ': 1)");
}

TEST(DatasetSummary, SaysWhatNumbersAreLearnt) {
  EXPECT_EQ(summary(read("text\tlabel\na\t-1.5\nb\t3\n", {.problem = Problem::kRegression})),
            "d.tsv: 2 examples; text: text; label: label (-1.5 to 3)");
}

TEST(DatasetSummary, CountsEachOfSeveralLabels) {
  const TextDataset dataset =
      read("text\tlabel\na\tx,y\nb\ty\nc\t\n", {.problem = Problem::kMultiLabel});
  EXPECT_THAT(summary(dataset), HasSubstr("label: label (y: 2, x: 1)"));
}

TEST(DatasetSummary, NamesTenLabelsOfMany) {
  std::string rows = "text\tlabel\n";
  for (int i = 0; i < 77; ++i) rows += "a\tclass" + std::to_string(i) + "\n";
  EXPECT_THAT(summary(read(rows)), HasSubstr("and 67 more)"));
}

TEST(DatasetSummary, ShowsBlanksOfLabels) {
  EXPECT_EQ(shown_labels({"a", "b ", "", "c d"}), "a, 'b ', '', c d");
}

TEST(DatasetDoubts, AskWhetherNearlyAsManyLabelsAsExamplesAreLabels) {
  std::vector<std::string> labels;
  for (int i = 0; i < 11; ++i) labels.push_back("sentence " + std::to_string(i));
  EXPECT_THAT(doubts_of(labels), ElementsAre(HasSubstr("11 examples have 11 different labels: does "
                                                       "the column 'label' hold labels?")));
  for (int i = 0; i < 11; ++i) labels.push_back("sentence " + std::to_string(i));
  EXPECT_THAT(doubts_of(labels), ElementsAre());
}

TEST(DatasetDoubts, NameLabelsThatDifferInCaseOrBlanks) {
  EXPECT_THAT(doubts_of({"Yes", "yes", "no", "yes ", "yes"}),
              ElementsAre(AllOf(HasSubstr("case, blanks"), HasSubstr("'Yes' (1, first in line 2)"),
                                HasSubstr("'yes' (2, first in line 3)"),
                                HasSubstr("'yes ' (1, first in line 5)"))));
  EXPECT_THAT(doubts_of({"1", "0", "1.0", "0"}),
              ElementsAre(HasSubstr("'1' (1, first in line 2), '1.0' (1")));
  EXPECT_THAT(doubts_of({"\u00dcbel", "\u00fcbel", "gut"}), ElementsAre(HasSubstr("differ only")));
  EXPECT_THAT(doubts_of({"so so", "so  so", "x"}), ElementsAre(HasSubstr("differ only")));
}

TEST(DatasetDoubts, NameMissingValuesAndMixedTypes) {
  EXPECT_THAT(
      doubts_of({"0", "1", "NaN", "nan", "0"}),
      ElementsAre(HasSubstr("differ only"),
                  AllOf(HasSubstr("missing value"), HasSubstr("'NaN' (1, first in line 4)"))));
  EXPECT_THAT(doubts_of({"0", "1", "positive"}),
              ElementsAre(AllOf(HasSubstr("some labels are numbers and some are words"),
                                HasSubstr("'positive' (1, first in line 4)"))));
}

TEST(DatasetDoubts, CountExamplesWithoutAText) {
  EXPECT_THAT(doubts(read("text\tlabel\n\t0\n \t1\na\t1\n")),
              ElementsAre("d.tsv: 2 examples without a text, the first in line 2"));
}

TEST(DatasetDoubts, NameWhatMakesOtherNumbersOfTheTextsToPredictFor) {
  DatasetOptions options;
  options.labelled = false;
  const TemporaryFolder folder;
  const auto doubts_in = [&](const std::string& bytes) {
    std::string all;
    for (const std::string& doubt : doubts(read_dataset(folder.write("p.csv", bytes), options))) {
      all += doubt.substr(doubt.find("p.csv")) + "\n";
    }
    return all;
  };
  EXPECT_EQ(doubts_in("text\na\n\n\nb\n"),
            "p.csv: no prediction for 2 blank lines, the first of them line 3\n");
  EXPECT_THAT(doubts_in("I liked this one a lot\nand this one not\n"),
              HasSubstr("p.csv: line 1 is read as the names of the columns, so 'I liked this one a "
                        "lot' is not one of the texts. Try: "));
  EXPECT_EQ(doubts_in("the review\na b\n"), "");
}

TEST(DatasetDoubts, AreNoneOfACleanFile) {
  EXPECT_THAT(doubts_of({"0", "1", "2", "1"}), IsEmpty());
  EXPECT_THAT(doubts_of({"yes", "no", "maybe"}), IsEmpty());
}

TEST(CheckLabels, NeedsTwo) {
  check_labels(read("text\tlabel\na\tx\nb\ty\n"));
  try {
    check_labels(read("text\tkind\tlabel\na\tk\tx\nb\tl\tx\n"));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "d.tsv: cannot classify: the column 'label' needs two labels or more, and holds 1 "
                 "label: x. Try: --label_column_name kind");
  }
}

TEST(ShownLabels, AreAFewOfThousands) {
  EXPECT_EQ(shown_labels(std::vector<std::string>(1000, "a")),
            "a, a, a, a, a, a, a, a, a, a and 990 more");
}

}  // namespace
}  // namespace dtl::trainer::dataset_summary_test
