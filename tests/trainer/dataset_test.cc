#include "trainer/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::dataset_test {
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

TEST(Dataset, CountsBlankLinesBetweenRows) {
  const TextDataset dataset = read("d.csv", "text,label\na,1\n\n \nb,0\n\nc,1\n\n\n");
  EXPECT_EQ(dataset.blank_lines.count, 3);
  EXPECT_EQ(dataset.blank_lines.first, 3);
  EXPECT_EQ(dataset.examples[1].line, 5);
}

TEST(Dataset, NamesTheColumnThatMayHoldTheLabels) {
  EXPECT_THAT(read_error("d.csv", "review,sentiment\na b,1\n"),
              HasSubstr("none is called 'label'. Try: --label_column_name sentiment"));
  EXPECT_THAT(read_error("d.csv", "review,how good\na,x\nb,y\nc,x\nd,y\n"),
              HasSubstr("Try: --label_column_name 'how good'"));
  // No names at all.
  EXPECT_THAT(
      read_error("d.csv", "a b,x\nb,y\nc,x\nd,y\n"),
      HasSubstr(":1: cannot find the labels: the first line must be the names of the columns, "
                "but looks like a text and its label: a b, x. "
                "Try: sed -i '1i sentence,label' "));
  EXPECT_THAT(read_error("d.tsv", "x\tI like it very much\ny\tb c\n"),
              HasSubstr("Try: sed -i '1i label\\tsentence' "));
  // Names, and nothing that looks like labels.
  EXPECT_THAT(read_error("d.csv", "a,b\nx y,1\n"), HasSubstr("'label'. Try: head -n 3 "));
}

TEST(Dataset, NamesTheColumnThatMayHoldTheTexts) {
  const std::string bytes = "id,sentence,label\n1,a b,x\n2,c d,y\n";
  const TemporaryFolder folder;
  const std::string path = folder.write("d.csv", bytes);
  const auto error = [&](const std::string& name) {
    DatasetOptions options;
    options.text_columns = {name};
    try {
      read_dataset(path, options);
    } catch (const Error& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  EXPECT_THAT(error("txt"), HasSubstr("the columns are id, sentence, label; none is called 'txt'. "
                                      "Try: --text_column_names sentence"));
  EXPECT_THAT(error("sentense"), HasSubstr("Try: --text_column_names sentence"));
}

TEST(Dataset, SuggestsANameForAFileWithAnotherEnding) {
  EXPECT_THAT(read_error("d.dat", "text\tlabel\n"), HasSubstr("d.dat.tsv"));
  EXPECT_THAT(read_error("d.dat", "text,label\n"), HasSubstr("d.dat.csv"));
  EXPECT_THAT(read_error("d", "{\"text\": 1}\n"), HasSubstr("d.jsonl"));
}

TEST(Dataset, SaysHowToRewriteATableWithOtherSeparators) {
  EXPECT_THAT(read_error("d.csv", "text;label\na;1\n"),
              HasSubstr("the names have semicolons between them, not commas. Try: "));
  EXPECT_THAT(read_error("d.csv", "\"text\"\t\"label\"\n"), HasSubstr("the names have tabs"));
  EXPECT_THAT(read_error("d.tsv", "\xEF\xBB\xBFtext|label\r\na|1\r\n"),
              HasSubstr("the names have bars"));
  EXPECT_THAT(read_error("d.tsv", "text,label\na,1\n"), HasSubstr("not tabs. Try: "));
  // One column of texts.
  EXPECT_THAT(read_error("d.tsv", "Well, yes; no\nb\n"), HasSubstr("cannot find the labels"));
}

TEST(Dataset, SaysHowToRewriteOtherLayoutsOfJson) {
  EXPECT_THAT(read_error("d.json", R"({"train": [{"text": "a", "label": 1}], "test": []})"),
              HasSubstr("its rows are the list \"train\" of an object. Try: python3 -c "));
  EXPECT_THAT(read_error("d.json", R"({"text": ["a", "b"], "label": [0, 1]})"),
              HasSubstr("a list for each column"));
  EXPECT_THAT(read_error("d.json", "{\"text\": {\"0\": \"a\"},\n \"label\": {\"0\": 1}}"),
              HasSubstr("an object for each column"));
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
              testing::AllOf(testing::StartsWith(":1:"), HasSubstr("not an object on each line"),
                             HasSubstr("Try: head -c 400 ")));
}

TEST(Dataset, RefusesHalfASurrogatePair) {
  const std::string good = R"({"text": "\ud83d\ude00 \\ud83d", "label": 1})", pair = good + ",\n";
  for (const char* half : {R"("\ud83d")", R"("\ude00 \ud83d\ude00")", R"("\ud83d\u0041")"}) {
    const std::string bad = std::string(R"({"text": )") + half + R"(, "label": 1})";
    EXPECT_THAT(read_error("d.jsonl", good + "\n" + bad + "\n"),
                testing::AllOf(testing::StartsWith(":2:"), HasSubstr("half of a surrogate pair")));
    EXPECT_THAT(read_error("d.json", "[" + pair + bad + "]"),
                testing::AllOf(testing::StartsWith(":2:"), HasSubstr("half of a surrogate pair")));
  }
  EXPECT_EQ(read("d.jsonl", good + "\n").examples[0].first, "\U0001F600 \\ud83d");
}

// Rows are read ahead to guess text columns. A wrong row is reported anyway, unless a limit
// excludes it.
TEST(Dataset, NamesWhatIsWrongInRowsThatItLooksAt) {
  EXPECT_THAT(read_error("d.csv", "review,label\n"), HasSubstr("no rows"));
  EXPECT_THAT(read_error("d.csv", "review,label\n\"so good,1\n"), testing::StartsWith(":2:"));
  EXPECT_THAT(read_error("d.csv", "review,label\nso good,1\nb,1,2\n"), testing::StartsWith(":3:"));
  EXPECT_EQ(read("d.csv", "review,label\nso good,1\n\"b,1\n", 1).examples.size(), 1u);
}

TEST(Dataset, TakesNullInJsonForAnEmptyCell) {
  const TextDataset dataset = read("d.jsonl", R"({"text": null, "label": 1, "by": null})");
  EXPECT_EQ(dataset.examples[0].first, "");
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
  EXPECT_THAT(read_error("d.json", "{\"text\": {}, \"label\": 1}\n"), HasSubstr("not a text"));
  EXPECT_THAT(read_error("d.tsv", "text\tclass\na\t0\n"), HasSubstr("none is called 'label'"));
  EXPECT_THAT(read_error("d.tsv", "label\n0\n"), HasSubstr("only column"));
  EXPECT_THAT(read_error("d.tsv", ""), HasSubstr("empty"));
  EXPECT_THAT(read_error("d.tsv", "text\tlabel\n"), HasSubstr("no rows"));
  EXPECT_THAT(read_error("d.txt", "text\tlabel\n"), HasSubstr(".tsv, .csv, .json or .jsonl"));
}

TEST(Dataset, RefusesTwoColumnsOfOneName) {
  EXPECT_THAT(read_error("d.csv", "\ntext,label,text\na,0,b\n"),
              testing::AllOf(testing::StartsWith(":2:"),
                             HasSubstr("1 and 3 have the same name 'text'"), HasSubstr("Try: ")));
  EXPECT_THAT(read_error("d.tsv", "text\tlabel\tlabel\na\t0\t1\n"),
              HasSubstr("2 and 3 have the same name 'label'"));
  // Python's json takes the last value of a key.
  EXPECT_EQ(read("d.json", "{\"text\": \"a\", \"label\": 1, \"text\": \"b\"}").examples[0].first,
            "b");
}

TEST(Dataset, RefusesHalvesOfSurrogatePairs) {
  const std::string good = "{\"text\": \"\\ud83d\\ude00 \\\\ud800\", \"label\": 1}\n";
  EXPECT_EQ(read("d.jsonl", good).examples[0].first, "\xF0\x9F\x98\x80 \\ud800");
  for (const char* half :
       {"\\ud83d", "\\ude00", "\\uD83D\\u0041", "\\ud83d\\ud83d\\ude00", "\\uD83Dx"}) {
    const std::string bad = std::string("{\"text\": \"") + half + "\", \"label\": 1}";
    EXPECT_THAT(read_error("d.jsonl", good + bad + "\n"),
                testing::AllOf(testing::StartsWith(":2:"), HasSubstr("half of a surrogate pair"),
                               HasSubstr("at character 11 of the line"), HasSubstr("Try: ")))
        << half;
    EXPECT_THAT(read_error("d.json", "[\n" + bad + "]"),
                testing::AllOf(testing::StartsWith(":2:"), HasSubstr("half of a surrogate pair")))
        << half;
  }
}

TEST(Dataset, SaysWhatIsNoJson) {
  const std::string good = "{\"text\": \"a\", \"label\": 1}\n";
  EXPECT_THAT(read_error("d.jsonl", good + "{\"text\": \"\xC3\xA9\" \"label\": 1}\n"),
              testing::AllOf(testing::StartsWith(":2:"), HasSubstr("from here on: \"label"),
                             HasSubstr("at character 14 of the line")));
  EXPECT_THAT(read_error("d.jsonl", good + "{\"text\": \"a\",\n\"label\": 1}\n"),
              testing::AllOf(testing::StartsWith(":2:"), HasSubstr("ends too early")));
}

TEST(Dataset, SaysWhatIsNotTextInUtf8) {
  using namespace std::string_literals;
  for (const std::string& bytes : {"\xFF\xFEt\0"s, "\xFE\xFF\0t"s, "t\0e\0"s, "\0t\0e"s}) {
    EXPECT_THAT(read_error("d.csv", bytes),
                testing::AllOf(HasSubstr("in UTF-16"), HasSubstr("iconv")));
  }
  EXPECT_THAT(read_error("d.csv", "\xFF\xFE\0\0t\0\0\0"s), HasSubstr("in UTF-32"));
  EXPECT_THAT(read_error("d.tsv", "\x1F\x8B\x08"), HasSubstr("zcat"));
  EXPECT_THAT(read_error("a $(b).tsv", "\x1F\x8B\x08"), HasSubstr("a $(b).tsv' >NEWFILE"));
  EXPECT_THAT(read_error("d.csv", "PK\x03\x04"), HasSubstr("spreadsheet"));
  EXPECT_THAT(read_error("d.tsv", "text\tlabel\na\0b\t1\n"s),
              testing::AllOf(testing::StartsWith(":2:"), HasSubstr("NUL byte, byte 2"),
                             HasSubstr("tr -d")));
  EXPECT_THAT(read_error("d.tsv", "text\tlabel\na\xE9\t1\n"),
              testing::AllOf(testing::StartsWith(":2:"), HasSubstr("byte 2"), HasSubstr("iconv")));
}

TEST(Dataset, DoesNotWaitForAPipe) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/pipe.tsv";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  try {
    read_dataset(path, -1);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a pipe, not a file"));
  }
}

TEST(Dataset, ReadsVeryLongLines) {
  const std::string text(1 << 22, 'a');
  EXPECT_EQ(read("d.csv", "text,label\r\n" + text + ",1\r\n").examples[0].first, text);
}

TEST(Dataset, GivesANextStep) {
  for (const char* bytes :
       {"", "\n\n", "text\tlabel\n", "text\tlabel\na\n", "text\tlabel\na\t1\tb\n",
        "text\tlabel\na\t\n", "label\n1\n", "text\nb\n"}) {
    EXPECT_THAT(read_error("d.tsv", bytes), HasSubstr("Try: ")) << bytes;
  }
  for (const char* bytes : {"text,label\na\n", "text,label\n\"a,1\n", "text,label\n\"a\"b,1\n"}) {
    EXPECT_THAT(read_error("d.csv", bytes), HasSubstr("Try: ")) << bytes;
  }
  for (const char* bytes : {"", "[]", "{}", "7", "{\"text\": 1}", "{\"text\": 1, \"label\": null}",
                            "{\"text\": 1, \"label\": 1}\n{\"text\": 1}"}) {
    EXPECT_THAT(read_error("d.json", bytes), HasSubstr("Try: ")) << bytes;
  }
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
}  // namespace dtl::trainer::dataset_test
