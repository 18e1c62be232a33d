#include "trainer/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

TextDataset read(const std::string& name, const std::string& bytes, std::int64_t limit = -1) {
  const TemporaryFolder folder;
  return read_dataset(folder.write(name, bytes), limit);
}

std::string read_error(const std::string& name, const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.write(name, bytes);
  try {
    read_dataset(path, -1);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    const std::string text = error.what();
    EXPECT_THAT(text, HasSubstr(path));
    return text.substr(text.find(path) + path.size());
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(Dataset, ReadsTsvWithoutQuoting) {
  const TextDataset dataset = read("d.tsv", "\xEF\xBB\xBFsentence\tlabel\r\n\"a b\t1\r\n\r\nc\t0");
  ASSERT_EQ(dataset.examples.size(), 2u);
  EXPECT_FALSE(dataset.pairs);
  EXPECT_EQ(dataset.examples[0].first, "\"a b");
  EXPECT_EQ(dataset.examples[0].label, "1");
  EXPECT_EQ(dataset.examples[1].first, "c");
}

TEST(Dataset, ReadsQuotedCsvOverSeveralLines) {
  const TextDataset dataset =
      read("d.csv", "label,sentence1,sentence2\nyes,\"a, \"\"b\"\"\",\"c\nd\"\nno,,e\n");
  ASSERT_EQ(dataset.examples.size(), 2u);
  EXPECT_TRUE(dataset.pairs);
  EXPECT_EQ(dataset.examples[0].first, "a, \"b\"");
  EXPECT_EQ(dataset.examples[0].second, "c\nd");
  EXPECT_EQ(dataset.examples[1].first, "");
  EXPECT_EQ(dataset.examples[1].second, "e");
}

TEST(Dataset, ReadsJsonLines) {
  const TextDataset dataset =
      read("d.jsonl",
           "{\"text\": \"a\\tb\", \"label\": 3}\n{\"label\": \"x\", \"text\": \"\\u00e9\"}\n");
  ASSERT_EQ(dataset.examples.size(), 2u);
  EXPECT_EQ(dataset.examples[0].first, "a\tb");
  EXPECT_EQ(dataset.examples[0].label, "3");
  EXPECT_EQ(dataset.examples[1].first, "\u00e9");
}

// How Hugging Face's `datasets` writes and takes them.
TEST(Dataset, ReadsAJsonListOnOneLineOrOnSeveral) {
  for (const char* bytes :
       {"[{\"text\": \"a]\\\"}\", \"label\": 3}, {\"label\": \"x\", \"text\": \"b\"}]",
        "\xEF\xBB\xBF\r\n [\r\n {\"text\": \"a]\\\"}\",\r\n \"label\": 3},\r\n"
        " {\"label\": \"x\", \"text\": \"b\"}\r\n]\r\n",
        "{\"version\": {\"data\": [1]}, \"data\": [{\"text\": \"a]\\\"}\", \"label\": 3},"
        " {\"label\": \"x\", \"text\": \"b\"}]}\n",
        "{\"version\": {\"a\": 1}\n, \"data\":\n[{\"text\": \"a]\\\"}\", \"label\": 3},\n"
        "{\"label\": \"x\", \"text\": \"b\"}], \"more\": [[], {}]}"}) {
    const TextDataset dataset = read("d.json", bytes);
    ASSERT_EQ(dataset.examples.size(), 2u) << bytes;
    EXPECT_EQ(dataset.examples[0].first, "a]\"}");
    EXPECT_EQ(dataset.examples[0].label, "3");
    EXPECT_EQ(dataset.examples[1].first, "b");
    EXPECT_EQ(dataset.examples[1].label, "x");
    EXPECT_EQ(dataset.examples[1].element, 2);
  }
}

TEST(Dataset, TakesAnObjectOnALineForARowThoughItHasData) {
  EXPECT_EQ(read("d.json", "{\"data\": \"a\", \"label\": 1}").examples[0].first, "a");
  EXPECT_EQ(read("d.json", "{\"data\": \"a\", \"label\": 1}\n{\"data\": \"b\", \"label\": 2}\n")
                .examples.size(),
            2u);
}

TEST(Dataset, NamesLineAndElementOfWhatIsWrongInAJsonList) {
  const std::string good = "[{\"text\": \"a\", \"label\": 1},\n";
  EXPECT_THAT(
      read_error("d.json", good + "{\"text\": \"b\"}]"),
      testing::AllOf(testing::StartsWith(":2 (element 2):"), HasSubstr("'label' is missing")));
  EXPECT_THAT(
      read_error("d.json", good + "\n7]"),
      testing::AllOf(testing::StartsWith(":3 (element 2):"), HasSubstr("not a JSON object")));
  EXPECT_THAT(read_error("d.json", good + "{\"text\": \"b\", \"label\": \"\"}]"),
              testing::AllOf(testing::StartsWith(":2 (element 2):"), HasSubstr("label is empty")));
  EXPECT_THAT(read_error("d.json", good + "\n{\"text\": \"b\" \"label\": 1}]"),
              testing::AllOf(testing::StartsWith(":3:"), HasSubstr("not JSON in UTF-8")));
  EXPECT_THAT(read_error("d.json", good + "{\"text\": \"\xFF\", \"label\": 1}]"),
              testing::AllOf(testing::StartsWith(":2:"), HasSubstr("not JSON in UTF-8")));
  EXPECT_THAT(read_error("d.json", good), testing::StartsWith(":2:"));
  EXPECT_THAT(read_error("d.json", "[1e999]"), HasSubstr("too large"));
  EXPECT_THAT(read_error("d.json", "[]"), HasSubstr("list is empty"));
  EXPECT_THAT(read_error("d.json", "{\n\"text\": \"a\",\n\"label\": 1}\n"),
              testing::AllOf(testing::StartsWith(":1:"), HasSubstr("without a list of objects"),
                             HasSubstr("Try: an object on each line")));
}

TEST(Dataset, TakesTheFirstOtherColumnsAsTexts) {
  const TextDataset dataset = read("d.tsv", "idx\tquestion\tlabel\tanswer\n7\tq\tl\ta\n");
  EXPECT_TRUE(dataset.pairs);
  EXPECT_EQ(dataset.examples[0].first, "q");
  EXPECT_EQ(dataset.examples[0].second, "a");
}

TEST(Dataset, StopsAtTheLimit) {
  EXPECT_EQ(read("d.tsv", "text\tlabel\na\t0\nb\t1\nbad\n", 2).examples.size(), 2u);
}

TEST(Dataset, NamesFileAndLineOfWhatIsWrong) {
  EXPECT_THAT(read_error("d.tsv", "text\tlabel\na\t0\n\nb\n"), testing::StartsWith(":4:"));
  EXPECT_THAT(read_error("d.tsv", "text\tlabel\na\t\n"), testing::StartsWith(":2:"));
  EXPECT_THAT(read_error("d.csv", "text,label\n\"a\nb\",1,2\n"), testing::StartsWith(":2:"));
  EXPECT_THAT(read_error("d.csv", "text,label\na,1\n\"b,1\n"), HasSubstr("has no end"));
  EXPECT_THAT(read_error("d.csv", "text,label\n\"a\"b,1\n"), HasSubstr("closing quote"));
  EXPECT_THAT(read_error("d.json", "{\"text\": \"a\", \"label\": 1}\n[]\n"),
              testing::StartsWith(":2:"));
  EXPECT_THAT(read_error("d.json", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"a\"}\n"),
              HasSubstr("'label' is missing"));
  EXPECT_THAT(read_error("d.json", "{\"text\": null, \"label\": 1}\n"), HasSubstr("not a text"));
  EXPECT_THAT(read_error("d.tsv", "text\tclass\na\t0\n"), HasSubstr("no column 'label'"));
  EXPECT_THAT(read_error("d.tsv", "label\n0\n"), HasSubstr("only column"));
  EXPECT_THAT(read_error("d.tsv", ""), HasSubstr("empty"));
  EXPECT_THAT(read_error("d.tsv", "text\tlabel\n"), HasSubstr("no rows"));
  EXPECT_THAT(read_error("d.txt", "text\tlabel\n"), HasSubstr(".tsv, .csv, .json or .jsonl"));
}

TEST(Dataset, SortsWholeNumbersByValueAndOtherLabelsAsText) {
  TextDataset dataset;
  for (const char* label : {"10", "9", "10", "-1"}) dataset.examples.push_back({"", "", label});
  EXPECT_THAT(label_names(dataset), ElementsAre("-1", "9", "10"));
  dataset.examples.push_back({"", "", "x"});
  EXPECT_THAT(label_names(dataset), ElementsAre("-1", "10", "9", "x"));
}

Tokenizer letters() {
  return Tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"}, true);
}

TEST(Dataset, EncodesWithoutPadding) {
  TextDataset dataset{{{"a b", "", "yes"}, {"", "", "no"}}, false};
  const Examples examples = encode_dataset(dataset, letters(), {"no", "yes"}, 16, 1);
  EXPECT_THAT(examples.ids, ElementsAre(2, 4, 5, 3, 2, 3));
  EXPECT_THAT(examples.starts, ElementsAre(0, 4, 6));
  EXPECT_THAT(examples.labels, ElementsAre(1, 0));
  EXPECT_EQ(examples.types.size(), examples.ids.size());
}

TEST(Dataset, EncodesAlikeOnAnyNumberOfThreads) {
  TextDataset dataset;
  dataset.pairs = true;
  for (int i = 0; i < 3000; ++i) {
    dataset.examples.push_back({std::string(static_cast<std::size_t>(i % 37), 'a'),
                                i % 3 == 0 ? "a b b" : "b", i % 2 == 0 ? "x" : "y"});
  }
  const Examples one = encode_dataset(dataset, letters(), {"x", "y"}, 20, 1);
  const Examples four = encode_dataset(dataset, letters(), {"x", "y"}, 20, 4);
  EXPECT_EQ(one.ids, four.ids);
  EXPECT_EQ(one.types, four.types);
  EXPECT_EQ(one.starts, four.starts);
  EXPECT_EQ(one.labels, four.labels);
  EXPECT_EQ(four.size(), 3000);
}

TEST(Dataset, RefusesALabelThatTheModelDoesNotKnow) {
  TextDataset dataset{{{"a", "", "maybe"}}, false};
  try {
    encode_dataset(dataset, letters(), {"no", "yes"}, 16, 2);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'maybe'"));
    EXPECT_EQ(error.status(), Exit::kBadInput);
  }
}

}  // namespace
}  // namespace dtl::trainer
