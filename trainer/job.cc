#include "trainer/job.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/log.h"
#include "trainer/checkpoint.h"
#include "trainer/gemm.h"
#include "trainer/kernels.h"
#include "trainer/prepare.h"
#include "trainer/progress.h"
#include "trainer/safetensors.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

// A run with everything that its parts share.
class Job {
 public:
  Job(const Settings& settings, Group& group, Prepared& prepared)
      : settings_(settings),
        group_(group),
        prepared_(prepared),
        pool_(default_threads(), true),
        model_(prepared.config, pool_),
        results_(first() ? settings.output_dir : "") {}

  void run() {
    parameters_ = std::move(prepared_.parameters);
    if (settings_.do_train) train();
    if (settings_.do_eval) evaluate();
    if (settings_.do_predict) predict_test();
    if (first()) finish();
  }

 private:
  bool first() const { return group_.rank() == 0; }
  fs::path output(const std::string& name) const { return fs::path(settings_.output_dir) / name; }

  TrainSettings train_settings() const;
  void banner(const TrainSettings& settings) const;
  void train();
  void after_step(const Trainer& trainer, const StepReport& report, std::int64_t per_epoch);
  void report_training(const Progress& progress);
  void evaluate();
  void predict_test();
  void save(const fs::path& folder, const std::vector<float>& parameters) const;
  void dump_gradients(const std::vector<float>& gradients) const;
  void finish();

  Settings settings_;
  Group& group_;
  Prepared& prepared_;
  ThreadPool pool_;
  Model<float> model_;
  Results results_;
  std::vector<float> parameters_;
  StepReport last_;
  std::int64_t total_steps_ = 0;
};

TrainSettings Job::train_settings() const {
  const Settings& s = settings_;
  TrainSettings t;
  t.accumulation = s.accumulation;
  t.global_batch =
      s.global_batch > 0 ? s.global_batch : s.train_batch * group_.size() * s.accumulation;
  t.seed = static_cast<std::uint64_t>(s.seed);
  const auto per_epoch =
      static_cast<double>(steps_per_epoch(prepared_.train.size(), t.global_batch));
  t.total_steps =
      s.max_steps > 0 ? s.max_steps : static_cast<std::int64_t>(std::ceil(s.epochs * per_epoch));
  OptimizerSettings& o = t.optimizer;
  o.learning_rate = s.learning_rate;
  o.weight_decay = s.weight_decay;
  o.beta1 = s.adam_beta1;
  o.beta2 = s.adam_beta2;
  o.epsilon = s.adam_epsilon;
  o.max_grad_norm = s.max_grad_norm;
  o.total_steps = t.total_steps;
  o.warmup_steps = s.warmup_steps > 0 ? s.warmup_steps
                                      : static_cast<std::int64_t>(std::ceil(
                                            static_cast<double>(t.total_steps) * s.warmup_ratio));
  return t;
}

void Job::banner(const TrainSettings& t) const {
  const ModelConfig& c = prepared_.config;
  say("***** Running training *****");
  say(fmt::format("  Num examples = {}", prepared_.train.size()));
  say(fmt::format("  Num Epochs = {:.4g}", static_cast<double>(t.total_steps) /
                                               static_cast<double>(steps_per_epoch(
                                                   prepared_.train.size(), t.global_batch))));
  say(fmt::format("  Total train batch size (all ranks, with accumulation) = {}", t.global_batch));
  say(fmt::format("  Gradient Accumulation steps = {}", t.accumulation));
  say(fmt::format("  Total optimization steps = {}", t.total_steps));
  say(fmt::format("  Number of trainable parameters = {}", parameter_count(model_.layout())));
  say(fmt::format("  Model = {}, {} layers, hidden {}, {} heads, {} labels",
                  c.type == ModelType::kBert ? "bert" : "distilbert", c.layers, c.hidden_size,
                  c.heads, c.labels.size()));
  say(fmt::format("  Ranks = {}, threads of each = {}, kernels = {} and OpenBLAS {}", group_.size(),
                  pool_.size(), kernel_level(), gemm_kernel_name()));
}

void Job::train() {
  const TrainSettings t = train_settings();
  total_steps_ = t.total_steps;
  if (settings_.logging_steps == 0) {
    settings_.logging_steps = std::max<std::int64_t>(1, t.total_steps / 20);
  }
  if (first()) banner(t);
  Trainer trainer(model_, t, group_, pool_, std::move(parameters_));
  Progress progress(first(), t.total_steps, settings_.logging_steps, results_);
  const std::int64_t per_epoch = steps_per_epoch(prepared_.train.size(), t.global_batch);
  while (trainer.steps_done() < t.total_steps) {
    last_ = trainer.step(prepared_.train);
    progress.step(last_);
    if (first()) after_step(trainer, last_, per_epoch);
  }
  const double seconds = progress.seconds();
  trainer.verify_parameters();
  parameters_ = trainer.parameters();
  if (!first()) return;
  report_training(progress);
  say(fmt::format("training took {}, {:.0f} tokens/s", duration_text(seconds),
                  static_cast<double>(progress.tokens()) / std::max(1e-9, seconds)));
  say(fmt::format("parameters {:016x} on {}", parameter_hash(parameters_),
                  group_.size() == 1 ? "1 rank" : fmt::format("all {} ranks", group_.size())));
}

void Job::after_step(const Trainer& trainer, const StepReport& report, std::int64_t per_epoch) {
  if (report.step == 1 && !settings_.debug_dump.empty()) dump_gradients(trainer.gradients());
  const bool epoch_ends = report.step % per_epoch == 0;
  if (settings_.save_strategy == "epoch" && epoch_ends && report.step < total_steps_) {
    save(output(fmt::format("checkpoint-{}", report.step)), trainer.parameters());
  }
}

void Job::report_training(const Progress& progress) {
  TrainFigures figures;
  figures.epoch = last_.epoch;
  figures.mean_loss = progress.mean_loss();
  figures.seconds = progress.seconds();
  figures.examples = prepared_.train.size();
  figures.steps = last_.step;
  figures.tokens = progress.tokens();
  figures.examples_seen = std::llround(last_.epoch * static_cast<double>(prepared_.train.size()));
  const Block& embeddings = model_.layout().blocks.front();
  const auto dense = static_cast<double>(model_.layout().total - embeddings.end);
  figures.flops = 6.0 * static_cast<double>(figures.tokens) * dense;
  results_.log_training(figures);
}

void Job::evaluate() {
  const auto start = std::chrono::steady_clock::now();
  const Examples& examples = prepared_.evaluation;
  if (first()) {
    say("***** Running Evaluation *****");
    say(fmt::format("  Num examples = {}", examples.size()));
  }
  const std::vector<float> logits =
      predict(model_, parameters_, examples, settings_.eval_batch, group_);
  if (!first()) return;
  EvaluationFigures figures;
  figures.metrics = measure(examples, logits);
  figures.examples = examples.size();
  figures.batches = steps_per_epoch(examples.size(), settings_.eval_batch * group_.size());
  figures.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  results_.log_evaluation(last_, figures);
  say(fmt::format("accuracy {:.4f} (the most frequent label alone: {:.4f})  f1 {:.4f}  loss {:.4f}",
                  figures.metrics.accuracy, figures.metrics.majority_share, figures.metrics.f1,
                  figures.metrics.loss));
  if (!settings_.debug_dump.empty()) {
    const auto classes = static_cast<std::int64_t>(prepared_.config.labels.size());
    write_safetensors(fs::path(settings_.debug_dump) / "logits.safetensors",
                      {{"logits", {{examples.size(), classes}, logits}}});
  }
}

void Job::predict_test() {
  const std::vector<float> logits =
      predict(model_, parameters_, prepared_.test, settings_.eval_batch, group_);
  if (!first()) return;
  const std::vector<std::string>& labels = prepared_.config.labels;
  std::string text = "index\tprediction\n";
  for (std::size_t i = 0; i < prepared_.test.labels.size(); ++i) {
    const std::int32_t best = best_label(logits.data() + i * labels.size(), labels.size());
    text += fmt::format("{}\t{}\n", i, labels[static_cast<std::size_t>(best)]);
  }
  write_file_atomically(output("predict_results.txt"), text);
  say(fmt::format("predictions: {}", output("predict_results.txt").string()));
}

void Job::save(const fs::path& folder, const std::vector<float>& parameters) const {
  fs::create_directories(folder);
  save_model(folder, prepared_.config, model_.layout(), parameters);
  prepared_.tokenizer->save(folder);
}

void Job::dump_gradients(const std::vector<float>& gradients) const {
  TensorMap tensors;
  for (const ParameterInfo& info : model_.layout().tensors) {
    const auto begin = gradients.begin() + info.offset;
    tensors[info.name] = {info.shape, std::vector<float>(begin, begin + info.count)};
  }
  write_safetensors(fs::path(settings_.debug_dump) / "gradients.safetensors", tensors);
}

void Job::finish() {
  if (settings_.output_dir.empty()) return;
  results_.write(settings_, total_steps_);
  if (settings_.do_train) {
    save(settings_.output_dir, parameters_);
    say(fmt::format("model:   {}", output("model.safetensors").string()));
  }
  say(fmt::format("metrics: {}", output("all_results.json").string()));
  say(fmt::format("log:     {}", output("metrics.jsonl").string()));
}

Prepared prepare_first(const Settings& settings) {
  if (!settings.output_dir.empty()) {
    make_output_folder(settings.output_dir, settings.overwrite_output_dir || !settings.do_train);
  }
  if (!settings.debug_dump.empty()) make_output_folder(settings.debug_dump, true);
  Prepared prepared = prepare(settings);
  for (const std::string& notice : prepared.notices) log_notice(notice);
  return prepared;
}

}  // namespace

void run_job(Settings settings, Group& group) {
  prepare_gemm();
  Prepared prepared;
  if (group.rank() == 0) prepared = prepare_first(settings);
  share(group, prepared);
  Job(settings, group, prepared).run();
  group.barrier(0xFFFF0020);  // nobody leaves while rank 0 may still fail to write
}

}  // namespace dtl::trainer
