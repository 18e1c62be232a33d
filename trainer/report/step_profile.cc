// Keeps the newest steps one by one, because their spread gives the forecast its error, and the
// means of the buckets.
#include "trainer/report/step_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace dtl::trainer {
namespace {

using ProfileJson = nlohmann::ordered_json;

constexpr std::size_t kMostProfiledSteps =
    1000;  // 200 KiB of text; more would not change the spread

// A tenth of a microsecond: the clock is not better.
double profiled(double seconds) {
  return std::round(seconds * 1e7) / 1e7;
}

ProfileJson step_json(const StepWork& work, std::int64_t tokens) {
  return {{"step_s", profiled(work.step_s)},
          {"forward_s", profiled(work.forward_s)},
          {"backward_s", profiled(work.backward_s)},
          {"network_s", profiled(work.network_s)},
          {"optimizer_s", profiled(work.optimizer_s)},
          {"early_optimizer_s", profiled(work.early_optimizer_s)},
          {"tokens", tokens}};
}

double clock_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The number of words that k of the shares had, for each k: enough to compute how many rows any
// number of ranks would have in common.
ProfileJson word_rows(const std::vector<std::uint32_t>& word_uses) {
  std::map<std::uint32_t, std::int64_t> words_with;
  for (const std::uint32_t uses : word_uses) {
    if (uses > 0) ++words_with[uses];
  }
  ProfileJson rows = ProfileJson::array();
  for (const auto& [uses, words] : words_with) rows.push_back({{"uses", uses}, {"words", words}});
  return rows;
}

}  // namespace

void StepProfile::add(const StepReport& report, const Trainer& trainer) {
  last_cpu_s_ = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  last_wall_s_ = clock_seconds(CLOCK_MONOTONIC);
  if (++seen_ == 1) {
    first_cpu_s_ = last_cpu_s_;
    first_wall_s_ = last_wall_s_;
    return;
  }
  steps_.push_back({report.work, report.tokens});
  if (steps_.size() > kMostProfiledSteps) steps_.pop_front();
  const std::vector<Buckets::Sent>& sent = trainer.sent();
  if (buckets_.empty()) {
    buckets_ = sent;
  } else {
    for (std::size_t i = 0; i < std::min(sent.size(), buckets_.size()); ++i) {
      buckets_[i].before_end_s += sent[i].before_end_s;
    }
  }
  ++bucket_steps_;
}

std::string StepProfile::text(const ProfiledRun& run,
                              const std::vector<std::uint32_t>& word_uses) const {
  const double wall = last_wall_s_ - first_wall_s_;
  ProfileJson json = {{"schema", "dttrain-step-profile/1"},
                      {"ranks", run.ranks},
                      {"ranks_per_node", run.ranks_per_node},
                      {"threads", run.threads},
                      {"cpus", wall > 0 ? (last_cpu_s_ - first_cpu_s_) / wall : run.threads},
                      {"comm_cpus", run.comm_cpus},
                      {"gradient_wire", run.gradient_wire},
                      {"gradient_accumulation_steps", run.accumulation},
                      {"global_batch", run.global_batch},
                      {"word_row_bytes", run.word_row_bytes},
                      {"word_shares", seen_},
                      {"word_rows", word_rows(word_uses)}};
  ProfileJson& buckets = json["buckets"] = ProfileJson::array();
  const auto count = static_cast<double>(std::max<std::int64_t>(bucket_steps_, 1));
  for (const Buckets::Sent& bucket : buckets_) {
    buckets.push_back(
        {{"bytes", bucket.bytes}, {"before_end_s", profiled(bucket.before_end_s / count)}});
  }
  ProfileJson& steps = json["steps"] = ProfileJson::array();
  for (const Step& step : steps_) steps.push_back(step_json(step.work, step.tokens));
  return json.dump(1) + "\n";
}

int environment_ranks_per_node() {
  const char* const ranks = std::getenv("LOCAL_WORLD_SIZE");
  return ranks == nullptr ? 1 : static_cast<int>(parse_integer(ranks, 1, INT32_MAX).value_or(1));
}

}  // namespace dtl::trainer
