// Sums seconds between two log lines, and exchanges them with the other ranks at each line. So the
// report costs one small sum per line and none per step.
#include "trainer/report/rank_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kReportTag = 0xFFFF0050;
constexpr std::size_t kFigures = 6;  // per rank: seconds of the parts, then operations

}  // namespace

void RankTimes::add(const StepReport& report) {
  const StepWork& work = report.work;
  since_log_.flops += work.flops;
  since_log_.forward_s += work.forward_s;
  since_log_.backward_s += work.backward_s;
  since_log_.network_s += work.network_s;
  since_log_.optimizer_s += work.optimizer_s;
  since_log_.step_s += work.step_s;
}

// Each rank fills its own row and leaves zeros elsewhere, so the sum contains all rows.
void RankTimes::log(Ranks& group, const StepReport& report) {
  const auto ranks = static_cast<std::size_t>(group.size());
  std::vector<float> rows(ranks * kFigures);
  const StepWork& w = since_log_;
  // The rest of step_s: choosing examples and clearing gradients (step_cost.h).
  const double known = w.forward_s + w.backward_s + w.network_s + w.optimizer_s;
  const std::array<double, kFigures> mine{w.forward_s,   w.backward_s,     w.network_s,
                                          w.optimizer_s, w.step_s - known, w.flops};
  for (std::size_t i = 0; i < kFigures; ++i) {
    rows[static_cast<std::size_t>(group.rank()) * kFigures + i] = static_cast<float>(mine[i]);
  }
  group.sum(rows.data(), rows.size(), kReportTag);
  since_log_ = {};
  if (group.rank() != 0) return;
  const auto step = static_cast<double>(report.step);
  seconds_.resize(ranks);
  of_rank_.resize(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    const float* row = rows.data() + r * kFigures;
    Seconds& all = seconds_[r];
    all.forward += static_cast<double>(row[0]);
    all.backward += static_cast<double>(row[1]);
    all.network += static_cast<double>(row[2]);
    all.optimizer += static_cast<double>(row[3]);
    // Rounding to float may make the rest slightly negative.
    all.other += static_cast<double>(std::max(row[4], 0.0F));
    of_rank_[r].name = fmt::format("rank {}", r);
    // Divide by the time of forward and backward only: waiting for the network is not computing.
    const float computing = row[0] + row[1];
    if (computing > 0) {
      of_rank_[r].points.push_back({step, static_cast<double>(row[5] / computing) * 1e-9});
    }
  }
}

void RankTimes::add_to(ReportPage& report) const {
  report.charts.push_back({"Arithmetic of each rank", "step", "GFLOP/s", of_rank_});
  for (std::size_t r = 0; r < seconds_.size(); ++r) {
    const Seconds& s = seconds_[r];
    report.times.push_back({fmt::format("rank {}", r),
                            {{"forward", s.forward},
                             {"backward", s.backward},
                             {"network wait", s.network},
                             {"optimizer", s.optimizer},
                             {"input and other", s.other}}});
  }
}

}  // namespace dtl::trainer
