// Data sets with numbers or several labels to learn, and with chosen columns.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/data/dataset.h"

namespace dtl::trainer::dataset_problems_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TextDataset read(const std::string& name, const std::string& bytes, const DatasetOptions& options) {
  const TemporaryFolder folder;
  return read_dataset(folder.write(name, bytes), options);
}

std::string read_error(const std::string& name, const std::string& bytes,
                       const DatasetOptions& options) {
  try {
    read(name, bytes, options);
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

Tokenizer letters() {
  return Tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"}, true);
}

TEST(DatasetProblems, JoinsChosenColumnsIntoOneText) {
  const TextDataset dataset =
      read("d.csv", "title,x,body,topic\nT,1,B,t\n",
           {.text_columns = {"body", "title"}, .text_delimiter = "; ", .label_column = "topic"});
  EXPECT_FALSE(dataset.pairs);
  EXPECT_EQ(dataset.examples[0].first, "B; T");
  EXPECT_EQ(dataset.examples[0].label, "t");
  EXPECT_EQ(dataset.examples[0].line, 2);
}

TEST(DatasetProblems, NamesAColumnThatIsMissing) {
  EXPECT_THAT(read_error("d.csv", "text,label\na,1\n", {.text_columns = {"body"}}),
              HasSubstr("the columns are text, label; none is called 'body'"));
  EXPECT_THAT(read_error("d.csv", "text,label\na,1\n", {.label_column = "topic"}),
              HasSubstr("none is called 'topic'"));
}

// On several threads, too, and every time.
TEST(DatasetProblems, NamesTheFirstRowThatIsWrong) {
  std::string rows = "text\tlabel\n";
  for (int line = 2; line < 8000; ++line) rows += line % 1000 == 0 ? "a\tz\n" : "a b a b\tx\n";
  const TextDataset dataset = read("d.tsv", rows, {});
  for (int i = 0; i < 30; ++i) {
    try {
      encode_dataset(dataset, letters(), {"x", "y"}, 8, 4);
      FAIL() << "accepted";
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), HasSubstr("d.tsv:1000: "));
    }
  }
}

TEST(DatasetProblems, LearnsNumbers) {
  const TextDataset dataset =
      read("d.tsv", "text\tlabel\na\t0.5\nb\t-2\n", {.problem = Problem::kRegression});
  const Examples examples = encode_dataset(dataset, letters(), label_names(dataset), 8, 1);
  EXPECT_THAT(examples.targets, ElementsAre(0.5F, -2.0F));
  EXPECT_TRUE(examples.labels.empty());
  EXPECT_THAT(label_names(dataset), ElementsAre("LABEL_0"));
}

TEST(DatasetProblems, RefusesWhatIsNoNumber) {
  for (const char* text : {"x", "1x", "inf", "nan", "1e99", ""}) {
    EXPECT_THAT(read_error("d.tsv", std::string("text\tlabel\na\t") + text + "\n",
                           {.problem = Problem::kRegression}),
                HasSubstr("d.tsv:2:"));
  }
}

TEST(DatasetProblems, LearnsSeveralLabels) {
  const TextDataset dataset = read("d.csv", "text,label\na,\"x, y\"\nb,\na,z\nb,\"y,x\"\n",
                                   {.problem = Problem::kMultiLabel});
  const std::vector<std::string> labels = label_names(dataset);
  EXPECT_THAT(labels, ElementsAre("x", "y", "z"));
  const Examples examples = encode_dataset(dataset, letters(), labels, 8, 2);
  EXPECT_THAT(examples.targets, ElementsAre(1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0));
}

TEST(DatasetProblems, TakesListsOfLabelsFromJson) {
  const TextDataset dataset = read(
      "d.jsonl", "{\"text\": \"a\", \"label\": [\"x\", 3]}\n{\"text\": \"b\", \"label\": []}\n",
      {.problem = Problem::kMultiLabel, .label_delimiter = ';'});
  EXPECT_THAT(dataset.examples[0].labels, ElementsAre("x", "3"));
  EXPECT_TRUE(dataset.examples[1].labels.empty());
  EXPECT_THAT(read_error("d.jsonl", "{\"text\": \"a\", \"label\": [\"x;y\"]}\n",
                         {.problem = Problem::kMultiLabel, .label_delimiter = ';'}),
              HasSubstr("has the delimiter"));
  EXPECT_THAT(read_error("d.jsonl", "{\"text\": \"a\", \"label\": [\"x\"]}\n", {}),
              HasSubstr("not a text"));
}

TEST(DatasetProblems, NamesTheLineOfALabelThatIsNotTheModels) {
  const TemporaryFolder folder;
  const TextDataset dataset =
      read_dataset(folder.write("d.tsv", "text\tlabel\na\tyes\n\nb\tmaybe\n"), -1);
  try {
    encode_dataset(dataset, letters(), {"no", "yes"}, 8, 1);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("d.tsv:4: cannot use the label 'maybe'"));
  }
}

TEST(DatasetProblems, ReadsTextsWithoutLabels) {
  const TextDataset dataset = read("d.tsv", "text\na\nb\n", {.labelled = false});
  const Examples examples = encode_dataset(dataset, letters(), {"no", "yes"}, 8, 1);
  EXPECT_EQ(examples.size(), 2);
  EXPECT_TRUE(examples.labels.empty());
}

TEST(DatasetProblems, TellsNumbersWithFractionsFromWholeOnes) {
  EXPECT_TRUE(has_float_labels(read("d.tsv", "text\tlabel\na\t1\nb\t0.5\n", {})));
  EXPECT_FALSE(has_float_labels(read("d.tsv", "text\tlabel\na\t1\nb\t0\n", {})));
  EXPECT_FALSE(has_float_labels(read("d.tsv", "text\tlabel\na\t1.5\nb\tx\n", {})));
}

TEST(DatasetProblems, RefusesBytesThatAreNotText) {
  EXPECT_THAT(read_error("d.csv", "text,label\n\"a\n\xC3\",1\n", {}), HasSubstr("d.csv:3:"));
  EXPECT_THAT(read_error("d.tsv", std::string("text\tlabel\na\0\t1\n", 16), {}), HasSubstr("NUL"));
}

}  // namespace
}  // namespace dtl::trainer::dataset_problems_test
