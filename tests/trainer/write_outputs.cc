// write_outputs FOLDER: writes an event file, and reports of 1 point, of 100,000 points and of
// content that hardly fits on a page. Tests read them with other programs.

#include <cmath>
#include <string>

#include "base/files/new_file.h"
#include "base/page/report_html.h"
#include "trainer/report/event_file.h"

namespace dtl::trainer {
namespace {

ReportPage report(int points) {
  ReportCurve train{"train <1>", {}}, evaluation{"eval", {}};
  for (int i = 1; i <= points; ++i) {
    train.points.push_back({static_cast<double>(i), std::exp(-i / 3e4)});
    if (i % 10 == 0)
      evaluation.points.push_back({static_cast<double>(i), 1.1 * std::exp(-i / 3e4)});
  }
  ReportPage r;
  r.title = "bert & \"friends\" on <mrpc>";
  r.summary = "A run's report.";
  r.results = {{"eval accuracy", "0.84"}};
  r.charts = {{"Loss", "step", "nats", {train, evaluation}},
              {"Throughput", "step", "tokens/s", {train}}};
  r.times = {{"rank 0", {{"compute", 60}, {"network wait", 20}, {"other", 0.5}}},
             {"rank 1", {{"compute", 55}, {"optimizer", 5}}}};
  r.headline = {"0.84", "accuracy", "on <the> evaluation set"};
  r.about = {{"date", "2026-01-31"}, {"command", "dttrain --demo"}};
  r.tables = {{"Labels", "", {"label", "training"}, {{{"<a>"}, {"3"}}, {{"b"}, {"4"}}}}};
  r.examples = {"Worst examples", "The worst.", {{"a <b> & c", {{"true", "<a>"}}}}};
  r.settings = {{"train_file", "http-like <names> & \"quotes\""}};
  r.machine = {{"CPU", "2 x Example 9000"}};
  return r;
}

// Many ranks, names without a place to break, and numbers that differ only in their last digits.
ReportPage wide_report() {
  const std::string name(200, 'W');
  ReportPage r;
  r.title = r.summary = name;
  r.results = {{name, name}, {"eval_loss", "0.6931"}};
  ReportChart loss{"Loss", "step", "nats", {{name, {}}}}, rate{"Learning rate", "step", "", {}};
  ReportChart arithmetic{"Arithmetic of each rank", "step", "GFLOP/s", {}};
  for (int i = 0; i < 10; ++i) {
    loss.curves[0].points.push_back({1e6 + i, 0.69314718 + 1e-8 * i});
  }
  rate.curves = {{"learning rate", {{123456, -1.5e-9}, {123789, 2.5e-9}}}};
  for (int rank = 0; rank < 24; ++rank) {
    const std::string is = "rank " + std::to_string(rank);
    arithmetic.curves.push_back({is, {{9, 1e7 * (rank + 1)}, {99999, 1e20}}});
    r.times.push_back({is, {{"compute", 3600.0 * rank + 1}, {"network wait", 1e-5}}});
  }
  r.charts = {loss, rate, arithmetic};
  r.headline = {"0.8407", name, name};
  r.about = {{"command", name}};
  ReportTable matrix{"Confusion matrix", name, {""}};
  for (int row = 0; row < 10; ++row) {  // as large as they are made, with cut labels
    matrix.columns.push_back(std::to_string(row + 1));
    matrix.rows.push_back({{std::to_string(row + 1) + " " + name.substr(0, 24), name}});
    for (int column = 0; column < 10; ++column) {
      matrix.rows.back().push_back({"9999", name,
                                    row == column ? ReportShade::kGood : ReportShade::kBad,
                                    static_cast<double>(column) / 9});
    }
  }
  r.tables = {{"Labels",
               "",
               {"label", "training", "evaluation", "predicted", "correct"},
               {{{name.substr(0, 24), name}, {"1234567"}, {"1234567"}, {"1234567"}, {"1234567"}}}},
              matrix};
  r.examples = {"Worst examples", "", {{name + "\n" + name, {{"true", name}, {"loss", "9"}}}}};
  r.settings = r.machine = {{name, name}};
  r.defaults = {{name, name}};
  return r;
}

}  // namespace
}  // namespace dtl::trainer

int main(int, char** argv) {
  const std::string folder = argv[1];
  for (const int points : {1, 100000}) {
    dtl::write_file_atomically(folder + "/report-" + std::to_string(points) + ".html",
                               dtl::report_html(dtl::trainer::report(points)));
  }
  dtl::write_file_atomically(folder + "/report-wide.html",
                             dtl::report_html(dtl::trainer::wide_report()));
  dtl::trainer::EventFile events(folder + "/events");
  for (const std::int64_t step : {1, 200, 70000}) {
    events.add(step, {{"train/loss", 1.0 / static_cast<double>(step)},
                      {"eval/accuracy", 0.1 * static_cast<double>(step)}});
  }
}
