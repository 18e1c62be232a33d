#include "trainer/data/squad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/data/squad_answers.h"
#include "trainer/data/squad_metrics.h"

namespace dtl::trainer::squad_test {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::vector<SquadExample> read(const std::string& bytes, std::int64_t limit = -1) {
  const TemporaryFolder folder;
  return read_squad(folder.write("d.json", bytes), limit);
}

std::string read_error(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    const std::string text = error.what();
    return text.substr(text.find("d.json") + 6);
  }
  ADD_FAILURE() << "accepted";
  return "";
}

const std::string kNested =
    R"({"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": "\u00e9 b c", "qas": [
       {"id": "1", "question": "b?", "answers": [{"text": "b", "answer_start": 2}]},
       {"id": "2", "question": "d?", "is_impossible": true, "answers": []}]}]}]})";
const std::string kFlat = R"({"id": "1", "title": "T", "context": "é b c", "question": "b?",)"
                          R"( "answers": {"text": ["b"], "answer_start": [2]}})";

TEST(Squad, ReadsTheNestedLayout) {
  const auto examples = read(kNested);
  ASSERT_EQ(examples.size(), 2u);
  EXPECT_EQ(examples[0].title, "T");
  EXPECT_EQ(examples[0].context, "\u00e9 b c");
  EXPECT_EQ(examples[0].answers[0].text, "b");
  EXPECT_EQ(examples[0].answers[0].start, 2);
  EXPECT_TRUE(examples[1].answers.empty());
}

TEST(Squad, ReadsTheFlatLayouts) {
  for (const std::string& bytes : {"{\"data\": [" + kFlat + "]}", "[" + kFlat + "]", kFlat + "\n",
                                   "\xEF\xBB\xBF" + kFlat + "\r\n\r\n"}) {
    const auto examples = read(bytes);
    ASSERT_EQ(examples.size(), 1u);
    EXPECT_EQ(examples[0].id, "1");
    EXPECT_EQ(examples[0].question, "b?");
    EXPECT_EQ(examples[0].answers[0].start, 2);
  }
}

TEST(Squad, ReadsOneQuestionPerLineUpToTheLimit) {
  std::string second = kFlat;
  second.replace(second.find("\"1\""), 3, "\"2\"");
  EXPECT_EQ(read(kFlat + "\n\n" + second + "\n").size(), 2u);
  EXPECT_EQ(read(kFlat + "\n" + second + "\nbad", 2).size(), 2u);
}

TEST(Squad, NamesThePlaceOfWhatIsWrong) {
  EXPECT_THAT(read_error(kFlat + "\n{\n"), testing::StartsWith(":2: cannot read"));
  EXPECT_THAT(read_error(kFlat + "\n{\"id\": \"\\ud800\"}\n"),
              testing::AllOf(testing::StartsWith(":2:"), HasSubstr("half of a surrogate pair")));
  EXPECT_THAT(read_error("{\n\"id\": \"\\udc00\"\n}"),
              testing::AllOf(testing::StartsWith(":2:"), HasSubstr("\\udc00 is half")));
  EXPECT_THAT(read_error(kFlat + "\n" + kFlat),
              HasSubstr("question '1': cannot read the questions: "
                        "the id occurs twice"));
  EXPECT_THAT(read_error("[\n1,\n]"), testing::StartsWith(":3:"));
  EXPECT_THAT(read_error("[1]"),
              HasSubstr("[0]: cannot read the questions: it is not a JSON object"));
  EXPECT_THAT(read_error("{\"data\": [{\"paragraphs\": [{\"context\": \"a\"}]}]}"),
              HasSubstr("data[0].paragraphs[0]: cannot read the questions: the key 'qas'"));
  EXPECT_THAT(read_error("{\"data\": [{\"id\": \"7\", \"context\": \"a\"}]}"),
              HasSubstr("question '7': cannot read the questions: the key 'question'"));
  EXPECT_THAT(read_error("\"\xFF\""), HasSubstr("UTF-8"));
  EXPECT_THAT(read_error("[\n\"\\ud83d\"]"),
              AllOf(testing::StartsWith(":2: "), HasSubstr("half of a surrogate pair")));
  EXPECT_THAT(read_error(kFlat + "\n{\"a\": \"\\udc00\"}\n"),
              AllOf(testing::StartsWith(":2: "), HasSubstr("half of a surrogate pair")));
  EXPECT_THAT(read_error("[]"), HasSubstr("there are none"));
  EXPECT_THAT(read_error(""), HasSubstr("file is empty"));
}

std::string flat_with_start(const std::string& start) {
  std::string flat = kFlat;
  return flat.replace(flat.find("[2]"), 3, "[" + start + "]");
}

TEST(Squad, RefusesAnswersWithoutAStart) {
  EXPECT_THAT(read_error(flat_with_start("2, 3")), HasSubstr("1 answers and 2 answer_starts"));
  EXPECT_THAT(read_error(flat_with_start("null")), HasSubstr("not a whole number"));
}

TEST(Squad, FindsAnswersThatStandElsewhere) {
  EXPECT_EQ(find_misplaced(read(kFlat)).count, 0);
  EXPECT_EQ(find_misplaced(read(kNested)).count, 0);
  const auto first = [](const std::string& start) {
    const MisplacedAnswers found = find_misplaced(read(flat_with_start(start)));
    EXPECT_EQ(found.count, 1);
    return found.first;
  };
  EXPECT_EQ(first("0"), "question '1': 'b' is not at 0, where it says '\u00e9'");
  for (const char* start : {"5", "-7", "18446744073709551615", "-9223372036854775808"}) {
    EXPECT_THAT(first(start), HasSubstr("outside its context")) << start;
  }
}

// Ids: 2 [CLS], 3 [SEP], 4 a, 5 b, 6 c, 7 ##b.
Tokenizer letters() {
  return Tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "##b"}, true);
}

SquadExample question(const std::string& context, std::vector<SquadAnswer> answers) {
  return {"q", "", context, "a", std::move(answers)};
}

TEST(SquadFeatures, PointToTheTokensOfTheAnswer) {
  const auto features = training_features(
      {question("a b c a", {{"b c", 2}}), question("ab c", {{"b", 1}})}, letters(), 16, 2, 1);
  // [CLS] a [SEP] a b c a [SEP]; [CLS] a [SEP] a ##b c [SEP]
  EXPECT_THAT(features.windows.answer_starts, ElementsAre(4, 4));
  EXPECT_THAT(features.windows.answer_ends, ElementsAre(5, 4));
}

TEST(SquadFeatures, KeepTheFirstWindows) {
  auto features = training_features({question("a b c a b", {{"c a", 4}}), question("a", {})},
                                    letters(), 7, 1, 1);
  keep_first_windows(features, 9);
  EXPECT_THAT(features.questions, ElementsAre(0, 0, 1));
  keep_first_windows(features, 2);
  EXPECT_EQ(features.windows.size(), 2);
  EXPECT_THAT(features.questions, ElementsAre(0, 0));
  EXPECT_THAT(features.windows.answer_ends.size(), 2U);
  EXPECT_EQ(static_cast<std::int64_t>(features.windows.ids.size()), features.windows.starts.back());
  EXPECT_EQ(features.windows.types.size(), features.windows.ids.size());
}

TEST(SquadFeatures, PointToTheLastTokenOfAWindow) {
  const auto features = training_features({question("a b", {{"b", 2}})}, letters(), 16, 2, 1);
  EXPECT_THAT(features.windows.answer_starts, ElementsAre(4));
  EXPECT_THAT(features.windows.answer_ends, ElementsAre(4));
}

TEST(SquadFeatures, PointToClsWhereTheAnswerIsNotWhole) {
  // Windows of three context tokens: a b c, c a b; the answer is cut, or not there.
  const auto features = training_features(
      {question("a b c a b", {{"c a", 4}}), question("a", {}), question("a", {{"a", -1}})},
      letters(), 7, 1, 1);
  EXPECT_THAT(features.questions, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(features.windows.answer_starts, ElementsAre(0, 3, 0, 0));
  EXPECT_THAT(features.windows.answer_ends, ElementsAre(0, 4, 0, 0));
}

TEST(SquadFeatures, NamesTheQuestionThatLeavesNoRoom) {
  try {
    evaluation_features({question("a b c a b", {})}, letters(), 5, 1, 2);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("question 'q': --max_seq_length 5: "));
  }
}

// [CLS] a [SEP] a b c [SEP] with these start and end logits.
QuestionAnswer answer(const std::vector<float>& logits, const AnswerSettings& settings) {
  const std::vector<SquadExample> examples = {question("\u00e1 b c", {})};
  const auto features = evaluation_features(examples, letters(), 16, 2, 1);
  return choose_answers(examples, features, logits, settings).front();
}

TEST(SquadAnswers, ChooseTheBestSpanOfTheContext) {
  const QuestionAnswer best = answer({9, 9, 8, 8, 9, 9, 1, 0, 2, 3, 0, 2, 9, 9}, {});
  EXPECT_EQ(best.text, "b");
  EXPECT_EQ(best.candidates.size(), 6u);
  EXPECT_EQ(best.candidates[1].text, "b c");
}

TEST(SquadAnswers, KeepToTheLengthAndTheNumberAskedFor) {
  const AnswerSettings settings{.n_best_size = 7, .max_answer_length = 1};
  const QuestionAnswer best = answer({0, 0, 0, 0, 0, 0, 5, 0, 1, 1, 0, 5, 0, 0}, settings);
  EXPECT_EQ(best.candidates.size(), 3u);
  EXPECT_EQ(best.text, "\u00e1");  // of equal scores the one with the better start
}

TEST(SquadAnswers, SayNothingWhenThatIsLikelier) {
  const std::vector<float> logits = {4, 4, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0};
  AnswerSettings settings{.version_2_with_negative = true};
  EXPECT_EQ(answer(logits, settings).text, "");
  EXPECT_DOUBLE_EQ(answer(logits, settings).null_odds, 3.0);
  settings.null_score_diff_threshold = 3;
  EXPECT_EQ(answer(logits, settings).text, "b");
}

TEST(SquadAnswers, AreWrittenAsRunQaWritesThem) {
  const std::vector<SquadExample> examples = {question("", {})};
  const std::vector<QuestionAnswer> answers = {{"\u00e1\"", {{"\u00e1\"", 1.5F, -2, 0.25}}, 0.5}};
  EXPECT_EQ(predictions_json(examples, answers), "{\n    \"q\": \"\\u00e1\\\"\"\n}\n");
  EXPECT_EQ(null_odds_json(examples, answers), "{\n    \"q\": 0.5\n}\n");
  EXPECT_EQ(nbest_json(examples, answers),
            "{\n    \"q\": [\n        {\n            \"start_logit\": 1.5,\n"
            "            \"end_logit\": -2.0,\n            \"text\": \"\\u00e1\\\"\",\n"
            "            \"probability\": 0.25\n        }\n    ]\n}\n");
}

TEST(SquadMetrics, NormalizeBeforeTheyCompare) {
  const std::vector<std::pair<std::string, std::string>> alike = {
      {" The  cat's\ta-HAT, an\u00a0Ox. ", "cats ahat ox"},
      {"\u039F\u0394\u039F\u03A3 a\u0301", "\u03BF\u03B4\u03BF\u03C2 \u0301"},
      {"the Cat", "cat!"}};
  for (const auto& [gold, answer] : alike) {
    EXPECT_THAT(squad_metrics({question("", {{gold, 0}})}, {answer}),
                ElementsAre(Pair("exact_match", 100.0), Pair("f1", 100.0)))
        << gold;
  }
  EXPECT_THAT(squad_metrics({question("", {{"cats", 0}})}, {"cat s"}),
              ElementsAre(Pair("exact_match", 0.0), Pair("f1", 0.0)));
}

TEST(SquadMetrics, CountTheWordsThatAnswersShare) {
  EXPECT_THAT(squad_metrics({question("", {{"big black cat", 0}})}, {"black cat black"}),
              ElementsAre(Pair("exact_match", 0.0), Pair("f1", DoubleNear(200.0 / 3, 1e-9))));
}

TEST(SquadMetrics, TakeTheBestOfSeveralAnswers) {
  const std::vector<SquadExample> examples = {question("", {{"x y", 0}, {"y", 0}}),
                                              question("", {{"z", 0}})};
  EXPECT_THAT(squad_metrics(examples, {"y", "w"}),
              ElementsAre(Pair("exact_match", 50.0), Pair("f1", 50.0)));
}

TEST(SquadMetrics, CountAnswersAndTheirAbsenceApart) {
  const std::vector<SquadExample> examples = {question("", {{"x", 0}}), question("", {}),
                                              question("", {})};
  const MetricList metrics = squad_v2_metrics(examples, {"x", "", "y"}, {-1, 0.5, 2});
  EXPECT_THAT(
      metrics,
      ElementsAre(Pair("exact", 100 * 2.0 / 3), Pair("f1", 100 * 2.0 / 3), Pair("total", 3.0),
                  Pair("HasAns_exact", 100.0), Pair("HasAns_f1", 100.0), Pair("HasAns_total", 1.0),
                  Pair("NoAns_exact", 50.0), Pair("NoAns_f1", 50.0), Pair("NoAns_total", 2.0),
                  Pair("best_exact", 100.0), Pair("best_exact_thresh", -1.0),
                  Pair("best_f1", 100.0), Pair("best_f1_thresh", -1.0)));
}

}  // namespace
}  // namespace dtl::trainer::squad_test
