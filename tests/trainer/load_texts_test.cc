#include "trainer/tasks/load_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::load_texts_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Prepared model_with(const std::vector<std::string>& labels) {
  Prepared prepared;
  prepared.config.labels = labels;
  prepared.length = 8;
  prepared.tokenizer.emplace(std::vector<std::string>{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"},
                             true);
  return prepared;
}

Prepared evaluated(const std::vector<std::string>& model_labels, const std::string& rows,
                   Problem problem = Problem::kSingleLabel) {
  const TemporaryFolder folder;
  Settings settings;
  settings.do_eval = true;
  settings.validation_file = folder.write("eval.tsv", "sentence\tlabel\n" + rows);
  if (problem == Problem::kMultiLabel) settings.label_delimiter = ";";
  Prepared prepared = model_with(model_labels);
  prepared.config.problem = problem;
  prepare_classification(settings, prepared);
  return prepared;
}

std::vector<std::int32_t> ids(const std::vector<std::string>& model_labels,
                              const std::string& rows) {
  return evaluated(model_labels, rows).evaluation.front().examples.labels;
}

TEST(EvaluationLabels, MayBeNumbersOfLabelsThatNobodyNamed) {
  const std::vector<std::string> generic = {"LABEL_0", "LABEL_1", "LABEL_2"};
  EXPECT_THAT(ids(generic, "a\t2\nb\t0\na\t1\n"), ElementsAre(2, 0, 1));
  EXPECT_THAT(ids(generic, "a\t2\nb\t0\n"), ElementsAre(2, 0));  // no 1
  EXPECT_THAT(ids(generic, "a\tLABEL_2\n"), ElementsAre(2));
  EXPECT_THAT(ids(generic, "a\ty\nb\tx\na\tz\n"), ElementsAre(1, 0, 2));
  EXPECT_THROW(ids(generic, "a\t3\n"), Error);
  EXPECT_THROW(ids(generic, "a\t-1\n"), Error);
  EXPECT_THROW(ids(generic, "a\tx\nb\ty\n"), Error);  // whose name might be any
}

TEST(EvaluationLabels, MayBeNumbersOfLabelsThatHaveNames) {
  const std::vector<std::string> named = {"bad", "good", "none"};
  const Prepared prepared = evaluated(named, "a\t2\nb\t0\n");
  EXPECT_THAT(prepared.evaluation.front().examples.labels, ElementsAre(2, 0));
  EXPECT_EQ(prepared.config.labels, named);
  EXPECT_THAT(prepared.notices, ElementsAre(HasSubstr("0 means the model's bad")));
  EXPECT_THAT(ids(named, "a\tgood\n"), ElementsAre(1));
  EXPECT_THAT(ids({"2", "1", "0"}, "a\t2\n"), ElementsAre(0));  // numbers that are names
  EXPECT_THROW(ids(named, "a\t2\nb\tgood\n"), Error);
}

TEST(EvaluationLabels, MayBeWholeNumbersWithAFraction) {
  const Prepared prepared = evaluated({"0", "1"}, "a\t1.0\nb\t0.0\n");
  EXPECT_THAT(prepared.evaluation.front().examples.labels, ElementsAre(1, 0));
  EXPECT_THAT(prepared.notices, ElementsAre(HasSubstr("'0.0' counts as 0")));
  EXPECT_THAT(ids({"bad", "good"}, "a\t1.0\n"), ElementsAre(1));
  EXPECT_THAT(ids({"1.0", "2.0"}, "a\t2.0\n"), ElementsAre(1));
  EXPECT_THROW(ids({"0", "1"}, "a\t1.5\n"), Error);
  EXPECT_THROW(ids({"0", "1"}, "a\t01\n"), Error);
}

TEST(EvaluationLabels, MayBeSeveralNumbers) {
  const Prepared prepared = evaluated({"x", "y", "z"}, "a\t2;0\nb\t1\n", Problem::kMultiLabel);
  EXPECT_THAT(prepared.evaluation.front().examples.targets, ElementsAre(1, 0, 1, 0, 1, 0));
}

TEST(EvaluationLabels, AreTheModelsInUpperOrLowerCase) {
  const Prepared prepared = evaluated({"BAD", "GOOD"}, "a\tgood\nb\tBad\n");
  EXPECT_THAT(prepared.evaluation.front().examples.labels, ElementsAre(1, 0));
  EXPECT_THAT(prepared.config.labels, ElementsAre("BAD", "GOOD"));
  EXPECT_THROW(ids({"bad", "BAD", "good"}, "a\tBad\n"), Error);  // which one?
}

// Trained on sst2 and evaluated with it: 0 is negative, and 1 positive.
Prepared of_task(const std::vector<std::string>& model_labels) {
  const TemporaryFolder folder;
  Settings settings;
  settings.task_name = "sst2";
  settings.do_train = settings.do_eval = true;
  settings.train_file = folder.write("train.tsv", "sentence\tlabel\na\t0\nb\t1\na\t1\n");
  settings.validation_file = folder.write("dev.tsv", "sentence\tlabel\nb\t1\na\t0\n");
  Prepared prepared = model_with(model_labels);
  prepare_classification(settings, prepared);
  return prepared;
}

TEST(TaskLabels, GoByTheModelsNames) {
  const Prepared prepared = of_task({"Positive", "NEGATIVE"});
  EXPECT_THAT(prepared.train.labels, ElementsAre(1, 0, 0));
  EXPECT_THAT(prepared.evaluation.front().examples.labels, ElementsAre(0, 1));
  EXPECT_THAT(prepared.config.labels, ElementsAre("Positive", "NEGATIVE"));
  EXPECT_THAT(prepared.notices, ElementsAre());
}

TEST(TaskLabels, AreTheTasksWhereNobodyNamedThem) {
  for (const std::vector<std::string>& model : {std::vector<std::string>{"LABEL_0", "LABEL_1"},
                                                {"negative", "positive"},
                                                {},
                                                {"a", "b", "c"}}) {
    const Prepared prepared = of_task(model);
    EXPECT_THAT(prepared.train.labels, ElementsAre(0, 1, 1));
    EXPECT_THAT(prepared.config.labels, ElementsAre("negative", "positive"));
    EXPECT_THAT(prepared.notices, ElementsAre());
  }
}

TEST(TaskLabels, KeepOtherNamesByTheirPlaces) {
  const Prepared prepared = of_task({"bad", "good"});
  EXPECT_THAT(prepared.train.labels, ElementsAre(0, 1, 1));
  EXPECT_THAT(prepared.config.labels, ElementsAre("bad", "good"));
  EXPECT_THAT(prepared.notices,
              ElementsAre(HasSubstr(
                  "the model's labels (bad, good) mean the task's (negative, positive)")));
}

Prepared trained(const std::vector<std::string>& model_labels, const std::string& rows) {
  const TemporaryFolder folder;
  Settings settings;
  settings.do_train = settings.do_eval = true;
  settings.train_file = folder.write("train.tsv", "sentence\tlabel\n" + rows);
  settings.validation_file = settings.train_file;
  Prepared prepared = model_with(model_labels);
  prepare_classification(settings, prepared);
  EXPECT_EQ(prepared.evaluation.front().examples.labels, prepared.train.labels);
  return prepared;
}

TEST(TrainingLabels, GoByTheModelsNamesOrReplaceThemWithALine) {
  const std::string rows = "a\tyes\nb\tno\n";
  EXPECT_THAT(trained({"YES", "No"}, rows).train.labels, ElementsAre(0, 1));
  EXPECT_THAT(trained({"YES", "No"}, rows).config.labels, ElementsAre("YES", "No"));
  EXPECT_THAT(trained({"yes", "no"}, rows).train.labels, ElementsAre(0, 1));
  for (const std::vector<std::string>& model :
       {std::vector<std::string>{"LABEL_0", "LABEL_1"}, {}}) {
    EXPECT_THAT(trained(model, rows).config.labels, ElementsAre("no", "yes"));
    EXPECT_THAT(trained(model, rows).notices, ElementsAre());
  }
  // Two of the data's labels are one of the model's.
  const Prepared twice = trained({"yes", "no"}, "a\tYes\nb\tyes\n");
  EXPECT_THAT(twice.config.labels, ElementsAre("Yes", "yes"));
  EXPECT_THAT(twice.notices,
              ElementsAre(HasSubstr("'Yes' (1, first in line 2)"),
                          HasSubstr("(Yes, yes) take the places of the model's (yes, no)")));
  EXPECT_THAT(trained({"a", "b", "c"}, rows).notices,
              ElementsAre(HasSubstr("it has 2 labels (no, yes), but the model has 3 (a, b, c)")));
  const Prepared other = trained({"bad", "good"}, rows);
  EXPECT_THAT(other.config.labels, ElementsAre("no", "yes"));
  EXPECT_THAT(
      other.notices,
      ElementsAre(HasSubstr(
          "its labels (no, yes) take the places of the model's (bad, good), in this order")));
}

struct Several {
  TemporaryFolder folder;
  Settings settings;

  Several() {
    settings.do_train = settings.do_eval = true;
    settings.label_delimiter = ";";
    settings.train_file = folder.write("train.tsv", "sentence\tlabel\na\tx;y\nb\ty\na\tx\n");
    settings.validation_file = folder.write("dev.tsv", "sentence\tlabel\na\tx;new\n");
  }
  Prepared prepared() const {
    Prepared result = model_with({"LABEL_0", "LABEL_1"});
    prepare_classification(settings, result);
    return result;
  }
  std::string complaint() const {
    try {
      prepared();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST(SeveralLabels, MayOccurInTheEvaluationAlone) {
  const Prepared prepared = Several().prepared();
  EXPECT_THAT(prepared.config.labels, ElementsAre("x", "y", "new"));
  EXPECT_THAT(prepared.train.targets, ElementsAre(1, 1, 0, 0, 1, 0, 1, 0, 0));
  EXPECT_THAT(prepared.evaluation.front().examples.targets, ElementsAre(1, 0, 1));
  EXPECT_THAT(prepared.notices, testing::Contains(HasSubstr("the training set does not have new")));
}

TEST(SeveralLabels, NameTheDelimiterThatTheyNeed) {
  try {
    Several several;
    several.settings.label_delimiter = ",";
    several.settings.do_train = false;
    Prepared saved = model_with({"x", "y"});
    saved.config.problem = Problem::kMultiLabel;
    several.settings.validation_file = several.settings.train_file;
    prepare_classification(several.settings, saved);
    FAIL() << "it must be refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "--label_delimiter ';'");
  }
}

TEST(SeveralLabels, AreWeighedByTheTrainingSet) {
  Several several;
  several.settings.label_weights = "balanced";
  EXPECT_THAT(several.prepared().loss.label_weights, ElementsAre(0.5, 0.5, 1));
}

TEST(ClassificationOptions, AreRefusedWhereTheDataDoesNotFit) {
  Several several;
  several.settings.metric_name = "f2";
  EXPECT_THAT(several.complaint(), HasSubstr("--metric_name f2: not a figure"));
  several.settings.metric_name = "roc_auc";
  EXPECT_THAT(several.complaint(), HasSubstr("Try: --metric_name roc_auc_macro"));
  several.settings.metric_name = "recall";
  EXPECT_EQ(several.complaint(), "");
  several.settings.label_weights = "z=2";
  EXPECT_THAT(several.complaint(), HasSubstr("--label_weights z: the labels are x, y"));
  several.settings.label_weights = "";
  several.settings.label_delimiter = "";
  several.settings.metric_name = "";
  several.settings.validation_file = several.settings.train_file;
  several.settings.multi_label_threshold = 0.3;
  EXPECT_THAT(several.complaint(), HasSubstr("--multi_label_threshold 0.3"));
}

TEST(ShuffledTraining, TakesOtherExamplesThanTheFirst) {
  Several several;
  several.settings.do_eval = false;
  std::string rows = "sentence\tlabel\n";
  for (int i = 0; i < 50; ++i) rows += i < 25 ? "a\tx;y\n" : "a b\tx\n";
  several.settings.train_file = several.folder.write("many.tsv", rows);
  several.settings.max_train_samples = 25;
  const Prepared first = several.prepared();
  several.settings.shuffle_train_dataset = true;
  const Prepared shuffled = several.prepared();
  EXPECT_EQ(first.train.ids.size(), 75U);
  EXPECT_EQ(shuffled.train.size(), 25);
  EXPECT_GT(shuffled.train.ids.size(), 75U);
  EXPECT_EQ(several.prepared().train.ids, shuffled.train.ids);
  several.settings.shuffle_seed = 7;
  EXPECT_NE(several.prepared().train.ids, shuffled.train.ids);
}

// Trains, evaluates and predicts with one folder of files; then only predicts with the saved model.
class Columns : public testing::Test {
 protected:
  Prepared train(const std::string& rows, const std::string& rows_to_predict) {
    Settings settings;
    settings.do_train = settings.do_eval = settings.do_predict = true;
    settings.train_file = settings.validation_file = folder_.write("train.csv", rows);
    settings.test_file = folder_.write("test.csv", rows_to_predict);
    settings.label_column_name = "mood";
    Prepared prepared = model_with({});
    prepare_classification(settings, prepared);
    return prepared;
  }
  Prepared predict(const Prepared& trained, const std::string& rows,
                   const std::string& named = "") {
    Settings settings;
    settings.do_predict = true;
    settings.test_file = folder_.write("other.csv", rows);
    settings.text_column_names = named;
    Prepared prepared = model_with({});
    write_model_config(folder_.path(), trained.config);
    prepared.config = read_model_config(folder_.path());
    prepare_classification(settings, prepared);
    return prepared;
  }
  static std::vector<std::int32_t> ids(const Prepared& prepared) {
    return prepared.test.front().examples.ids;
  }

  const TemporaryFolder folder_;
};

TEST_F(Columns, OfTrainingAreThoseOfPrediction) {
  const Prepared trained =
      train(",content,mood\n0,a b,good\n1,b a,bad\n", "mood,content\nb b,a b\n");
  EXPECT_THAT(ids(trained), ElementsAre(2, 4, 5, 3));
  EXPECT_THAT(trained.data_sets.front(),
              HasSubstr("train.csv: 2 examples; text: content (guessed; --text_column_names "
                        "NAME[,NAME] makes one text of others); label: mood (bad: 1, good: 1); "
                        "not read: column 1 (no name)"));
  EXPECT_THAT(trained.data_sets.back(), HasSubstr("1 example; text: content; not read: mood"));
  const Prepared later = predict(trained, "note,content,mood\nb b b,a a,b b\n");
  EXPECT_THAT(ids(later), ElementsAre(2, 4, 4, 3));
  EXPECT_EQ(later.config.columns, trained.config.columns);
  EXPECT_THAT(ids(predict(trained, "note,content\nb b,a a\n", "note")), ElementsAre(2, 5, 5, 3));
}

TEST_F(Columns, OfPairsAreThoseOfPrediction) {
  const Prepared trained =
      train("who,ask,say,mood\nx,a a,b b,good\ny,a b,b a,bad\n", "say,mood,ask\nb b,b,a a\n");
  EXPECT_THAT(ids(trained), ElementsAre(2, 4, 4, 3, 5, 5, 3));
  EXPECT_THAT(ids(predict(trained, "ask,say\na a,b b\n")), ElementsAre(2, 4, 4, 3, 5, 5, 3));
}

TEST_F(Columns, OfTrainingThatAreMissingAreNamed) {
  const Prepared trained = train("content,mood\na b,good\nb a,bad\n", "content\na\n");
  try {
    predict(trained, "text\na b\n");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("other.csv:1: cannot find the texts: the model was trained on the column "
                          "'content', which is not one of text"));
    EXPECT_THAT(error.what(), HasSubstr("--text_column_names"));
  }
}

TEST_F(Columns, LinesSayHowManyTextsWereCut) {
  const Prepared prepared = train("content,mood\na b a b a b a b,good\nb a,bad\n", "content\na\n");
  EXPECT_THAT(prepared.data_sets.front(), HasSubstr("; 1 cut at 8 tokens"));
  EXPECT_THAT(prepared.data_sets.back(), testing::Not(HasSubstr("cut")));
}

}  // namespace
}  // namespace dtl::trainer::load_texts_test
