#include "trainer/results.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/fd.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;  // sorted keys, as run_glue's files have them

double rate(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0.0;
}

Json evaluation_json(const EvaluationFigures& figures) {
  const auto examples = static_cast<double>(figures.examples);
  return {{"eval_loss", figures.metrics.loss},
          {"eval_accuracy", figures.metrics.accuracy},
          {"eval_f1", figures.metrics.f1},
          {"eval_majority_share", figures.metrics.majority_share},
          {"eval_samples", figures.examples},
          {"eval_runtime", figures.seconds},
          {"eval_samples_per_second", rate(examples, figures.seconds)},
          {"eval_steps_per_second", rate(static_cast<double>(figures.batches), figures.seconds)}};
}

Json training_json(const TrainFigures& f) {
  return {{"epoch", f.epoch},
          {"total_flos", f.flops},
          {"train_loss", f.mean_loss},
          {"train_runtime", f.seconds},
          {"train_samples", f.examples},
          {"train_samples_per_second", rate(static_cast<double>(f.examples_seen), f.seconds)},
          {"train_steps_per_second", rate(static_cast<double>(f.steps), f.seconds)},
          {"train_tokens_per_second", rate(static_cast<double>(f.tokens), f.seconds)}};
}

}  // namespace

struct Results::Impl {
  std::filesystem::path folder;
  std::ofstream stream;  // metrics.jsonl, a line at a time
  Json history = Json::array();
  Json training = Json::object(), evaluation = Json::object();
  std::int64_t step = 0;
  double epoch = 0;

  void add(const Json& entry) {
    history.push_back(entry);
    if (folder.empty()) return;
    stream << entry.dump() << std::endl;  // flushed: whoever follows the file sees each line
    if (!stream)
      throw system_error((folder / "metrics.jsonl").string() + ": cannot write", Exit::kIo);
  }
  void write(const char* name, const Json& json, int indent) const {
    write_file_atomically(folder / name, json.dump(indent) + "\n");
  }
};

Results::Results(std::string folder) : impl_(std::make_unique<Impl>()) {
  impl_->folder = std::move(folder);
  if (!impl_->folder.empty()) impl_->stream.open(impl_->folder / "metrics.jsonl");
}
Results::~Results() = default;

void Results::log_step(const StepReport& step, double mean_loss, double tokens_per_second) {
  impl_->step = step.step;
  impl_->epoch = step.epoch;
  impl_->add({{"step", step.step},
              {"epoch", step.epoch},
              {"loss", mean_loss},
              {"grad_norm", step.gradient_norm},
              {"learning_rate", step.learning_rate},
              {"tokens_per_second", tokens_per_second}});
}

void Results::log_evaluation(const StepReport& last, const EvaluationFigures& figures) {
  impl_->evaluation = evaluation_json(figures);
  if (last.step > 0) impl_->evaluation["epoch"] = last.epoch;
  Json entry = impl_->evaluation;
  entry["step"] = last.step;
  impl_->add(entry);
}

void Results::log_training(const TrainFigures& figures) {
  impl_->training = training_json(figures);
  impl_->step = figures.steps;
  impl_->epoch = figures.epoch;
  Json entry = impl_->training;
  entry["step"] = figures.steps;
  impl_->add(entry);
}

void Results::write(const Settings& settings, std::int64_t total_steps) const {
  if (impl_->folder.empty()) return;
  Json all = impl_->training;
  all.update(impl_->evaluation);
  if (!impl_->training.empty()) impl_->write("train_results.json", impl_->training, 4);
  if (!impl_->evaluation.empty()) impl_->write("eval_results.json", impl_->evaluation, 4);
  impl_->write("all_results.json", all, 4);
  impl_->write("trainer_state.json",
               {{"best_metric", nullptr},
                {"best_model_checkpoint", nullptr},
                {"epoch", impl_->epoch},
                {"global_step", impl_->step},
                {"is_hyper_param_search", false},
                {"is_local_process_zero", true},
                {"is_world_process_zero", true},
                {"log_history", impl_->history},
                {"logging_steps", settings.logging_steps},
                {"max_steps", total_steps},
                {"num_train_epochs", static_cast<std::int64_t>(std::ceil(settings.epochs))},
                {"total_flos", impl_->training.value("total_flos", 0.0)},
                {"train_batch_size", settings.train_batch},
                {"trial_name", nullptr},
                {"trial_params", nullptr}},
               2);
}

}  // namespace dtl::trainer
