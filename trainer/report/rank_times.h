#pragma once
// RankTimes: how fast each rank was and where its time went, for the run's report.

#include <string>
#include <vector>

#include "trainer/report/report_html.h"
#include "trainer/step/ranks.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer {

class RankTimes {
 public:
  // All ranks, after each step.
  void add(const StepReport& report);
  // All ranks, at the same steps: what every rank did since the last time becomes a point of its
  // curve. Rank 0 keeps it.
  void log(Ranks& group, const StepReport& report);

  // The chart of each rank's arithmetic, and the time split.
  void add_to(Report& report) const;

 private:
  struct Seconds {  // of one rank
    double forward = 0, backward = 0, network = 0, optimizer = 0, other = 0;
  };
  StepWork since_log_;
  std::vector<ReportCurve> of_rank_;  // GFLOP/s
  std::vector<Seconds> seconds_;      // by rank
};

}  // namespace dtl::trainer
