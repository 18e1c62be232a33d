#include "launcher/report/training_pace.h"

#include <utility>

namespace dtl {

void TrainingPace::add(const RankReport& report, double now) {
  if (report.progress.step > 0 || report.progress.total_steps > 0) {
    if (!teller_ || report.rank < *teller_) {
      restart();
      teller_ = report.rank;
    }
    if (report.rank == *teller_) look_at(report.progress, now);
  }
  if (report.comms.empty()) return;
  std::uint64_t bytes = 0;
  for (const CommState& comm : report.comms) bytes += comm.bytes;
  std::uint64_t& before = moved_[report.rank];
  // Less than before: a communicator is gone, or the rank is another process.
  wire_bytes_ = wire_bytes_.value_or(0) + (bytes >= before ? bytes - before : bytes);
  before = bytes;
}

void TrainingPace::restart() {
  teller_.reset();
  last_ = {};
  changed_ = 0;
  step_seconds_.reset();
  tokens_per_second_.reset();
}

std::optional<TrainingProgress> TrainingPace::progress() const {
  return teller_ ? std::optional(last_) : std::nullopt;
}

void TrainingPace::look_at(const TrainingProgress& progress, double now) {
  const TrainingProgress before = std::exchange(last_, progress);
  if (progress.step == before.step && changed_ > 0) return;
  if (progress.step > before.step && changed_ > 0 && now > changed_) {
    const double span = now - changed_;
    step_seconds_ = span / static_cast<double>(progress.step - before.step);
    if (progress.tokens > before.tokens && before.tokens > 0) {
      tokens_per_second_ = static_cast<double>(progress.tokens - before.tokens) / span;
    }
  }
  changed_ = now;
}

}  // namespace dtl
