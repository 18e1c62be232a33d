#include "trainer/tasks/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer::candidates_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kChoices =
    "id,sent1,sent2,ending0,ending1,label\n"
    "7,a,b,a,b,1\n"
    "8,b,,b a,b,0\n";
constexpr const char* kPairs = "query,passage,label\na,b,1\na,a b,0\nb,a,0\n";

struct Loaded {
  TemporaryFolder folder;
  Settings settings;
  Prepared prepared;

  explicit Loaded(const std::string& task) {
    settings.task = task;
    prepared.length = 8;
    prepared.tokenizer.emplace(
        std::vector<std::string>{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"}, true);
    prepared.config.task = task_kind(task).head;
  }
  Loaded& trains_on(const std::string& rows) {
    settings.do_train = true;
    settings.train_file = folder.write("train.csv", rows);
    return *this;
  }
  Loaded& evaluates(const std::string& rows) {
    settings.do_eval = true;
    settings.validation_file = folder.write("eval.csv", rows);
    return *this;
  }
  Prepared& prepare() {
    task_kind(settings.task).prepare(settings, prepared);
    return prepared;
  }
  std::string error() {
    try {
      prepare();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  MetricList metrics(const std::vector<float>& outputs) {
    const Questioned& set = prepared.evaluation.front();
    return task_kind(settings.task).score({settings, prepared, set, outputs}).metrics;
  }
};

double figure(const MetricList& metrics, const std::string& name) {
  for (const auto& [each, value] : metrics) {
    if (each == name) return value;
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(MultipleChoice, EncodesEachChoiceWithTheText) {
  Loaded choices("multiple_choice");
  const Examples& examples = choices.trains_on(kChoices).prepare().train;
  EXPECT_EQ(examples.texts, 2);
  EXPECT_EQ(examples.size(), 2);
  EXPECT_THAT(examples.labels, ElementsAre(1, 0));
  // [CLS] a [SEP] b a [SEP], [CLS] a [SEP] b b [SEP], ..
  EXPECT_THAT(std::vector<int>(examples.ids.begin(), examples.ids.begin() + 12),
              ElementsAre(2, 4, 3, 5, 4, 3, 2, 4, 3, 5, 5, 3));
  EXPECT_EQ(examples.tokens_of(0), 12);
}

TEST(MultipleChoice, TellsWhatItRead) {
  Loaded run("multiple_choice");
  EXPECT_THAT(run.trains_on(kChoices).prepare().data_sets,
              ElementsAre(HasSubstr("train.csv: 2 examples; text: sent1; start of each candidate: "
                                    "sent2; 2 candidates: ending0, ending1; label: label; "
                                    "not read: id")));
}

TEST(MultipleChoice, TakesNamedColumns) {
  Loaded run("multiple_choice");
  run.settings.text_column_names = "q";
  run.settings.choice_column_names = "x,y,z";
  run.settings.label_column_name = "right";
  run.trains_on("q,x,y,z,right\na,a,b,a b,2\n");
  EXPECT_EQ(run.prepare().train.texts, 3);
  EXPECT_THAT(run.prepared.train.labels, ElementsAre(2));
}

TEST(MultipleChoice, RefusesWhatIsNoChoice) {
  EXPECT_THAT(
      Loaded("multiple_choice").trains_on("sent1,sent2,ending0,ending1,label\na,b,a,b,2\n").error(),
      AllOf(HasSubstr("train.csv:2: cannot read this row"),
            HasSubstr("'2' is not the number of a choice, from 0 to 1")));
  EXPECT_THAT(Loaded("multiple_choice").trains_on("sent1,sent2,label\na,b,0\n").error(),
              HasSubstr("at least two of them must be choices"));
  EXPECT_THAT(Loaded("multiple_choice").trains_on("sent2,ending0,ending1,label\na,b,c,0\n").error(),
              HasSubstr("none is called 'sent1'"));
}

TEST(MultipleChoice, CountsRightChoices) {
  Loaded run("multiple_choice");
  run.evaluates(kChoices).prepare();
  EXPECT_EQ(figure(run.metrics({0, 1, 0, 1}), "accuracy"), 0.5);
  EXPECT_NEAR(figure(run.metrics({0, 0, 0, 0}), "loss"), std::log(2.0), 1e-12);
}

TEST(Reranking, ReadsPairsWithLabels) {
  Loaded run("reranking");
  const Examples& examples = run.trains_on(kPairs).prepare().train;
  EXPECT_EQ(examples.texts, 1);
  EXPECT_THAT(examples.targets, ElementsAre(1, 0, 0));
  EXPECT_THAT(run.prepared.config.labels, ElementsAre("LABEL_0"));
  EXPECT_THAT(run.prepared.config.columns.first, ElementsAre("query", "passage"));
  EXPECT_EQ(run.prepared.config.columns.label, "label");
}

TEST(Reranking, TakesTheFirstOfSeveralPassagesAsTheRightOne) {
  Loaded run("reranking");
  const Examples& examples = run.trains_on("q,right,w1,w2\na,a,b,b\nb,b,a,a\n").prepare().train;
  EXPECT_EQ(examples.texts, 3);
  EXPECT_THAT(examples.targets, ElementsAre(1, 0, 0, 1, 0, 0));
}

TEST(Reranking, RanksThePassagesOfEachQuery) {
  Loaded run("reranking");
  run.prepared.config.labels = {"LABEL_0"};
  run.evaluates(kPairs).prepare();
  // Query a: the right passage is second; query b has none.
  const MetricList metrics = run.metrics({1, 2, 0});
  EXPECT_EQ(figure(metrics, "mrr@10"), 0.25);
  EXPECT_EQ(figure(metrics, "map"), 0.25);
  EXPECT_NEAR(figure(metrics, "ndcg@10"), 0.5 / std::log2(3.0), 1e-12);
}

TEST(Reranking, CorrelatesScores) {
  Loaded run("reranking");
  run.prepared.config.labels = {"LABEL_0"};
  run.evaluates("a,b,score\na,b,0.5\nb,a,0.25\na,a,1\n").prepare();
  EXPECT_NEAR(figure(run.metrics({0, -1, 1}), "spearmanr"), 1, 1e-12);
}

TEST(Reranking, RefusesWhatCannotBeRanked) {
  EXPECT_THAT(Loaded("reranking").trains_on("query,passage,label\na,b,2\n").error(),
              AllOf(HasSubstr("train.csv:2"), HasSubstr("not a number from 0 to 1")));
  EXPECT_THAT(Loaded("reranking").trains_on("query,passage\na,b\n").error(),
              HasSubstr("a query, a right passage and wrong ones are needed"));
  EXPECT_THAT(Loaded("reranking").trains_on("query,title,passage,label\na,b,a,1\n").error(),
              HasSubstr("there must be one query and one passage"));
  EXPECT_THAT(Loaded("reranking").trains_on("query,passage,label\na,b,1\nb,a,1\n").error(),
              HasSubstr("all are 1"));
  Loaded softmax("reranking");
  softmax.settings.reranking_loss = "softmax";
  EXPECT_THAT(softmax.trains_on(kPairs).error(), HasSubstr("one passage in a row"));
  Loaded relu("reranking");
  relu.prepared.config.score_activation = "torch.nn.modules.activation.ReLU";
  EXPECT_THAT(relu.trains_on(kPairs).error(), HasSubstr("dttrain has Sigmoid and Identity"));
}

TEST(Reranking, EvaluatesOnlyModelsWithOneLabel) {
  Loaded run("reranking");
  run.prepared.config.labels = {"no", "yes"};
  EXPECT_THAT(run.evaluates(kPairs).error(), HasSubstr("the model has 2 labels"));
}

}  // namespace
}  // namespace dtl::trainer::candidates_test
