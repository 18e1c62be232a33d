#include "trainer/tasks/load_sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/trainer/model_support.h"
#include "tests/trainer/temporary_folder.h"
#include "tests/trainer/thread_ring.h"
#include "trainer/checkpoint/run_identity.h"
#include "trainer/job/load_inputs.h"
#include "trainer/tasks/entities.h"
#include "trainer/tasks/tag_outputs.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer::load_sentences_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Case {
  TemporaryFolder folder;
  Settings settings;
  Prepared prepared;

  Case() {
    settings.task = "token_classification";
    prepared.length = 8;
    prepared.tokenizer.emplace(
        std::vector<std::string>{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "c"}, true);
  }
  void train_on(const std::string& text, const std::string& name = "t.conll") {
    settings.do_train = true;
    settings.train_file = folder.write(name, text);
  }
  void evaluate_on(const std::string& text, const std::string& name = "v.conll") {
    settings.do_eval = true;
    settings.validation_file = folder.write(name, text);
  }
  void predict_for(const std::string& text, const std::string& name = "p.conll") {
    settings.do_predict = true;
    settings.test_file = folder.write(name, text);
  }
  Prepared& load() {
    prepare_token_classification(settings, prepared);
    return prepared;
  }
  std::string refusal() {
    try {
      load();
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return "";
  }
};

TEST(TaggedSentences, LabelTheFirstTokenOfEachWord) {
  Case run;
  run.train_on("abb B-X\nc O\n\nab I-X\n");
  const Prepared& prepared = run.load();
  EXPECT_THAT(prepared.config.labels, ElementsAre("B-X", "I-X", "O"));
  EXPECT_THAT(prepared.train.ids, ElementsAre(2, 4, 5, 5, 6, 3, 2, 4, 5, 3));
  EXPECT_THAT(prepared.train.token_labels, ElementsAre(-1, 0, -1, -1, 2, -1, -1, 1, -1, -1));
  EXPECT_THAT(prepared.data_sets.front(),
              HasSubstr("t.conll: 2 sentences, 3 words; tags: IOB2 (B-X: 1, I-X: 1, O: 1)"));
}

TEST(TaggedSentences, LabelAllTokensAsRunNerDoes) {
  Case run;
  run.settings.label_all_tokens = true;
  run.train_on("abb B-X\nab O\n\nab I-X\n\nab B-Y\n");
  // There is no I-Y, so the second token has B-Y, too.
  EXPECT_THAT(run.load().train.token_labels,
              ElementsAre(-1, 0, 2, 2, 3, 3, -1, -1, 2, 2, -1, -1, 1, 1, -1));
}

TEST(TaggedSentences, TellWhatIsCutAndWhatHasNoToken) {
  Case run;
  run.prepared.length = 5;
  run.train_on("a B-X\nc O\nabb O\n\n\x01 O\nc O\n");
  const Prepared& prepared = run.load();
  EXPECT_THAT(prepared.data_sets.front(), HasSubstr("1 word of 1 sentence cut off at 5 tokens"));
  EXPECT_THAT(prepared.notices,
              Contains(HasSubstr("1 word without a token, the first in the sentence of line 5")));
}

TEST(TagNames, OfTheModelKeepTheirOrder) {
  Case run;
  run.prepared.config.labels = {"O", "B-x"};
  run.train_on("a B-X\nc O\n");
  const Prepared& prepared = run.load();
  EXPECT_THAT(prepared.config.labels, ElementsAre("O", "B-x"));
  EXPECT_THAT(prepared.train.token_labels, ElementsAre(-1, 1, 0, -1));
}

TEST(TagNames, OfNumbersAreTheModelsOrLabelsWithNumbers) {
  const std::string rows = R"({"tokens": ["a", "c"], "ner_tags": [2, 0]})";
  Case unnamed;
  unnamed.train_on(rows, "t.jsonl");
  unnamed.evaluate_on(rows, "v.jsonl");
  unnamed.load();
  EXPECT_THAT(unnamed.prepared.config.labels, ElementsAre("LABEL_0", "LABEL_1", "LABEL_2"));
  EXPECT_THAT(unnamed.prepared.evaluation.front().examples.token_labels, ElementsAre(-1, 2, 0, -1));
  EXPECT_THAT(unnamed.prepared.notices, Contains(HasSubstr("0 is called LABEL_0")));
  Case named;
  named.prepared.config.labels = {"O", "B-X", "I-X"};
  named.evaluate_on(rows, "v.jsonl");
  named.load();
  EXPECT_THAT(named.prepared.config.labels, ElementsAre("O", "B-X", "I-X"));
  EXPECT_THAT(named.prepared.notices, Contains(HasSubstr("0 means the model's O")));
}

TEST(TagNames, ThatTheModelLacksAreRefusedWithTheirLine) {
  Case run;
  run.train_on("a B-X\nc O\n");
  run.evaluate_on("a O\n\nc O\na B-Z\n");
  EXPECT_THAT(run.refusal(), HasSubstr("v.conll:4: cannot use the tag 'B-Z' of 'a': the model's "
                                       "labels are B-X, O"));
  Case single;
  single.train_on("a O\nc O\n");
  EXPECT_THAT(single.refusal(), HasSubstr("there are fewer than two labels: O"));
}

TEST(TagColumns, CannotBeChosenInConllFiles) {
  Case run;
  run.settings.text_column_name = "tokens";
  run.train_on("a B-X\nc O\n");
  EXPECT_THAT(run.refusal(), HasSubstr("is a CoNLL file: the word is in the first column"));
}

TEST(TagScheme, IsToldApartByItsLetters) {
  const auto scheme = [](std::vector<std::string> tags) {
    TaggedDataset set;
    set.sentences.push_back({std::vector<std::string>(tags.size(), "a"), tags, 3});
    return find_scheme(set);
  };
  EXPECT_EQ(scheme({"B-X", "I-X", "O"}).name, "IOB2");
  EXPECT_EQ(scheme({"I-X", "B-X", "O", "I-X"}).name, "IOB1");
  EXPECT_EQ(scheme({"S-X", "B-X", "E-X", "O"}).name, "BIOES");
  EXPECT_EQ(scheme({"I-X", "E-X", "O"}).name, "IOE");
  EXPECT_EQ(scheme({"U-X", "O"}).name, "BILOU");
  EXPECT_EQ(scheme({"NN", "O", "B-X"}).name, "");
  const TagScheme mixed = scheme({"B-X", "O", "I-X"});
  EXPECT_EQ(mixed.name, "IOB2");
  EXPECT_EQ(mixed.odd, 1);
  EXPECT_EQ(mixed.odd_line, 3);
}

// Outputs that choose label 1 for the first token and 0 for the second.
TEST(TagPredictions, KeepWordsThatHaveNoTag) {
  Case run;
  run.prepared.config.labels = {"O", "B-X"};
  run.prepared.length = 4;
  run.predict_for("\x01\nab\nc\n");
  run.load();
  const Questioned& set = run.prepared.test.front();
  EXPECT_THAT(set.examples.ids, ElementsAre(2, 4, 5, 3));
  const std::vector<float> outputs = {0, 0, 0, 2, 3, 0, 0, 0};
  const ModelOutputs of{run.settings, run.prepared, set, outputs, false};
  const std::vector<TaskFile> files =
      kTokenClassification.files(of, kTokenClassification.score(of));
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "predictions.txt");
  EXPECT_EQ(files[0].text, "B-X\n");
  EXPECT_EQ(files[1].text, R"({"line":1,"words":["\u0001","ab","c"],"tags":[null,"B-X",null],)"
                           R"("scores":[null,0.880797,null],)"
                           R"("entities":[{"type":"X","begin":1,"end":2,"score":0.880797}]})"
                           "\n");
  run.settings.label_all_tokens = true;
  EXPECT_EQ(kTokenClassification.files(of, kTokenClassification.score(of))[0].text, "B-X O\n");
}

TEST(TagFigures, AreKnownBeforeTraining) {
  Settings settings;
  ModelConfig config;
  config.labels = {"B-PER", "I-PER", "O"};
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& [name, value] : kTokenClassification.figures(settings, config, {})) {
      all.push_back(name);
    }
    return all;
  };
  EXPECT_THAT(names(), ElementsAre("precision", "recall", "f1", "accuracy", "loss"));
  settings.return_entity_level_metrics = true;
  EXPECT_THAT(names(), Contains("PER_f1"));
  EXPECT_THAT(names(), Contains("overall_f1"));
  const MetricList shown = main_metrics(kTokenClassification.figures(settings, config, {}));
  EXPECT_EQ(shown.size(), 5U);
}

TEST(TagScores, AreShownByEntityAndByWord) {
  Case run;
  run.settings.output_dir = "out";
  run.prepared.config.labels = {"O", "B-X", "I-X"};
  run.train_on("a B-X\nc O\nc I-X\n");
  run.evaluate_on("a B-X\nc I-X\n\nc O\n");
  run.load();
  const Questioned& set = run.prepared.evaluation.front();
  // [CLS] a c [SEP] [CLS] c [SEP]; a is right, the rest is not.
  const std::vector<float> outputs = {0, 0, 0, 0, 9, 0, 9, 0, 0, 0, 0,
                                      0, 0, 0, 0, 0, 9, 0, 0, 0, 0};
  const ModelOutputs of{run.settings, run.prepared, set, outputs};
  const TaskScore score = kTokenClassification.score(of);
  EXPECT_EQ(score.metrics[0].first, "loss");
  EXPECT_NEAR(score.metrics[0].second, 6.0003, 1e-3);
  EXPECT_NEAR(score.metrics[4].second, 1.0 / 3, 1e-12);
  EXPECT_THAT(score.lines,
              ElementsAre(HasSubstr("entity         precision  recall"), HasSubstr("X"),
                          HasSubstr("mean"), HasSubstr("weighted mean")));
  const EvaluationView view = kTokenClassification.view(of, score);
  EXPECT_EQ(view.headline.name, "F1");
  ASSERT_EQ(view.tables.size(), 2U);
  EXPECT_EQ(view.tables[0].rows[0][0].text, "X");
  EXPECT_EQ(view.tables[1].rows.size(), 2U);
  ASSERT_EQ(view.examples.examples.size(), 2U);
  EXPECT_EQ(view.examples.examples[0].text, "c");
  EXPECT_EQ(view.examples.examples[0].facts[0].second, "c: O, predicted B-X (100.0%)");
  EXPECT_THAT(kTokenClassification.files(of, score), IsEmpty());
}

TEST(TokenLabels, ReachAllRanks) {
  std::vector<std::int32_t> received;
  run_ranks(2, [&](Ranks& group) {
    Case run;
    run.train_on("a B-X\nc O\n");
    if (group.rank() == 0) run.load();
    share(group, run.prepared);
    if (group.rank() == 1) received = run.prepared.train.token_labels;
  });
  EXPECT_THAT(received, ElementsAre(-1, 0, 1, -1));
}

TEST(TokenLabels, BelongToTheIdentityOfARun) {
  Case run;
  run.train_on("a B-X\nc O\n");
  Examples examples = run.load().train;
  ThreadPool pool(1, false);
  const Model<float> model(tiny_config(ModelType::kBert), pool);
  const auto hash = [&] { return identity_of(model, {}, examples, Precision::kFloat32).data_hash; };
  const std::uint64_t before = hash();
  std::swap(examples.token_labels[1], examples.token_labels[2]);
  EXPECT_NE(hash(), before);
}

}  // namespace
}  // namespace dtl::trainer::load_sentences_test
