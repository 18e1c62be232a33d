// Every sample has the job's id, so that the files of several jobs can be read together.
#include "launcher/report/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"

namespace dtl {
namespace {

// All of them are always there, one with 1: a query need not know when a series began.
constexpr std::string_view kStates[] = {"starting", "waiting",  "running",   "restarting",
                                        "stopped",  "stopping", "finishing", "ended"};

// The short states before the ranks run are one, as in ps.
std::string_view shown_state(const JobMetrics& metrics) {
  const std::string_view before = metrics.restarts > 0 ? "restarting" : "starting";
  if (metrics.state == "done") return "finishing";
  if (metrics.state == "starting") return before;
  const auto* const known = std::find(std::begin(kStates), std::end(kStates), metrics.state);
  return known == std::end(kStates) ? before : *known;
}

// Inside quotes. Bytes that are not text are escaped before.
std::string label_value(const std::string& text) {
  std::string value;
  for (const char sign : printable(text)) {
    if (sign == '\\' || sign == '"') value += '\\';
    value += sign;
  }
  return value;
}

class Families {
 public:
  explicit Families(const std::string& job_id) : job_(label_value(job_id)) {}

  // A family and the only sample of it.
  template <class Value>
  void add(std::string_view name, std::string_view help, Value value,
           const std::string& more = "") {
    begin(name, help);
    sample(name, value, more);
  }
  void begin(std::string_view name, std::string_view help) {
    text_ +=
        fmt::format("# HELP dtlaunch_job_{0} {1}\n# TYPE dtlaunch_job_{0} gauge\n", name, help);
  }
  template <class Value>
  void sample(std::string_view name, Value value, const std::string& more) {
    text_ += fmt::format("dtlaunch_job_{}{{job=\"{}\"{}}} {}\n", name, job_, more, value);
  }
  std::string text() const { return text_ + "# EOF\n"; }

 private:
  std::string job_, text_;
};

void add_training(const TrainingPace& pace, Families& all) {
  if (const auto progress = pace.progress()) {
    all.add("training_step", "Optimizer steps that the training says it has done.", progress->step);
    if (progress->total_steps > 0) {
      all.add("training_total_steps", "Steps that the training will take.", progress->total_steps);
    }
    if (std::isfinite(progress->loss)) {
      all.add("training_loss", "Loss of the last step.", progress->loss);
    }
  }
  if (const auto seconds = pace.step_seconds()) {
    all.add("training_step_seconds", "Mean time of a step between the last two reports.",
            fmt::format("{:.6f}", *seconds));
  }
  if (const auto tokens = pace.tokens_per_second()) {
    all.add("training_tokens_per_second", "Tokens of all ranks per second, over the same time.",
            fmt::format("{:.3f}", *tokens));
  }
  if (const auto bytes = pace.wire_bytes()) {
    all.add("wire_bytes", "Bytes that libdtring has sent and received, summed over the ranks.",
            *bytes);
  }
}

}  // namespace

std::string metrics_text(const JobMetrics& metrics) {
  Families all(metrics.job_id);
  all.add("info", "About the job; always 1.", 1,
          fmt::format(",launcher_host=\"{}\",tags=\"{}\",version=\"{}\"",
                      label_value(metrics.launcher_host), label_value(join(metrics.tags, ",")),
                      DTL_VERSION));
  all.begin("state", "1 for the state that the job is in, 0 for the others.");
  for (const std::string_view state : kStates) {
    all.sample("state", state == shown_state(metrics) ? 1 : 0, fmt::format(",state=\"{}\"", state));
  }
  if (metrics.ranks) all.add("ranks", "Number of ranks.", *metrics.ranks);
  if (metrics.cores) {
    all.add("claimed_cores", "Physical cores that the job has claimed, on all hosts.",
            *metrics.cores);
  }
  all.add("restarts", "How often the ranks were restarted.", metrics.restarts);
  all.add("duration_seconds", "Time since the job began.", fmt::format("{:.3f}", metrics.seconds));
  all.add("updated_timestamp_seconds", "When this file was written, since 1970.", metrics.now);
  add_training(metrics.pace, all);
  if (metrics.exit_status) {
    all.add("exit_status", "Exit status of dtlaunch, once the job has ended.",
            *metrics.exit_status);
  }
  return all.text();
}

}  // namespace dtl
