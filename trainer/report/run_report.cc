// Translates results into the report's terms; draws nothing. Names of charts and units are for
// people, keys are those of all_results.json.
#include "trainer/report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/page/report_text.h"
#include "base/text.h"
#include "trainer/data/metrics.h"

namespace dtl::trainer {
namespace {

// Sorted by step. For equal steps, the first row counts.
ReportCurve curve_of(const Results& results, const std::string& key, const std::string& name) {
  std::map<std::int64_t, double> values;
  for (const auto& [step, value] : results.curve(key)) values.emplace(step, value);
  ReportCurve curve{name, {}};
  for (const auto& [step, value] : values) {
    curve.points.push_back({static_cast<double>(step), value});
  }
  return curve;
}

// Leaves out SQuAD's question counts and thresholds: on their scale, percentages would look flat.
// For classes, shows only the mean F1: dozens of curves are unreadable.
ReportChart metrics_chart(const Results& results) {
  ReportChart chart{"Evaluation", "step", "", {}};
  for (const std::string& key : results.evaluated_keys()) {
    if (key.starts_with("eval_loss") || key.ends_with("total") || key.ends_with("_thresh"))
      continue;
    if (is_detail(key.substr(5))) continue;
    chart.curves.push_back(curve_of(results, key, key.substr(5)));
  }
  return chart;
}

std::string last_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// Four digits; from 1000 up, a whole number.
std::string readable(double value) {
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

// 223500000: "223.5 MFLOP".
std::string operations_text(double value) {
  constexpr std::string_view kUnits = " kMGTPEZY";
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.4g} {}FLOP", value, unit == 0 ? "" : kUnits.substr(unit, 1));
}

// Those that differ from the default come first, for a reader who compares runs.
void add_settings(ReportPage& report, const Settings& s) {
  const auto usual = settings_rows(default_settings(s));
  const std::map<std::string, std::string> defaults(usual.begin(), usual.end());
  std::vector<std::pair<std::string, std::string>> others;
  for (const auto& row : settings_rows(s)) {
    const auto found = defaults.find(row.first);
    if (found != defaults.end() && found->second == row.second) {
      others.push_back(row);
      continue;
    }
    report.settings.push_back(row);
    report.defaults[row.first] = found == defaults.end() ? "" : found->second;
  }
  report.settings.insert(report.settings.end(), others.begin(), others.end());
}

// "2026-01-31 23:59:59 CET (+0100)"
std::string local_date(std::time_t time) {
  std::tm parts = {};
  char text[64] = {};
  if (::localtime_r(&time, &parts) == nullptr) return "";
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z (%z)", &parts)};
}

// Losses of probabilities are logarithms; others have no unit.
std::string loss_unit(const Settings& s) {
  const bool of_numbers = s.do_regression || s.task_name == "stsb" || s.task == "embeddings";
  return of_numbers ? "" : "nats";
}

}  // namespace

std::string figure_text(const std::string& key, double value) {
  // Order matters: "_samples_per_second" contains "_samples".
  const auto has = [&](const char* part) { return key.find(part) != key.npos; };
  if (has("_runtime")) return readable(value) + " s";
  if (has("_samples_per_second")) return readable(value) + " examples/s";
  if (has("_steps_per_second")) return readable(value) + " steps/s";
  if (has("_tokens_per_second")) return fmt::format("{:.0f} tokens/s", value);
  if (has("_samples") || key.ends_with("total")) return fmt::format("{:.0f} examples", value);
  if (key == "total_flos") return operations_text(value);
  // For smaller values, four decimals show too little.
  const bool small = value != 0 && std::abs(value) < 1e-3;
  return small || key == "epoch" ? short_number(value) : fmt::format("{:.4f}", value);
}

ReportPage run_report(const Settings& s, const Results& results) {
  ReportPage report;
  const std::string what = s.demo ? "demonstration" : last_name(s.model);
  const std::string data = s.task_name.empty() ? last_name(s.train_file) : s.task_name;
  report.title = data.empty() ? what : fmt::format("{} on {}", what, data);
  for (const auto& [key, value] : results.figures()) {
    report.results.emplace_back(key, figure_text(key, value));
  }
  report.charts = {
      {"Loss",
       "step",
       loss_unit(s),
       {curve_of(results, "loss", "training"), curve_of(results, "eval_loss", "evaluation")}},
      metrics_chart(results),
      {"Learning rate", "step", "", {curve_of(results, "learning_rate", "learning rate")}},
      {"Gradient norm", "step", "", {curve_of(results, "grad_norm", "before clipping")}},
      {"Throughput", "step", "tokens/s", {curve_of(results, "tokens_per_second", "all ranks")}},
  };
  add_settings(report, s);
  return report;
}

std::vector<std::pair<std::string, std::string>> about_run(const Settings& settings,
                                                           std::vector<std::string> hosts,
                                                           std::time_t began) {
  // One name for each host, however many ranks it has.
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return {{"date", local_date(began)},
          {hosts.size() == 1 ? "host" : "hosts", fold_hosts(hosts)},
          {"command", settings.command},
          {"version", "dttrain " DTL_VERSION}};
}

}  // namespace dtl::trainer
