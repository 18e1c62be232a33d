#include "trainer/report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl::trainer::run_report_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Results with_rows() {
  Results results("");
  results.start({}, {});
  for (const std::int64_t step : {10, 20}) {
    StepReport report;
    report.step = step;
    results.log_step(report, 1.0 / static_cast<double>(step), 100);
    EvaluationFigures figures;
    figures.metrics = {{"loss", 0.5}, {"f1", 0.25 * static_cast<double>(step)}};
    figures.examples = 50;
    figures.seconds = 2;
    results.log_evaluation(step, 1, figures);
  }
  return results;
}

TEST(RunReport, TakesItsCurvesFromTheLog) {
  const ReportPage report = run_report({}, with_rows());
  ASSERT_EQ(report.charts.size(), 5u);
  const std::vector<ReportCurve>& loss = report.charts[0].curves;
  ASSERT_EQ(loss[0].points.size(), 2u);
  EXPECT_DOUBLE_EQ(loss[0].points[1].x, 20);
  EXPECT_DOUBLE_EQ(loss[0].points[1].y, 0.05);
  EXPECT_EQ(loss[1].points.size(), 2u);
  ASSERT_EQ(report.charts[1].curves.size(), 1u);
  EXPECT_EQ(report.charts[1].curves[0].name, "f1");
}

// As after load_best_model_at_end, when the best model is evaluated once more.
TEST(RunReport, LetsNoCurveRunBackwards) {
  Results results = with_rows();
  EvaluationFigures figures;
  figures.metrics = {{"loss", 0.25}, {"f1", 9}};
  results.log_evaluation(10, 1, figures);
  const std::vector<ReportPoint> points = run_report({}, results).charts[0].curves[1].points;
  ASSERT_EQ(points.size(), 2u);
  EXPECT_DOUBLE_EQ(points[0].x, 10);
  EXPECT_DOUBLE_EQ(points[0].y, 0.5);
  EXPECT_DOUBLE_EQ(points[1].x, 20);
}

TEST(RunReport, DrawsNoNumbersOfQuestions) {
  Results results("");
  results.start({}, {});
  EvaluationFigures figures;
  figures.metrics = {{"f1", 75}, {"total", 11873}, {"best_f1_thresh", -1.5}};
  results.log_evaluation(10, 1, figures);
  const std::vector<ReportCurve> curves = run_report({}, results).charts[1].curves;
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].name, "f1");
}

TEST(RunReport, GivesFiguresTheirUnits) {
  EXPECT_THAT(run_report({}, with_rows()).results,
              ElementsAre(Pair("eval_f1", "5.0000"), Pair("eval_loss", "0.5000"),
                          Pair("eval_runtime", "2 s"), Pair("eval_samples", "50 examples"),
                          Pair("eval_samples_per_second", "25 examples/s"),
                          Pair("eval_steps_per_second", "0 steps/s")));
  EXPECT_EQ(figure_text("total_flos", 2.5e15), "2.5 PFLOP");
  EXPECT_EQ(figure_text("total_flos", 750), "750 FLOP");
  EXPECT_EQ(figure_text("eval_samples_per_second", 152604.4), "152604 examples/s");
  EXPECT_EQ(figure_text("eval_loss", 0.00002), "2e-5");
  EXPECT_EQ(figure_text("train_tokens_per_second", 12345.6), "12346 tokens/s");
}

TEST(RunReport, NamesModelAndData) {
  Settings s;
  s.model = "models/bert-base/";
  s.train_file = "data/train.csv";
  EXPECT_EQ(run_report(s, Results("")).title, "bert-base on train.csv");
  s.task_name = "mrpc";
  EXPECT_EQ(run_report(s, Results("")).title, "bert-base on mrpc");
}

TEST(RunReport, PutsSettingsThatDifferFromTheDefaultFirst) {
  const Settings s = parse_settings(
      {"--model_name_or_path", "m", "--do_train", "--train_file", "t.tsv", "--output_dir", "o",
       "--learning_rate", "1e-3", "--save_steps", "500", "--load_best_model_at_end",
       "--eval_strategy", "steps", "--do_eval", "--validation_file", "v.tsv"});
  const ReportPage report = run_report(s, Results(""));
  std::vector<std::string> first;
  for (const auto& [name, value] : report.settings) {
    if (first.size() < report.defaults.size()) first.push_back(name);
  }
  // Not those that follow from other options: do_eval, eval_steps, metric_for_best_model, task.
  EXPECT_THAT(first,
              ElementsAre("model_name_or_path", "train_file", "validation_file", "output_dir",
                          "do_train", "learning_rate", "eval_strategy", "load_best_model_at_end"));
  EXPECT_EQ(report.defaults.at("learning_rate"), "5e-05");
  EXPECT_EQ(report.defaults.at("train_file"), "") << "has none";
  EXPECT_THAT(report_html(report), HasSubstr("<b>0.001</b> <small>(default 5e-05)</small>"));
}

TEST(RunReport, MarksNothingIfAllIsAsUsual) {
  for (const std::string task : {"classification", "qa"}) {
    Settings s;
    s.eval_steps = 500;  // as complete_settings() does
    s.report_to = "none";
    set_task(s, task);
    EXPECT_THAT(run_report(s, Results("")).defaults, testing::IsEmpty()) << task;
  }
}

TEST(RunReport, TellsWhoRanWhatWhereAndWhen) {
  Settings s = parse_settings(
      {"--demo", "--seed", "7", "--hub_token", "hf_abc", "--output_dir", "my runs/a", "--bf16"});
  const auto about = about_run(s, {"n2", "n1", "n1"}, 1'700'000'000);
  EXPECT_THAT(about[0].second, testing::ContainsRegex("^2023-11-1[45] ..:..:.. .*\\([+-]....\\)$"));
  EXPECT_EQ(about[1], (std::pair<std::string, std::string>("hosts", "n[1-2]")));
  EXPECT_EQ(about[2].second,
            "dttrain --demo --seed 7 --hub_token *** --output_dir 'my runs/a' --bf16");
  EXPECT_THAT(about[3].second, testing::StartsWith("dttrain "));
}

TEST(RunReport, ShowsEverySetting) {
  Settings s;
  s.seed = 7;
  s.label_delimiter = ";";
  EXPECT_THAT(run_report(s, Results("")).settings, testing::Contains(Pair("seed", "7")));
  EXPECT_THAT(run_report(s, Results("")).settings, testing::Contains(Pair("label_delimiter", ";")));
  EXPECT_THAT(report_html(run_report(s, Results(""))), HasSubstr("<dt>seed</dt><dd><b>7</b>"));
}

}  // namespace
}  // namespace dtl::trainer::run_report_test
