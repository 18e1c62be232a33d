#include "trainer/embeddings/text_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/embeddings/corpus.h"

namespace dtl::trainer::text_groups_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class TextGroupsTest : public testing::Test {
 protected:
  TextGroups read(const std::string& name, const std::string& text,
                  const TextGroupOptions& options = {}) {
    folder_.write(name, text);
    return read_text_groups(folder_.path() + "/" + name, options);
  }
  std::string complaint(const std::string& name, const std::string& text,
                        const TextGroupOptions& options = {}) {
    try {
      read(name, text, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kBadInput);
      return error.what();
    }
    return "";
  }
  const TemporaryFolder folder_;
};

TEST_F(TextGroupsTest, TakeAllTextsInOrderAndTheScore) {
  const TextGroups groups = read("d.csv", "id,sentence1,score,sentence2\n7,a,0.5,b\n8,c,4,\n");
  EXPECT_THAT(groups.columns, ElementsAre("sentence1", "sentence2"));
  EXPECT_THAT(groups.rows[0].texts, ElementsAre("a", "b"));
  EXPECT_EQ(groups.rows[1].score, 4);
  EXPECT_THAT(
      summary(groups),
      EndsWith("d.csv: 2 examples of 2 texts: sentence1, sentence2; score: score (0.5 to 4); "
               "not read: id; 1 empty text, first in line 3"));
}

TEST_F(TextGroupsTest, TakeTheColumnsThatAreNamed) {
  const TextGroups groups = read("d.tsv", "a\tb\tc\tlabel\n1\t2\t3\t0\n",
                                 {.text_columns = {"c", "a"}, .scores = Scores::kIgnored});
  EXPECT_THAT(groups.columns, ElementsAre("c", "a"));
  EXPECT_THAT(groups.rows[0].texts, ElementsAre("3", "1"));
  EXPECT_FALSE(groups.scored());
  EXPECT_THAT(groups.unread, ElementsAre("b", "label"));
}

TEST_F(TextGroupsTest, ReadListsOfNegatives) {
  const TextGroups groups =
      read("d.jsonl", R"({"query": "q", "positive": "p", "negatives": ["m", "n"]})");
  EXPECT_THAT(groups.columns, ElementsAre("query", "positive", "negatives", "negatives"));
  EXPECT_THAT(groups.rows[0].texts, ElementsAre("q", "p", "m", "n"));
  EXPECT_THAT(complaint("e.jsonl",
                        "{\"q\": \"q\", \"n\": [\"m\", \"n\"]}\n"
                        "{\"q\": \"q\", \"n\": [\"m\"]}\n"),
              HasSubstr("e.jsonl:2: cannot read this row: it has 2 texts and the first row has 3"));
}

TEST_F(TextGroupsTest, NameTheLineOfWhatIsWrong) {
  EXPECT_THAT(complaint("d.csv", "a,b,score\nx,y,1\nx,y,high\n"),
              HasSubstr("d.csv:3: cannot read this row: the score 'high' is not a number"));
  EXPECT_THAT(complaint("d.csv", "a,b\nx,y,z\n"), HasSubstr("d.csv:2: "));
  EXPECT_THAT(complaint("d.csv", "a,b\nx,y\n", {.scores = Scores::kNeeded}),
              HasSubstr("d.csv:1: cannot find the scores"));
  EXPECT_THAT(complaint("d.csv", "anchor,b\nx,y\n", {.text_columns = {"anchr"}}),
              HasSubstr("--text_column_names anchor"));
  EXPECT_THAT(complaint("d.csv", "id,b\nx,y\n", {.least_texts = 2}), HasSubstr("it has 1 text"));
}

TEST_F(TextGroupsTest, BecomeTokensAfterTheirPrompts) {
  const Tokenizer tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "q", "a", "b"}, true);
  const TextGroups groups = read("d.csv", "x,y,score\na,b b b,2\n");
  const Examples examples =
      encode_text_groups(groups, {"q ", ""}, {tokenizer, 4, /*lower_case=*/true, 1});
  EXPECT_EQ(examples.texts, 2);
  EXPECT_EQ(examples.size(), 1);
  EXPECT_THAT(examples.ids, ElementsAre(2, 5, 6, 3, 2, 7, 7, 3));
  EXPECT_THAT(examples.targets, ElementsAre(2));
  EXPECT_EQ(examples.cut, 1);
}

TEST_F(TextGroupsTest, CorpusHasDifferentIds) {
  folder_.write("c.jsonl", "{\"_id\": \"d1\", \"title\": \"t\", \"text\": \"x\"}\n");
  const Corpus corpus = read_corpus(folder_.path() + "/c.jsonl");
  EXPECT_THAT(corpus.ids, ElementsAre("d1"));
  EXPECT_THAT(corpus.texts, ElementsAre("x"));
  folder_.write("c.csv", "id,words\n1,x\n1,y\n");
  try {
    read_corpus(folder_.path() + "/c.csv");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("c.csv:3: cannot use this row: line 2 has the id '1'"));
  }
}

}  // namespace
}  // namespace dtl::trainer::text_groups_test
