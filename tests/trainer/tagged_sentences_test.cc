#include "trainer/data/tagged_sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer::tagged_sentences_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TaggedDataset read(const std::string& name, const std::string& bytes,
                   const TaggedOptions& options = {}) {
  const TemporaryFolder folder;
  return read_tagged(folder.write(name, bytes), options);
}

std::string refusal(const std::string& name, const std::string& bytes,
                    const TaggedOptions& options = {}) {
  try {
    read(name, bytes, options);
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(ConllFile, HasAWordFirstAndItsTagLast) {
  const TaggedDataset set = read("t.conll",
                                 "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n"
                                 "\n \n# SYM O O\n-DOCSTART- -X- -X- O\nPeter NNP B-NP B-PER\n");
  ASSERT_EQ(set.sentences.size(), 3U);
  EXPECT_THAT(set.sentences[0].words, ElementsAre("EU", "rejects"));
  EXPECT_THAT(set.sentences[0].tags, ElementsAre("B-ORG", "O"));
  EXPECT_EQ(set.sentences[0].line, 3);
  EXPECT_THAT(set.sentences[1].words, ElementsAre("#"));
  EXPECT_THAT(set.sentences[2].words, ElementsAre("Peter"));
  EXPECT_EQ(set.sentences[2].line, 9);
}

TEST(ConllFile, MayHaveTabsAndThenComments) {
  const TaggedDataset set =
      read("t.bio", "# text = New York\nNew York\tB-LOC\n#\tO\n# a comment\nx\tO\r\n\r\ny\tO");
  ASSERT_EQ(set.sentences.size(), 2U);
  EXPECT_THAT(set.sentences[0].words, ElementsAre("New York", "#", "x"));
  EXPECT_THAT(set.sentences[1].words, ElementsAre("y"));
}

TEST(ConllFile, NeedsTheSameColumnsInAllLines) {
  EXPECT_THAT(
      refusal("t.conll", "a O\nb\n"),
      HasSubstr("t.conll:2: cannot read this row: it has 1 column, lines before it have 2"));
  EXPECT_THAT(refusal("t.txt", "only\n"), HasSubstr("a line must have a word and its tag"));
  EXPECT_THAT(refusal("t.iob", "a\t \nb\tO\n"), HasSubstr("its tag is empty"));
  EXPECT_THAT(refusal("t.conll", "\n\n"), HasSubstr("it has no sentence"));
}

TEST(ConllFile, NeedsNoTagsForAPrediction) {
  const TaggedDataset set = read("t.conll", "a\nb\n\nc\n", {.labelled = false});
  ASSERT_EQ(set.sentences.size(), 2U);
  EXPECT_THAT(set.sentences[0].words, ElementsAre("a", "b"));
  EXPECT_THAT(set.sentences[0].tags, IsEmpty());
}

TEST(TaggedRows, AreListsInTheColumnsOfRunNer) {
  const std::string rows = R"({"id": "7", "ner_tags": ["B-X", "O"], "tokens": ["a b", "c"]})"
                           "\n"
                           R"({"id": "8", "ner_tags": [], "tokens": []})"
                           "\n";
  const TaggedDataset set = read("t.jsonl", rows);
  ASSERT_EQ(set.sentences.size(), 2U);
  EXPECT_THAT(set.sentences[0].words, ElementsAre("a b", "c"));
  EXPECT_THAT(set.sentences[0].tags, ElementsAre("B-X", "O"));
  EXPECT_THAT(set.sentences[1].words, IsEmpty());
  EXPECT_THAT(set.columns.first, ElementsAre("tokens"));
  EXPECT_EQ(set.columns.label, "ner_tags");
  EXPECT_THAT(set.unread, ElementsAre("id"));
}

TEST(TaggedRows, MayHaveOtherColumnsAndIds) {
  const std::string rows = R"([{"text": ["a", "b"], "kinds": [0, 3]}])";
  EXPECT_THAT(read("t.json", rows).sentences[0].tags, ElementsAre("0", "3"));
  EXPECT_EQ(read("t.json", rows, {.words = "text", .tags = "kinds"}).columns.label, "kinds");
  EXPECT_THAT(refusal("t.json", rows, {.tags = "kind"}), HasSubstr("--label_column_name kinds"));
  const std::string pos = R"({"tokens": ["a"], "ner_tags": ["O"], "pos_tags": ["NN"]})";
  EXPECT_THAT(read("t.json", pos, {.task_name = "pos"}).sentences[0].tags, ElementsAre("NN"));
}

TEST(TaggedRows, OfCsvAreListsOfPythonOrWordsWithBlanks) {
  const TaggedDataset set = read("t.csv",
                                 "tokens,ner_tags\n\"['EU', \"\"Peter's\"\", ',']\",\"['B-ORG' "
                                 "'O' 'O']\"\nEU rejects,B-ORG O\n\"[\"\"New York\"\"]\",[2]\n");
  ASSERT_EQ(set.sentences.size(), 3U);
  EXPECT_THAT(set.sentences[0].words, ElementsAre("EU", "Peter's", ","));
  EXPECT_THAT(set.sentences[0].tags, ElementsAre("B-ORG", "O", "O"));
  EXPECT_THAT(set.sentences[1].words, ElementsAre("EU", "rejects"));
  EXPECT_THAT(set.sentences[2].words, ElementsAre("New York"));
}

TEST(TaggedRows, NeedATagForEachWord) {
  EXPECT_THAT(refusal("t.jsonl", R"({"tokens": ["a", "b"], "ner_tags": ["O", "O", "O"]})"),
              HasSubstr("t.jsonl:1: cannot read this row: it has 2 words and 3 tags"));
  EXPECT_THAT(refusal("t.jsonl", R"({"tokens": ["a", "b"], "ner_tags": ["O", ""]})"),
              HasSubstr("the tag of word 2 is empty"));
  EXPECT_THAT(refusal("t.jsonl", R"({"tokens": ["a"]})"), HasSubstr("cannot find the tags"));
}

TEST(WordEncoding, TellsTheWordOfEachTokenAndTheWordsThatAreCut) {
  const Tokenizer tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "c"}, true);
  const std::vector<std::string> words = {"ab", "\x01", "c", "abb"};
  const WordEncoding whole = tokenizer.encode_words(words, 20);
  EXPECT_THAT(whole.ids, ElementsAre(2, 4, 5, 6, 4, 5, 5, 3));
  EXPECT_THAT(whole.words, ElementsAre(-1, 0, 0, 2, 3, 3, 3, -1));
  EXPECT_EQ(whole.words_cut, 0);
  const WordEncoding cut = tokenizer.encode_words(words, 5);
  EXPECT_THAT(cut.words, ElementsAre(-1, 0, 0, 2, -1));
  EXPECT_EQ(cut.words_cut, 1);
  EXPECT_EQ(tokenizer.encode_words(words, 3).words_cut, 3);  // also the word that keeps a token
}

}  // namespace
}  // namespace dtl::trainer::tagged_sentences_test
