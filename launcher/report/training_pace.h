#pragma once
// TrainingPace: how fast a job trains and how much it sends, from what agents report about its
// ranks. Pure: the time comes from outside. Reports are not trusted: values may go back, as they do
// when ranks start again.

#include <cstdint>
#include <map>
#include <optional>

#include "wire/messages.h"

namespace dtl {

class TrainingPace {
 public:
  // now: seconds since the job began.
  void add(const RankReport& report, double now);
  // All ranks start again; what was sent stays counted.
  void restart();

  // Of the lowest rank that tells its progress; nullopt: none does.
  std::optional<TrainingProgress> progress() const;
  // Mean time of a step, and tokens of all ranks per second, between two changes of the progress;
  // nullopt until there were two.
  std::optional<double> step_seconds() const { return step_seconds_; }
  std::optional<double> tokens_per_second() const { return tokens_per_second_; }
  // That libdtring's communicators of all ranks have sent and received; nullopt: there are none.
  std::optional<std::uint64_t> wire_bytes() const { return wire_bytes_; }

 private:
  void look_at(const TrainingProgress& progress, double now);

  std::optional<std::uint32_t> teller_;  // the rank
  TrainingProgress last_;                // of it, when the step changed
  double changed_ = 0;                   // when
  std::optional<double> step_seconds_, tokens_per_second_;
  std::map<std::uint32_t, std::uint64_t> moved_;  // bytes of each rank's last report
  std::optional<std::uint64_t> wire_bytes_;
};

}  // namespace dtl
