#pragma once
// TrainJobStatus: what a TrainJob's server is told about a training: per cent, remaining seconds
// and metrics, as transformers' KubeflowCallback tells them. PostPace: when. Both are pure: the
// time comes from outside, in seconds since the job began. Reports are not trusted: values may go
// back, and a training may do more steps than it announced.

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

#include "launcher/report/training_pace.h"
#include "wire/messages.h"

namespace dtl {

class TrainJobStatus {
 public:
  void add(const RankReport& report, double now);
  void restart();  // all ranks start again

  // The progress has changed since the last text(). Stays false unless a rank has told how many
  // steps there will be.
  bool has_news() const { return is_new_; }
  // The status as JSON; at most 99 per cent, because the job may still evaluate and save.
  std::string text(double now, std::time_t wall);
  // The last one: 100 per cent if the job has succeeded, else what was done. nullopt: no rank has
  // told how many steps there would be.
  std::optional<std::string> last_text(bool succeeded, std::time_t wall) const;

 private:
  // From the mean time of the steps since the first report of this start of the ranks; nullopt
  // until there is one.
  std::optional<std::int64_t> remaining_seconds(double now) const;

  TrainingPace pace_;
  std::optional<TrainingProgress> told_;     // the last one; kept when ranks start again
  std::optional<std::uint64_t> first_step_;  // of this start of the ranks
  double first_time_ = 0;
  bool is_new_ = false;
};

class PostPace {
 public:
  static constexpr double kPeriod = 5;          // s; as the server expects it
  static constexpr double kLongestPause = 300;  // s; between two attempts that fail

  double next() const { return next_; }  // earliest time of the next post
  void posted(double began, bool succeeded);
  bool has_failed() const { return pause_ > kPeriod; }  // the last post

 private:
  double next_ = 0, pause_ = kPeriod;
};

}  // namespace dtl
