#pragma once
// The text of --metrics-file: gauges about one job, as dtlaunch(1), METRICS, lists them. Both
// readers take it: the Prometheus text format 0.0.4, which node_exporter's textfile collector
// wants, and OpenMetrics 1.0. Gauges are the only type that both write alike. Pure.

#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "launcher/report/training_pace.h"

namespace dtl {

struct JobMetrics {
  std::string job_id, launcher_host;
  std::vector<std::string> tags;
  std::string state = "starting";    // as ps shows it, or "ended"
  std::optional<std::size_t> ranks;  // absent: not placed yet
  std::optional<std::size_t> cores;  // that it has claimed, on all nodes; absent: not yet
  int restarts = 0;
  double seconds = 0;              // since the job began
  std::time_t now = 0;             // of this text
  std::optional<int> exit_status;  // once ended
  TrainingPace pace;
};

// Ends with "# EOF".
std::string metrics_text(const JobMetrics& metrics);

}  // namespace dtl
