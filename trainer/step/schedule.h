#pragma once
// The learning rate over a run, with the names and formulas of transformers' get_scheduler. Pure
// functions.

#include <cstdint>
#include <optional>
#include <string_view>

namespace dtl::trainer {

enum class Schedule {
  kLinear,
  kCosine,
  kCosineWithRestarts,
  kPolynomial,
  kConstant,
  kConstantWithWarmup,
  kInverseSqrt,
  kCosineWithMinLr,
  kCosineWarmupWithMinLr,
  kWarmupStableDecay,
};

// "linear", "cosine_with_restarts", ...
std::optional<Schedule> schedule_named(std::string_view name);
const char* schedule_name(Schedule schedule);

// Whether the factors depend on the total number of steps.
bool depends_on_total(Schedule schedule);

enum class Curve { kLinear, kCosine, kOneMinusSqrt };

// "linear", "cosine", "1-sqrt".
std::optional<Curve> curve_named(std::string_view name);
const char* curve_name(Curve curve);

// The values of --lr_scheduler_kwargs. Rates are shares of the highest learning rate.
struct ScheduleShape {
  double cycles = 0.5;       // waves of a cosine; with restarts: number of falls
  double power = 1;          // polynomial
  double end_rate = 0;       // polynomial
  double timescale = 0;      // inverse_sqrt; 0: the warmup, or 10,000 without one
  double least_rate = 0;     // cosine_with_min_lr, cosine_warmup_with_min_lr, warmup_stable_decay
  double first_rate = -1;    // cosine_warmup_with_min_lr; negative: 1 / warmup steps
  double decay_steps = 0;    // warmup_stable_decay
  double stable_steps = -1;  // warmup_stable_decay; negative: all between warmup and decay
  Curve warmup_curve = Curve::kLinear, decay_curve = Curve::kCosine;  // the same

  bool operator==(const ScheduleShape&) const = default;
};

// The factor for the learning rate of step number `step` (from 0). All schedules but constant first
// rise over the warmup, by default as step / max(1, warmup). Then, with p = (step - warmup) /
// max(1, total - warmup), linear falls as max(0, 1 - p) and cosine as max(0, (1 + cos(2 pi cycles
// p)) / 2).
double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t warmup_steps,
                       std::int64_t total_steps, const ScheduleShape& shape = {});

}  // namespace dtl::trainer
