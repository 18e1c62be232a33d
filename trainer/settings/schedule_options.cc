// Names and defaults are those of transformers' schedule functions. Absolute rates (min_lr, lr_end)
// become shares of --learning_rate, so that schedule.h does not need it.
#include "trainer/settings/schedule_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/options/option_table.h"
#include "base/text.h"
#include "trainer/json/json_depth.h"

namespace dtl::trainer {
namespace {

constexpr const char* kOption = "--lr_scheduler_kwargs";
// Up to here a double holds every whole number, so floor() below is exact.
constexpr double kMost = 1e12;

// The keys that each schedule takes. Schedules not listed take none.
const std::map<std::string, std::vector<std::string>>& keys_of_schedules() {
  static const std::map<std::string, std::vector<std::string>> kKeys = {
      {"cosine", {"num_cycles"}},
      {"cosine_with_restarts", {"num_cycles"}},
      {"polynomial", {"lr_end", "power"}},
      {"inverse_sqrt", {"timescale"}},
      {"cosine_with_min_lr", {"num_cycles", "min_lr", "min_lr_rate"}},
      {"cosine_warmup_with_min_lr", {"num_cycles", "min_lr", "min_lr_rate", "warmup_lr_rate"}},
      {"warmup_stable_decay",
       {"num_decay_steps", "num_stable_steps", "warmup_type", "decay_type", "min_lr_ratio",
        "num_cycles"}}};
  return kKeys;
}

[[noreturn]] void refuse_schedule(const Settings& s, const std::string& reason,
                                  const std::string& hint = "dttrain --help-all") {
  throw Error(Exit::kUsage, fmt::format("{} {}", kOption, s.scheduler_kwargs), reason, hint);
}

// The object's values by key. The constructor refuses keys that the schedule does not have.
class ScheduleObject {
 public:
  explicit ScheduleObject(const Settings& s) : settings_(s) {
    if (s.scheduler_kwargs.empty()) return;
    if (nests_too_deep(s.scheduler_kwargs)) refuse_schedule(s, kNestsTooDeep);
    json_ = nlohmann::json::parse(s.scheduler_kwargs, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) {
      refuse_schedule(s, "not a JSON object", fmt::format("{} '{{\"num_cycles\": 2}}'", kOption));
    }
    const auto known = keys_of_schedules().find(s.scheduler);
    const std::vector<std::string> keys =
        known == keys_of_schedules().end() ? std::vector<std::string>{} : known->second;
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      refuse_schedule(s, fmt::format("the schedule {} takes {}, not '{}'", s.scheduler,
                                     keys.empty() ? "none" : join(keys, ", "), key));
    }
  }

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

  // Keeps `value` if the key is missing. As in transformers, text that is a number counts as one.
  void number(const char* key, double low, double high, double& value) const {
    if (!has(key)) return;
    const nlohmann::json& given = json_.at(key);
    const std::string text = given.is_string() ? given.get<std::string>() : given.dump();
    const std::string wrong = read_real(text, low, high, value);
    if (!wrong.empty())
      refuse_schedule(settings_, fmt::format("{} {}: {}", key, given.dump(), wrong));
  }
  void steps(const char* key, double& value) const {
    number(key, 0, kMost, value);
    if (value == std::floor(value)) return;
    refuse_schedule(settings_, fmt::format("{} {}: not a whole number", key, value));
  }
  void curve(const char* key, std::string& value) const {
    if (!has(key)) return;
    const std::set<std::string> curves = {"linear", "cosine", "1-sqrt"};
    if (json_.at(key).is_string()) value = json_.at(key).get<std::string>();
    if (!json_.at(key).is_string() || !curves.contains(value)) {
      refuse_schedule(settings_, fmt::format("{} {}: not one of {}", key, json_.at(key).dump(),
                                             fmt::join(curves, ", ")));
    }
  }

 private:
  const Settings& settings_;
  nlohmann::json json_ = nlohmann::json::object();
};

// The minimum rate that two of the cosine schedules require.
void read_least_rate(const ScheduleObject& object, const Settings& s, double& rate) {
  if (object.has("min_lr") == object.has("min_lr_rate")) {
    refuse_schedule(s,
                    fmt::format("the schedule {} needs {} of min_lr and min_lr_rate", s.scheduler,
                                object.has("min_lr") ? "only one" : "one"),
                    "--lr_scheduler_kwargs '{\"min_lr_rate\": 0.1}'");
  }
  object.number("min_lr_rate", 0, 1, rate);
  if (!object.has("min_lr")) return;
  object.number("min_lr", 0, s.learning_rate, rate);
  rate = s.learning_rate > 0 ? rate / s.learning_rate : 0;
}

}  // namespace

ScheduleOptions schedule_options(const Settings& s) {
  ScheduleOptions options;
  if (ignores_schedule_options(s)) return options;
  const ScheduleObject object(s);
  // transformers' default; the other cosine schedules use 0.5.
  if (s.scheduler == "cosine_with_restarts") options.num_cycles = 1;
  object.number("num_cycles", 0, kMost, options.num_cycles);
  object.number("power", 0, kMost, options.power);
  object.number("timescale", 1e-12, kMost, options.timescale);
  object.number("warmup_lr_rate", 0, 1, options.warmup_rate);
  object.number("min_lr_ratio", 0, 1, options.min_rate);
  object.steps("num_decay_steps", options.num_decay_steps);
  object.steps("num_stable_steps", options.num_stable_steps);
  object.curve("warmup_type", options.warmup_type);
  object.curve("decay_type", options.decay_type);
  if (s.scheduler == "polynomial") {
    // transformers' default for lr_end. As there, it must be below the highest rate.
    double end = 1e-7;
    object.number("lr_end", 0, kMost, end);
    if (end >= s.learning_rate) {
      refuse_schedule(
          s, fmt::format("lr_end {} is not below --learning_rate {}", end, s.learning_rate));
    }
    options.end_rate = end / s.learning_rate;
  }
  if (s.scheduler == "warmup_stable_decay" && !object.has("num_decay_steps")) {
    refuse_schedule(s, "the schedule warmup_stable_decay needs num_decay_steps",
                    "--lr_scheduler_kwargs '{\"num_decay_steps\": 100}'");
  }
  if (s.scheduler.ends_with("_min_lr")) read_least_rate(object, s, options.min_rate);
  return options;
}

bool ignores_schedule_options(const Settings& s) {
  return s.scheduler == "constant" || s.scheduler == "constant_with_warmup";
}

}  // namespace dtl::trainer
