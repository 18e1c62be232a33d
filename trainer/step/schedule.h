#pragma once
// How the learning rate moves over a run, in the names and formulas of transformers' get_scheduler.
// Pure functions.

#include <cstdint>
#include <optional>
#include <string_view>

namespace dtl::trainer {

enum class Schedule { kLinear, kCosine, kConstant, kConstantWithWarmup };

// "linear", "cosine", "constant", "constant_with_warmup".
std::optional<Schedule> schedule_named(std::string_view name);
const char* schedule_name(Schedule schedule);

// What the learning rate of step number `step` (from 0) is multiplied by: all but constant rise
// over the warmup, step / max(1, warmup); then, with p = (step - warmup) / max(1, total - warmup),
// linear falls as max(0, 1 - p), cosine as max(0, (1 + cos(pi p)) / 2), the others stay at 1.
double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t warmup_steps,
                       std::int64_t total_steps);

}  // namespace dtl::trainer
