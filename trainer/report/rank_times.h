#pragma once
// RankTimes: each rank's speed and use of time, for the run's report.

#include <string>
#include <vector>

#include "base/page/report_html.h"
#include "trainer/step/ranks.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer {

class RankTimes {
 public:
  // Call on all ranks after each step.
  void add(const StepReport& report);
  // Collective, at the same steps on all ranks. Adds a point to each rank's curve for the time
  // since the last call. Rank 0 keeps the curves.
  void log(Ranks& group, const StepReport& report);

  // Adds the chart of each rank's compute rate, and the time split.
  void add_to(ReportPage& report) const;

 private:
  struct Seconds {  // of one rank
    double forward = 0, backward = 0, network = 0, optimizer = 0, other = 0;
  };
  StepWork since_log_;
  std::vector<ReportCurve> of_rank_;  // GFLOP/s, by rank
  std::vector<Seconds> seconds_;      // by rank
};

}  // namespace dtl::trainer
