#include "trainer/report/evaluation_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dtl::trainer::evaluation_tables_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

ModelConfig with_labels(std::vector<std::string> labels, Problem problem = Problem::kSingleLabel) {
  ModelConfig config;
  config.labels = std::move(labels);
  config.problem = problem;
  return config;
}

Examples labelled(std::vector<std::int32_t> labels) {
  Examples examples;
  examples.starts.resize(labels.size() + 1);
  examples.labels = std::move(labels);
  return examples;
}

std::vector<std::string> texts_of(const std::vector<ReportCell>& row) {
  std::vector<std::string> texts;
  for (const ReportCell& cell : row) texts.push_back(cell.text);
  return texts;
}

const std::vector<std::string> kTexts = {"one", "two", "three", "four"};

TEST(EvaluationTables, CountLabelsAndWhatWasConfused) {
  const ModelConfig config = with_labels({"no", "yes"});
  const Examples train = labelled({0, 0, 0, 1}), set = labelled({0, 0, 1, 1});
  // Predicted: no, yes, yes, yes.
  const std::vector<float> logits = {1, 0, 0, 1, 0, 2, 0, 3};
  const auto tables = label_tables(config, train, {set, logits, kTexts, {}});
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_THAT(texts_of(tables[0].rows[0]), ElementsAre("no", "3", "2", "1", "1"));
  EXPECT_THAT(texts_of(tables[0].rows[1]), ElementsAre("yes", "1", "2", "3", "2"));
  EXPECT_THAT(tables[1].columns, ElementsAre("", "no", "yes"));
  EXPECT_THAT(texts_of(tables[1].rows[0]), ElementsAre("no", "1", "1"));
  EXPECT_THAT(texts_of(tables[1].rows[1]), ElementsAre("yes", "0", "2"));
  EXPECT_EQ(tables[1].rows[0][2].hint, "no predicted as yes: 1");
  EXPECT_EQ(tables[1].rows[0][2].shade, ReportShade::kBad);
  EXPECT_DOUBLE_EQ(tables[1].rows[0][2].depth, 0.5);
}

TEST(EvaluationTables, NamePairsIfLabelsAreTooManyForAMatrix) {
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) names.push_back("l" + std::to_string(i));
  const Examples set = labelled({7, 7, 8, 9});
  std::vector<float> logits(60 * 4);
  for (const std::size_t at : {60 * 0 + 8, 60 * 1 + 8, 60 * 2 + 8, 60 * 3 + 1}) logits[at] = 1;
  const auto tables = label_tables(with_labels(names), set, {set, logits, kTexts, {}});
  EXPECT_EQ(tables[0].rows.size(), 50u);
  EXPECT_THAT(tables[0].note, HasSubstr("50 most frequent of 60 labels"));
  ASSERT_EQ(tables[1].rows.size(), 2u);
  EXPECT_THAT(texts_of(tables[1].rows[0]), ElementsAre("l7", "l8", "2"));
  EXPECT_THAT(texts_of(tables[1].rows[1]), ElementsAre("l9", "l1", "1"));
}

TEST(EvaluationTables, ShowTheExamplesWithTheHighestLossFirst) {
  const ModelConfig config = with_labels({"no", "yes"});
  const Examples set = labelled({0, 0, 1, 1});
  const std::vector<float> logits = {1, 0, 0, 1, 0, 2, 3, 0};
  const ClassifiedSet classified{set, logits, kTexts, {2, 3, 4, 5}};
  const ReportExamples worst = worst_examples(config, classified, 2);
  ASSERT_EQ(worst.examples.size(), 2u);
  EXPECT_EQ(worst.examples[0].text, "four");
  // Probabilities: 1 / (1 + e^3); loss: log(1 + e^3).
  EXPECT_THAT(worst.examples[0].facts,
              ElementsAre(Pair("true", "yes (4.7%)"), Pair("predicted", "no (95.3%)"),
                          Pair("loss", "3.0486"), Pair("line", "5")));
  EXPECT_EQ(worst.examples[1].text, "two");
  EXPECT_THAT(worst_examples(config, classified, 0).examples, IsEmpty());
  EXPECT_EQ(worst_examples(config, classified, 100).examples.size(), 4u);
  const std::vector<std::string> none;
  EXPECT_THAT(worst_examples(config, {set, logits, none, {}}, 9).examples, IsEmpty());
}

TEST(EvaluationTables, ShowTheLargestErrorsOfARegression) {
  const ModelConfig config = with_labels({"LABEL_0"}, Problem::kRegression);
  Examples set;
  set.starts.resize(3);
  set.targets = {1, 5};
  const std::vector<float> logits = {1.5F, 2};
  const std::vector<std::string> texts = {"near", "far"};
  const ClassifiedSet classified{set, logits, texts, {}};
  EXPECT_THAT(worst_examples(config, classified, 1).examples[0].facts,
              ElementsAre(Pair("true", "5"), Pair("predicted", "2"), Pair("error", "-3"),
                          Pair("loss", "9.0000")));
  const auto tables = label_tables(config, {}, classified);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_THAT(texts_of(tables[0].rows[0]), ElementsAre("evaluation", "2", "1", "3", "5", "2"));
}

TEST(EvaluationTables, NameAllLabelsOfAnExampleThatHasSeveral) {
  const ModelConfig config = with_labels({"a", "b"}, Problem::kMultiLabel);
  Examples set;
  set.starts.resize(3);
  set.targets = {1, 1, 0, 0};
  const std::vector<float> logits = {1, -9, -1, -1};
  const std::vector<std::string> texts = {"both", "neither"};
  const ClassifiedSet classified{set, logits, texts, {}};
  const ReportExample worst = worst_examples(config, classified, 1).examples[0];
  EXPECT_EQ(worst.text, "both");
  EXPECT_EQ(worst.facts[0].second, "a, b");
  EXPECT_EQ(worst.facts[1].second, "a");
  const auto tables = label_tables(config, set, classified);
  ASSERT_EQ(tables.size(), 2u) << "no matrix: a label is not confused with one other label";
  EXPECT_THAT(texts_of(tables[0].rows[1]), ElementsAre("b", "1", "1", "0", "0"));
  EXPECT_THAT(texts_of(tables[1].rows[0]),
              ElementsAre("a", "1", "0", "0", "1.000", "1.000", "1.000"));
  EXPECT_THAT(texts_of(tables[1].rows[1]),
              ElementsAre("b", "0", "1", "0", "0.000", "0.000", "0.000"));
}

TEST(EvaluationTables, ShowAnswersWithoutAnyExpectedWord) {
  const std::vector<SquadExample> questions = {{"q1", "", "", "Who?", {{"Ada", 0}}},
                                               {"q2", "", "", "Where?", {{"in Rome", 0}}},
                                               {"q3", "", "", "When?", {{"May", 0}}}};
  std::vector<QuestionAnswer> answers(3);
  answers[0] = {"Bob", {{"Bob", 1, 1, 0.25}}, 0};
  answers[1] = {"Rome", {{"Rome", 1, 1, 0.9}}, 0};
  answers[2] = {"June", {{"June", 1, 1, 0.75}}, 0};
  const ReportExamples wrong = wrong_answers(questions, answers, false, 10);
  EXPECT_THAT(wrong.note, HasSubstr("2 of 3 answers"));
  ASSERT_EQ(wrong.examples.size(), 2u);
  EXPECT_EQ(wrong.examples[0].text, "When?") << "the surest comes first";
  EXPECT_THAT(
      wrong.examples[1].facts,
      ElementsAre(Pair("expected", "Ada"), Pair("predicted", "Bob (25.0%)"), Pair("id", "q1")));
  EXPECT_EQ(wrong_answers(questions, answers, false, 1).examples.size(), 1u);
}

TEST(EvaluationTables, HaveTheTasksMainFigureAsHeadline) {
  const auto headline = [](const MetricList& metrics) {
    return evaluation_headline(metrics, 408, {});
  };
  const ReportHeadline mrpc =
      headline({{"loss", 0.4}, {"accuracy", 0.84069}, {"f1", 0.889}, {"combined_score", 0.86}});
  EXPECT_EQ(mrpc.value, "0.8407");
  EXPECT_EQ(mrpc.name, "accuracy");
  EXPECT_EQ(mrpc.detail, "on the evaluation set, 408 examples; F1 0.8890; combined score 0.8600");
  EXPECT_EQ(headline({{"loss", 1}, {"matthews_correlation", 0.5}}).name, "Matthews correlation");
  EXPECT_EQ(headline({{"loss", 1}, {"pearson", 0.9}, {"spearmanr", 0.8}}).value, "0.9000");
  const ReportHeadline squad =
      evaluation_headline({{"exact_match", 80.5}, {"f1", 88.25}}, 1,
                          {.main = "f1", .unit = "question", .of_100 = true});
  EXPECT_EQ(squad.value, "88.25");
  EXPECT_EQ(squad.name, "F1 (of 100)");
  EXPECT_EQ(squad.detail, "on the evaluation set, 1 question; exact match 80.50");
}

TEST(EvaluationTables, HaveTheTrainingLossAsHeadlineWithoutAnEvaluation) {
  EXPECT_EQ(training_headline({{"train_loss", 0.25}}).value, "0.2500");
  EXPECT_EQ(training_headline({{"total_train_loss", 0.5}, {"train_loss", 0.25}}).value, "0.5000");
  EXPECT_THAT(training_headline({{"train_loss", 0.25}}).detail, HasSubstr("--do_eval"));
  EXPECT_EQ(training_headline({}).value, "");
}

TEST(EvaluationTables, CutLongTextsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "\xC3\xA9";
  EXPECT_EQ(text_beginning(text), text.substr(0, 400) + "…");
  EXPECT_EQ(text_beginning("a\nb\tc"), "a b c");
}

}  // namespace
}  // namespace dtl::trainer::evaluation_tables_test
