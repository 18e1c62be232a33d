#pragma once
// --lr_scheduler_kwargs: a JSON object as in transformers, checked against --lr_scheduler_type. A
// plain value. Pure.

#include <string>

#include "trainer/settings/settings.h"

namespace dtl::trainer {

// Keys that were not given have the schedule's defaults. Rates are shares of --learning_rate.
struct ScheduleOptions {
  double num_cycles = 0.5;
  double power = 1;
  double end_rate = 0;      // lr_end
  double timescale = 0;     // 0: not given
  double min_rate = 0;      // min_lr, min_lr_rate or min_lr_ratio
  double warmup_rate = -1;  // warmup_lr_rate; negative: not given
  double num_decay_steps = 0;
  double num_stable_steps = -1;  // negative: not given
  std::string warmup_type = "linear", decay_type = "cosine";
};

// Throws Error(kUsage) for text that is not a JSON object, for a key that the schedule does not
// have, and for a value that it cannot use.
ScheduleOptions schedule_options(const Settings& settings);

// Schedules without keys, for which transformers accepts and ignores any object.
bool ignores_schedule_options(const Settings& settings);

}  // namespace dtl::trainer
