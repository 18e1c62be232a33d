#include "trainer/step/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dtl::trainer {
namespace {

struct Named {
  const char* name;
  Schedule schedule;
};
constexpr Named kSchedules[] = {{"linear", Schedule::kLinear},
                                {"cosine", Schedule::kCosine},
                                {"constant", Schedule::kConstant},
                                {"constant_with_warmup", Schedule::kConstantWithWarmup}};

}  // namespace

std::optional<Schedule> schedule_named(std::string_view name) {
  for (const Named& known : kSchedules) {
    if (name == known.name) return known.schedule;
  }
  return std::nullopt;
}

const char* schedule_name(Schedule schedule) {
  for (const Named& known : kSchedules) {
    if (schedule == known.schedule) return known.name;
  }
  __builtin_unreachable();
}

double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t warmup_steps,
                       std::int64_t total_steps) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(warmup_steps);
  const auto falling = std::max(1.0, static_cast<double>(total_steps) - warmup);
  const bool warming = step < warmup_steps && schedule != Schedule::kConstant;
  if (warming) return at / std::max(1.0, warmup);
  switch (schedule) {
    case Schedule::kLinear:
      return std::max(0.0, (static_cast<double>(total_steps) - at) / falling);
    case Schedule::kCosine:
      return std::max(0.0, 0.5 * (1.0 + std::cos(std::numbers::pi * ((at - warmup) / falling))));
    case Schedule::kConstant:
    case Schedule::kConstantWithWarmup:
      return 1.0;
  }
  __builtin_unreachable();
}

}  // namespace dtl::trainer
