#include "trainer/report/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "temporary_folder.h"

namespace dtl::trainer::results_test {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

class ResultsTest : public testing::Test {
 protected:
  std::string text(const std::string& name) const { return read_file(folder_.file(name), 1 << 20); }
  Json json(const std::string& name) const { return Json::parse(text(name)); }

  PolicySettings policy() const {
    PolicySettings p;
    p.total_steps = 20;
    p.steps_per_epoch = 10;
    p.metric = "loss";
    p.patience = 3;
    p.saving = Strategy::kSteps;
    return p;
  }
  Settings settings() const {
    Settings s;
    s.do_train = true;
    s.epochs = 2;
    s.train_batch = 16;
    return s;
  }
  static EvaluationFigures evaluation(double loss) {
    EvaluationFigures f;
    f.metrics = {{"loss", loss}, {"accuracy", 0.75}};
    f.examples = 100;
    f.batches = 7;
    f.seconds = 3.123456;
    return f;
  }
  static void train(Results& results) {
    StepReport report;
    report.step = 10;
    report.epoch = 1;
    report.learning_rate = 1e-5;
    report.gradient_norm = 2;
    results.log_step(report, 0.5, 38968.510001285416);  // Python writes 38968.51000128542
    results.log_evaluation(10, 1, evaluation(0.4));
    TrainFigures f;
    f.epoch = 2;
    f.steps = 20;
    f.examples = 160;
    f.flops = 1e9;
    f.run = {0.45, 8, 20, 320, 3200};
    results.log_training(f);
  }

  TemporaryFolder folder_;
};

TEST_F(ResultsTest, HaveTransformersNamesAndKeys) {
  Results results(folder_.path());
  results.start(settings(), policy());
  train(results);
  results.log_evaluation(20, 2, evaluation(0.4));
  results.write();
  EXPECT_THAT(
      keys(json("train_results.json")),
      ElementsAre("epoch", "total_flos", "train_loss", "train_runtime", "train_samples",
                  "train_samples_per_second", "train_steps_per_second", "train_tokens_per_second"));
  EXPECT_THAT(keys(json("eval_results.json")),
              ElementsAre("epoch", "eval_accuracy", "eval_loss", "eval_runtime", "eval_samples",
                          "eval_samples_per_second", "eval_steps_per_second"));
  EXPECT_THAT(
      keys(json("trainer_state.json")),
      ElementsAre("best_global_step", "best_metric", "best_model_checkpoint", "epoch", "eval_steps",
                  "global_step", "is_hyper_param_search", "is_local_process_zero",
                  "is_world_process_zero", "log_history", "logging_steps", "max_steps",
                  "num_input_tokens_seen", "num_train_epochs", "save_steps", "stateful_callbacks",
                  "total_flos", "train_batch_size", "trial_name", "trial_params"));
  EXPECT_THAT(text("all_results.json"), HasSubstr("{\n    \"epoch\": 2.0,\n"));
  EXPECT_THAT(text("trainer_state.json"), HasSubstr("\n  \"log_history\": [\n    {\n"));
  EXPECT_THAT(text("trainer_state.json"), HasSubstr("\"tokens_per_second\": 38968.51\n"));
  EXPECT_EQ(json("eval_results.json")["eval_runtime"], 3.1235);
  EXPECT_EQ(json("eval_results.json")["eval_samples_per_second"], 32.016);
  const Json history = json("trainer_state.json")["log_history"];
  EXPECT_EQ(history.size(), 4u);
  EXPECT_FALSE(history[1].contains("eval_samples"));
  EXPECT_EQ(json("trainer_state.json")["num_train_epochs"], 2);
}

TEST_F(ResultsTest, KeepWhatTheTrainingLeftWhereAModelIsOnlyEvaluated) {
  {
    Results results(folder_.path());
    results.start(settings(), policy());
    train(results);
    results.write();
  }
  const std::string state = text("trainer_state.json"), options = text("training_args.json");
  Results results(folder_.path());
  results.start({}, {});
  results.log_evaluation(0, 0, evaluation(0.1));
  results.write();
  EXPECT_EQ(text("trainer_state.json"), state);
  EXPECT_EQ(text("training_args.json"), options);
  EXPECT_EQ(split(text("metrics.jsonl"), '\n').size(), 5u);  // four rows and the end
  EXPECT_EQ(json("all_results.json")["train_loss"], 0.45);
  EXPECT_EQ(json("all_results.json")["eval_loss"], 0.1);
  EXPECT_FALSE(json("eval_results.json").contains("epoch"));
}

TEST_F(ResultsTest, CarryMismatchedTextsUnderTheirOwnKeys) {
  Results results(folder_.path());
  results.start(settings(), policy());
  results.log_evaluation(10, 1, evaluation(0.4));
  EvaluationFigures other = evaluation(0.6);
  other.suffix = "_mm";
  results.log_evaluation(10, 1, other);
  results.write();
  EXPECT_EQ(json("eval_results.json")["eval_loss"], 0.4);
  EXPECT_EQ(json("eval_results.json")["eval_loss_mm"], 0.6);
  EXPECT_EQ(json("eval_results.json")["eval_samples_mm"], 100);
}

TEST_F(ResultsTest, KeepPredictionsOutOfTheHistory) {
  Results results(folder_.path());
  results.start(settings(), policy());
  EvaluationFigures figures = evaluation(0.4);
  figures.prefix = "predict";
  figures.metrics = {{"f1", 80.0}};
  results.log_evaluation(20, 2, figures);
  results.write();
  EXPECT_EQ(json("predict_results.json")["predict_f1"], 80.0);
  EXPECT_EQ(json("all_results.json")["predict_samples"], 100);
  EXPECT_TRUE(json("trainer_state.json")["log_history"].empty());
}

TEST_F(ResultsTest, GoOnFromTheirState) {
  std::string state;
  {
    Results results(folder_.path());
    results.start(settings(), policy());
    train(results);
    results.set_position(10, 1.0, 5e8, 1234);
    RunPolicy::Memory memory;
    memory.best = RunPolicy::Best{0.3, 12};
    memory.best_saved = RunPolicy::Best{0.4, 10};
    memory.without_better = 2;
    results.set_best(memory, "out/checkpoint-10");
    state = results.state_text();
  }
  Results results(folder_.path());
  const Results::Restored restored = results.restore(state, "loss", "checkpoint-10");
  results.start(settings(), policy());
  EXPECT_EQ(restored.step, 10);
  EXPECT_EQ(restored.tokens, 1234);
  EXPECT_DOUBLE_EQ(restored.flops, 5e8);
  EXPECT_EQ(restored.best.best->step, 12);
  EXPECT_DOUBLE_EQ(restored.best.best->metric, 0.3);
  EXPECT_EQ(restored.best.best_saved->step, 10);
  EXPECT_DOUBLE_EQ(restored.best.best_saved->metric, 0.4);  // from the history
  EXPECT_EQ(restored.best.without_better, 2);
  EXPECT_EQ(restored.best_checkpoint, "out/checkpoint-10");
  EXPECT_EQ(results.state_text(), state);
  EXPECT_EQ(split(text("metrics.jsonl"), '\n').size(), 4u);  // three rows and the end
}

// The same command after a run that has ended well.
TEST_F(ResultsTest, StayAsTheyAreWhereNothingIsLeftToTrain) {
  {
    Results results(folder_.path());
    results.start(settings(), policy());
    train(results);
    results.write();
  }
  const std::vector<std::string> names = {"trainer_state.json", "training_args.json",
                                          "train_results.json"};
  std::vector<std::string> before;
  for (const std::string& name : names) before.push_back(text(name));
  const std::string log = text("metrics.jsonl"), events = folder_.file("events");
  Results results(folder_.path(), events);
  results.restore(before[0], "loss", "trainer_state.json");
  results.start(settings(), policy(), true);
  EXPECT_FALSE(std::filesystem::exists(events));
  results.log_evaluation(20, 2, evaluation(0.1));
  results.write();
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(text(names[i]), before[i]) << names[i];
  EXPECT_EQ(text("metrics.jsonl").substr(0, log.size()), log);
  EXPECT_EQ(split(text("metrics.jsonl"), '\n').size(), 5u);  // one row more, and the end
  EXPECT_EQ(json("all_results.json")["train_loss"], 0.45);
  EXPECT_EQ(json("all_results.json")["eval_loss"], 0.1);
  EXPECT_TRUE(std::filesystem::exists(events));
}

TEST_F(ResultsTest, TellThisRunsFiguresFromThoseOfAll) {
  Results results(folder_.path());
  results.start(settings(), policy());
  TrainFigures f;
  f.steps = 20;
  f.run = {0.25, 2, 5, 80, 800};
  f.total = {0.5, 10, 20, 320, 3200};
  results.log_training(f);
  results.write();
  const Json figures = json("train_results.json");
  EXPECT_EQ(figures["train_samples_per_second"], 40);
  EXPECT_EQ(figures["train_steps_per_second"], 2.5);
  EXPECT_EQ(figures["train_tokens_per_second"], 400);
  EXPECT_EQ(figures["train_loss"], 0.25);
  EXPECT_EQ(figures["total_train_samples_per_second"], 32);
  EXPECT_EQ(figures["total_train_steps_per_second"], 2);
  EXPECT_EQ(figures["total_train_tokens_per_second"], 320);
  EXPECT_EQ(figures["total_train_loss"], 0.5);
  EXPECT_EQ(figures["total_train_runtime"], 10);
  Results anew(folder_.path());
  anew.start(settings(), policy());
  train(anew);
  anew.write();
  EXPECT_EQ(json("all_results.json")["train_loss"], 0.45);
  EXPECT_FALSE(json("all_results.json").contains("total_train_loss"));
}

TEST_F(ResultsTest, HaveOnePointOfACurveForAStep) {
  Results results("");
  results.start(settings(), policy());
  train(results);
  results.log_evaluation(20, 2, evaluation(0.3));
  results.log_evaluation(20, 2, evaluation(0.2));
  EXPECT_THAT(results.curve("eval_loss"),
              ElementsAre(testing::Pair(10, 0.4), testing::Pair(20, 0.3)));
}

TEST_F(ResultsTest, NameTheStateThatCannotBeRead) {
  Results results("");
  for (const char* bad :
       {"", "[]", "{}", R"({"log_history": 1, "global_step": "x", "epoch": 1})"}) {
    try {
      results.restore(bad, "", "run/checkpoint-5/trainer_state.json");
      ADD_FAILURE() << "accepted " << bad;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("run/checkpoint-5/trainer_state.json:"),
                                      HasSubstr("cannot resume"), HasSubstr("Try: "),
                                      Not(HasSubstr("json.exception"))));
      EXPECT_EQ(error.status(), Exit::kBadInput);
    }
  }
}

TEST_F(ResultsTest, RefuseCountsThatAreNone) {
  const auto complaint = [](const std::string& members) -> std::string {
    try {
      Results("").restore("{\"epoch\": 1, " + members + "}", "", "place");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string good = R"("log_history": [], "global_step": 5)";
  EXPECT_EQ(complaint(good + R"(, "best_metric": 1, "best_global_step": 5.0)"), "");
  EXPECT_EQ(complaint(R"("log_history": [{"step": 1e300}], "global_step": 5)"), "");
  EXPECT_THAT(complaint(R"("log_history": [], "global_step": -1)"), HasSubstr("'global_step'"));
  EXPECT_THAT(complaint(R"("log_history": [], "global_step": 1e300)"), HasSubstr("'global_step'"));
  EXPECT_THAT(complaint(R"("log_history": [], "global_step": 10.5)"), HasSubstr("'global_step'"));
  EXPECT_THAT(complaint(good + R"(, "num_input_tokens_seen": 1e300)"),
              HasSubstr("'num_input_tokens_seen'"));
  EXPECT_THAT(complaint(good + R"(, "best_metric": 1, "best_global_step": -1e300)"),
              HasSubstr("'best_global_step'"));
  EXPECT_THAT(complaint(good + ", \"x\": " + std::string(100'000, '[')),
              HasSubstr("place: cannot resume: its lists and objects nest too deep"));
}

TEST_F(ResultsTest, TakeTheStepOfTheBestFromItsFolderAlone) {
  const auto step = [](const std::string& best) {
    return Results("")
        .restore(R"({"log_history": [], "global_step": 9, "epoch": 1, "best_metric": 1,
                     "best_model_checkpoint": ")" +
                     best + "\"}",
                 "", "place")
        .best.best->step;
  };
  EXPECT_EQ(step("out/checkpoint-5"), 5);
  EXPECT_EQ(step("out/checkpoint-5.old"), 0);
  EXPECT_EQ(step("out/checkpoint-"), 0);
}

TEST_F(ResultsTest, WriteSettingsThatStartTheSameRun) {
  Results results(folder_.path());
  const Settings given = parse_settings({"--model_name_or_path", "m", "--do_train", "--train_file",
                                         "t.csv", "--output_dir", "o", "--save_steps", "0.25",
                                         "--label_delimiter", ";", "--seed", "7"});
  results.start(given, {});
  results.write();
  const Settings again = parse_settings({folder_.file("training_args.json")});
  EXPECT_EQ(settings_json(again), settings_json(given));
  EXPECT_DOUBLE_EQ(again.save_steps, 0.25);
  EXPECT_EQ(again.label_delimiter, ";");
  EXPECT_EQ(again.seed, 7);
}

TEST_F(ResultsTest, SendTheSameFiguresToTensorBoard) {
  const std::string events = folder_.file("events");
  Results results("", events);
  results.start(settings(), policy());
  train(results);
  const std::string path = std::filesystem::directory_iterator(events)->path();
  const std::string bytes = read_file(path, 1 << 20);
  for (const char* tag : {"train/loss", "train/learning_rate", "train/grad_norm", "train/epoch",
                          "eval/loss", "eval/accuracy", "train/train_loss"}) {
    EXPECT_THAT(bytes, HasSubstr(tag));
  }
}

}  // namespace
}  // namespace dtl::trainer::results_test
