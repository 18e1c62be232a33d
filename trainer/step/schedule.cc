// The formulas follow transformers' optimization.py, branch by branch, including oddities such as
// the extra step of cosine_warmup_with_min_lr: learning rates must equal those of transformers.
#include "trainer/step/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dtl::trainer {
namespace {

template <class T>
struct Named {
  const char* name;
  T value;
};
constexpr Named<Schedule> kSchedules[] = {
    {"linear", Schedule::kLinear},
    {"cosine", Schedule::kCosine},
    {"cosine_with_restarts", Schedule::kCosineWithRestarts},
    {"polynomial", Schedule::kPolynomial},
    {"constant", Schedule::kConstant},
    {"constant_with_warmup", Schedule::kConstantWithWarmup},
    {"inverse_sqrt", Schedule::kInverseSqrt},
    {"cosine_with_min_lr", Schedule::kCosineWithMinLr},
    {"cosine_warmup_with_min_lr", Schedule::kCosineWarmupWithMinLr},
    {"warmup_stable_decay", Schedule::kWarmupStableDecay}};
constexpr Named<Curve> kCurves[] = {
    {"linear", Curve::kLinear}, {"cosine", Curve::kCosine}, {"1-sqrt", Curve::kOneMinusSqrt}};

// Progress of a run, in steps.
struct Position {
  double at, warmup, total;
  // max(1, ...) as in transformers: total_steps may not exceed the warmup.
  double falling() const { return std::max(1.0, total - warmup); }
};

// 1 at progress 0, and 0 after half a cycle. With `cycles` 0.5 it falls once, from 1 to 0.
double wave(double cycles, double progress) {
  return 0.5 * (1.0 + std::cos(std::numbers::pi * cycles * 2.0 * progress));
}

// Maps a factor from [0, 1] to [least, 1].
double above(double least, double factor) {
  return std::max(0.0, factor * (1.0 - least) + least);
}

double rising_curve(Curve curve, double progress) {
  switch (curve) {
    case Curve::kLinear:
      return progress;
    case Curve::kCosine:
      return 0.5 * (1.0 - std::cos(std::numbers::pi * progress));
    case Curve::kOneMinusSqrt:
      return 1.0 - std::sqrt(1.0 - progress);
  }
  __builtin_unreachable();
}

double falling_curve(Curve curve, double progress, double cycles) {
  switch (curve) {
    case Curve::kLinear:
      return 1.0 - progress;
    case Curve::kCosine:
      return wave(cycles, progress);
    case Curve::kOneMinusSqrt:
      return 1.0 - std::sqrt(progress);
  }
  __builtin_unreachable();
}

// From 0 (or first_rate) to 1 over the warmup.
double rising_factor(Schedule schedule, const Position& p, const ScheduleShape& shape) {
  const double progress = p.at / std::max(1.0, p.warmup);
  if (schedule == Schedule::kWarmupStableDecay) {
    return above(shape.least_rate, rising_curve(shape.warmup_curve, progress));
  }
  if (schedule != Schedule::kCosineWarmupWithMinLr) return progress;
  // transformers counts this schedule's steps from 1, here and in its cosine below.
  if (shape.first_rate < 0) return (p.at + 1.0) / std::max(1.0, p.warmup);
  return shape.first_rate + (1.0 - shape.first_rate) * p.at / std::max(1.0, p.warmup - 1.0);
}

double polynomial_factor(const Position& p, const ScheduleShape& shape) {
  // Check the end first, as transformers does, so that pow() gets a share from 0 to 1.
  if (p.at > p.total || p.total <= p.warmup) return shape.end_rate;
  const double left = 1.0 - (p.at - p.warmup) / (p.total - p.warmup);
  return (1.0 - shape.end_rate) * std::pow(left, shape.power) + shape.end_rate;
}

double inverse_sqrt_factor(const Position& p, const ScheduleShape& shape) {
  constexpr double kWithoutWarmup = 10'000;
  const double usual = p.warmup > 0 ? p.warmup : kWithoutWarmup;
  const double scale = shape.timescale > 0 ? shape.timescale : usual;
  return 1.0 / std::sqrt((p.at + scale - p.warmup) / scale);
}

double stable_decay_factor(const Position& p, const ScheduleShape& shape) {
  // By default, stable_steps is what warmup and decay leave.
  const double stable =
      shape.stable_steps < 0 ? p.total - p.warmup - shape.decay_steps : shape.stable_steps;
  const double into_decay = p.at - p.warmup - stable;
  if (into_decay < 0) return 1.0;
  if (into_decay >= shape.decay_steps) return shape.least_rate;
  const double progress = into_decay / std::max(1.0, shape.decay_steps);
  return above(shape.least_rate, falling_curve(shape.decay_curve, progress, shape.cycles));
}

}  // namespace

std::optional<Schedule> schedule_named(std::string_view name) {
  for (const auto& known : kSchedules) {
    if (name == known.name) return known.value;
  }
  return std::nullopt;
}

const char* schedule_name(Schedule schedule) {
  for (const auto& known : kSchedules) {
    if (schedule == known.value) return known.name;
  }
  __builtin_unreachable();
}

// If a resumed run is longer, the user learns that the rates change (checkpoint/run_identity.cc).
bool depends_on_total(Schedule schedule) {
  return schedule != Schedule::kConstant && schedule != Schedule::kConstantWithWarmup &&
         schedule != Schedule::kInverseSqrt;
}

std::optional<Curve> curve_named(std::string_view name) {
  for (const auto& known : kCurves) {
    if (name == known.name) return known.value;
  }
  return std::nullopt;
}

const char* curve_name(Curve curve) {
  for (const auto& known : kCurves) {
    if (curve == known.value) return known.name;
  }
  __builtin_unreachable();
}

double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t warmup_steps,
                       std::int64_t total_steps, const ScheduleShape& shape) {
  const Position p{static_cast<double>(step), static_cast<double>(warmup_steps),
                   static_cast<double>(total_steps)};
  // As in transformers, only kConstant has no warmup.
  if (step < warmup_steps && schedule != Schedule::kConstant) {
    return rising_factor(schedule, p, shape);
  }
  const double progress = (p.at - p.warmup) / p.falling();
  switch (schedule) {
    case Schedule::kLinear:
      return std::max(0.0, (p.total - p.at) / p.falling());
    case Schedule::kCosine:
      return std::max(0.0, wave(shape.cycles, progress));
    case Schedule::kCosineWithRestarts:
      // fmod would begin another wave at the very end.
      return progress >= 1 ? 0.0 : wave(0.5, std::fmod(shape.cycles * progress, 1.0));
    case Schedule::kPolynomial:
      return polynomial_factor(p, shape);
    case Schedule::kConstant:
    case Schedule::kConstantWithWarmup:
      return 1.0;
    case Schedule::kInverseSqrt:
      return inverse_sqrt_factor(p, shape);
    case Schedule::kCosineWithMinLr:
      return above(shape.least_rate, wave(shape.cycles, progress));
    case Schedule::kCosineWarmupWithMinLr:
      return above(shape.least_rate, wave(shape.cycles, progress + 1.0 / p.falling()));
    case Schedule::kWarmupStableDecay:
      return stable_decay_factor(p, shape);
  }
  __builtin_unreachable();
}

}  // namespace dtl::trainer
