#include "trainer/report/run_report.h"

#include <fmt/format.h>

#include <filesystem>

namespace dtl::trainer {
namespace {

ReportCurve curve_of(const Results& results, const std::string& key, const std::string& name) {
  ReportCurve curve{name, {}};
  for (const auto& [step, value] : results.curve(key)) {
    curve.points.push_back({static_cast<double>(step), value});
  }
  return curve;
}

ReportChart metrics_chart(const Results& results) {
  ReportChart chart{"Evaluation", "step", "", {}};
  for (const std::string& key : results.evaluated_keys()) {
    if (key.starts_with("eval_loss")) continue;
    chart.curves.push_back(curve_of(results, key, key.substr(5)));
  }
  return chart;
}

std::string last_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

}  // namespace

std::string figure_text(const std::string& key, double value) {
  const auto has = [&](const char* part) { return key.find(part) != key.npos; };
  if (has("_runtime")) return fmt::format("{:.4g} s", value);
  if (has("_samples_per_second")) return fmt::format("{:.4g} examples/s", value);
  if (has("_steps_per_second")) return fmt::format("{:.4g} steps/s", value);
  if (has("_tokens_per_second")) return fmt::format("{:.0f} tokens/s", value);
  if (has("_samples")) return fmt::format("{:.0f} examples", value);
  if (key == "total_flos") return fmt::format("{:.4g} TFLOP", value / 1e12);
  return fmt::format("{:.4f}", value);
}

Report run_report(const Settings& s, const Results& results) {
  Report report;
  const std::string what = s.demo ? "demonstration" : last_name(s.model);
  const std::string data = s.task_name.empty() ? last_name(s.train_file) : s.task_name;
  report.title = data.empty() ? what : fmt::format("{} on {}", what, data);
  for (const auto& [key, value] : results.figures()) {
    report.results.emplace_back(key, figure_text(key, value));
  }
  report.charts = {
      {"Loss",
       "step",
       "nats",
       {curve_of(results, "loss", "training"), curve_of(results, "eval_loss", "evaluation")}},
      metrics_chart(results),
      {"Learning rate", "step", "", {curve_of(results, "learning_rate", "learning rate")}},
      {"Gradient norm", "step", "", {curve_of(results, "grad_norm", "before clipping")}},
  };
  report.settings = settings_rows(s);
  return report;
}

}  // namespace dtl::trainer
