#pragma once
// How the learning rate moves over a run, in the names and formulas of transformers' get_scheduler.
// Pure functions.

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

// Whether the factors depend on how many steps there are in all.
bool depends_on_total(Schedule schedule);

enum class Curve { kLinear, kCosine, kOneMinusSqrt };

// "linear", "cosine", "1-sqrt".
std::optional<Curve> curve_named(std::string_view name);
const char* curve_name(Curve curve);

// What --lr_scheduler_kwargs says. Rates are shares of the highest learning rate.
struct ScheduleShape {
  double cycles = 0.5;       // waves of a cosine; with restarts: how often it falls
  double power = 1;          // polynomial
  double end_rate = 0;       // polynomial
  double timescale = 0;      // inverse_sqrt; 0: the warmup, and 10,000 without one
  double least_rate = 0;     // cosine_with_min_lr, cosine_warmup_with_min_lr, warmup_stable_decay
  double first_rate = -1;    // cosine_warmup_with_min_lr; negative: one step's share of the warmup
  double decay_steps = 0;    // warmup_stable_decay
  double stable_steps = -1;  // the same; negative: all between warmup and decay
  Curve warmup_curve = Curve::kLinear, decay_curve = Curve::kCosine;  // the same

  bool operator==(const ScheduleShape&) const = default;
};

// What the learning rate of step number `step` (from 0) is multiplied by. All but constant rise
// over the warmup first, step / max(1, warmup) where nothing else is said; then, with
// p = (step - warmup) / max(1, total - warmup), linear falls as max(0, 1 - p) and cosine as
// max(0, (1 + cos(2 pi cycles p)) / 2).
double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t warmup_steps,
                       std::int64_t total_steps, const ScheduleShape& shape = {});

}  // namespace dtl::trainer
