// One row for each option that needs another one.
#include "trainer/settings/unused_options.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace dtl::trainer {
namespace {

struct Need {
  std::string_view option;
  bool (*met)(const Settings& s);
  std::string_view reason;
};

bool measures(const Settings& s) {
  return s.do_eval || s.do_predict;
}

bool evaluates_in_training(const Settings& s) {
  return s.eval_strategy != "no";
}

bool logs(const Settings& s) {
  return s.logging_strategy != "no";
}

bool is_adam(const Settings& s) {
  return s.optimizer.starts_with("adamw");
}

bool has_betas(const Settings& s) {
  return is_adam(s) || s.optimizer.starts_with("lion");
}

bool warms_up(const Settings& s) {
  return s.scheduler != "constant";
}

constexpr std::array<Need, 28> kNeeds = {{
    {"train_file", [](const Settings& s) { return s.do_train; }, "it needs --do_train"},
    {"validation_file", [](const Settings& s) { return s.do_eval; }, "it needs --do_eval"},
    {"test_file", [](const Settings& s) { return s.do_predict; }, "it needs --do_predict"},
    {"max_train_samples", [](const Settings& s) { return s.do_train; }, "it needs --do_train"},
    {"max_eval_samples", [](const Settings& s) { return s.do_eval; }, "it needs --do_eval"},
    {"max_predict_samples", [](const Settings& s) { return s.do_predict; },
     "it needs --do_predict"},
    {"eval_steps", [](const Settings& s) { return s.eval_strategy == "steps"; },
     "it needs --eval_strategy steps"},
    {"eval_delay", evaluates_in_training, "it needs --eval_strategy steps or epoch"},
    {"save_steps", [](const Settings& s) { return s.save_strategy != "no"; },
     "it needs --save_strategy steps"},
    {"save_total_limit", [](const Settings& s) { return s.save_strategy != "no"; },
     "it needs --save_strategy steps, epoch or best"},
    {"per_device_eval_batch_size", measures, "it needs --do_eval or --do_predict"},
    {"report_examples", measures, "it needs --do_eval or --do_predict"},
    {"metric_name", measures, "it needs --do_eval or --do_predict"},
    {"return_entity_level_metrics", measures, "it needs --do_eval or --do_predict"},
    {"freeze_layers", [](const Settings& s) { return s.do_train; }, "it needs --do_train"},
    {"bf16_full_eval", measures, "it needs --do_eval or --do_predict"},
    {"metric_for_best_model", evaluates_in_training, "it needs --eval_strategy steps or epoch"},
    {"resume_from_checkpoint", [](const Settings& s) { return s.do_train; }, "it needs --do_train"},
    {"save_only_model", [](const Settings& s) { return s.save_strategy != "no"; },
     "it needs --save_strategy steps, epoch or best"},
    {"logging_steps",
     [](const Settings& s) { return s.logging_strategy == "steps" || s.eval_strategy == "steps"; },
     "it needs --logging_strategy steps"},
    {"logging_first_step", logs, "it needs --logging_strategy steps or epoch"},
    {"num_train_epochs", [](const Settings& s) { return s.max_steps <= 0; },
     "--max_steps replaces it"},
    {"adam_beta1", has_betas, "it needs --optim adamw_torch or lion"},
    {"adam_beta2", has_betas, "it needs --optim adamw_torch or lion"},
    {"adam_epsilon", is_adam, "it needs --optim adamw_torch"},
    {"warmup_steps", warms_up, "it needs another --lr_scheduler_type, as constant_with_warmup"},
    {"warmup_ratio", [](const Settings& s) { return warms_up(s) && s.warmup_steps == 0; },
     "it needs --warmup_steps 0, and another --lr_scheduler_type than constant"},
    {"validation_split_percentage",
     [](const Settings& s) { return s.do_eval && s.validation_file.empty(); },
     "it needs --do_eval without --validation_file"},
}};

// What demo_settings() takes from the command line.
constexpr std::array<std::string_view, 10> kOfDemo = {
    "demo",        "output_dir",   "overwrite_output_dir", "seed", "logging_steps", "report_to",
    "logging_dir", "disable_tqdm", "report_examples",      "task"};

bool is_of_demo(const std::string& name) {
  for (const std::string_view each : kOfDemo) {
    if (each == name) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> unused_options(const Settings& settings,
                                        const std::set<std::string>& given) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view option, std::string_view reason) {
    lines.push_back(fmt::format("--{} has no effect here: {}", option, reason));
  };
  if (settings.demo) {
    for (const std::string& name : given) {
      if (!is_of_demo(name)) add(name, "the demonstration always trains the same");
    }
    return lines;
  }
  for (const Need& need : kNeeds) {
    if (given.contains(std::string(need.option)) && !need.met(settings)) {
      add(need.option, need.reason);
    }
  }
  return lines;
}

}  // namespace dtl::trainer
