// write_outputs FOLDER: an event file, and reports of 1 and of 100,000 points, for tests that read
// them with other programs' eyes.

#include <cmath>
#include <string>

#include "base/fd.h"
#include "trainer/report/event_file.h"
#include "trainer/report/report_html.h"

namespace dtl::trainer {
namespace {

Report report(int points) {
  ReportCurve train{"train <1>", {}}, evaluation{"eval", {}};
  for (int i = 1; i <= points; ++i) {
    train.points.push_back({static_cast<double>(i), std::exp(-i / 3e4)});
    if (i % 10 == 0)
      evaluation.points.push_back({static_cast<double>(i), 1.1 * std::exp(-i / 3e4)});
  }
  Report r;
  r.title = "bert & \"friends\" on <mrpc>";
  r.summary = "A run's report.";
  r.results = {{"eval accuracy", "0.84"}};
  r.charts = {{"Loss", "step", "nats", {train, evaluation}},
              {"Throughput", "step", "tokens/s", {train}}};
  r.times = {{"rank 0", {{"compute", 60}, {"network wait", 20}, {"other", 0.5}}},
             {"rank 1", {{"compute", 55}, {"optimizer", 5}}}};
  r.settings = {{"train_file", "http-like <names> & \"quotes\""}};
  r.machine = {{"CPU", "2 x Example 9000"}};
  return r;
}

}  // namespace
}  // namespace dtl::trainer

int main(int, char** argv) {
  const std::string folder = argv[1];
  for (const int points : {1, 100000}) {
    dtl::write_file_atomically(folder + "/report-" + std::to_string(points) + ".html",
                               dtl::trainer::report_html(dtl::trainer::report(points)));
  }
  dtl::trainer::EventFile events(folder + "/events");
  for (const std::int64_t step : {1, 200, 70000}) {
    events.add(step, {{"train/loss", 1.0 / static_cast<double>(step)},
                      {"eval/accuracy", 0.1 * static_cast<double>(step)}});
  }
}
