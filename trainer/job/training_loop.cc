#include "trainer/job/training_loop.h"

#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/saved_state.h"
#include "trainer/files/safetensors.h"
#include "trainer/job/broadcast_values.h"
#include "trainer/job/stop_signal.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"
#include "trainer/report/progress.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kStopTag = 0xFFFF0030, kResumeTag = 0xFFFF0031, kBestTag = 0xFFFF0032;

TrainSettings train_settings(const Run& run) {
  const Settings& s = run.settings;
  TrainSettings t;
  t.accumulation = s.accumulation;
  t.drop_last = s.drop_last;
  t.global_batch =
      s.global_batch > 0 ? s.global_batch : s.train_batch * run.group.size() * s.accumulation;
  t.seed = static_cast<std::uint64_t>(s.seed);
  t.gradient_wire = *gradient_wire_named(s.gradient_wire);  // one that the settings allow
  if (s.qa_loss == "padded" && run.prepared.config.task == Task::kQuestionAnswering) {
    t.padding = {run.prepared.length, run.prepared.config.pad_token_id};
  }
  const auto per_epoch = static_cast<double>(steps_per_epoch(run.prepared.train.size(), t));
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
  o.warmup_steps = resolve_warmup(s, t.total_steps);
  o.schedule = *schedule_named(s.scheduler);  // one that the settings allow
  o.form = *adam_form_named(s.optimizer);
  return t;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The checkpoint to go on from, empty for none. Rank 0's business.
std::string checkpoint_to_resume(const Settings& s) {
  const std::string& wish = s.resume_from_checkpoint;
  if (wish == "false" || s.output_dir.empty()) return "";
  if (!wish.empty() && wish != "true") return wish;
  if (wish.empty() && s.overwrite_output_dir) return "";
  const auto last = find_last_checkpoint(s.output_dir);
  if (!last && wish == "true") {
    throw Error(Exit::kBadInput, fmt::format("--resume_from_checkpoint in {}", s.output_dir),
                "it has no checkpoint", "leave the option out");
  }
  return last.value_or("");
}

class Training {
 public:
  explicit Training(Run& run)
      : run_(run),
        settings_(train_settings(run)),
        policy_(policy_settings(run.settings, settings_.total_steps,
                                steps_per_epoch(run.prepared.train.size(), settings_))),
        identity_(identity_of(settings_, run.prepared.train, run.precision)) {}

  int go() {
    if (run_.first()) {
      if (!run_.settings.output_dir.empty()) remove_partial_checkpoints(run_.settings.output_dir);
      run_.results.start(run_.settings, policy_.settings());
      banner();
    }
    trainer_.emplace(run_.model, settings_, run_.group, run_.pool, first_state());
    // Only rank 0's shows anything.
    progress_.emplace(run_.first(), settings_.total_steps, trainer_->steps_done(),
                      !run_.settings.disable_tqdm);
    peak_ = run_.first() ? measure_gemm_peak(run_.pool, run_.precision) : 0;
    const int signal = loop();
    progress_->clear();
    if (run_.writer) run_.writer->finish();
    if (signal != 0) return 128 + signal;
    end();
    return 0;
  }

 private:
  void banner() const;
  TrainingState first_state();
  int loop();
  int agreed_signal(float (&votes)[2], dt_work work);
  void after_step(const StepReport& report, const Actions& actions);
  void log(const StepReport& report);
  void evaluate();
  void save();
  void end();
  void load_best();
  void dump_gradients() const;
  std::string best_checkpoint() const;
  std::int64_t tokens() const { return tokens_before_ + progress_->tokens(); }
  double flops() const;

  Run& run_;
  TrainSettings settings_;
  RunPolicy policy_;
  RunIdentity identity_;
  std::optional<Trainer> trainer_;
  std::optional<Progress> progress_;
  double peak_ = 0;                 // operations per second of matrix products, at best
  std::int64_t tokens_before_ = 0;  // of the run that this one goes on with
};

void Training::banner() const {
  const ModelConfig& c = run_.prepared.config;
  const std::int64_t examples = run_.prepared.train.size();
  const auto per_epoch = static_cast<double>(steps_per_epoch(examples, settings_));
  say("***** Running training *****");
  say(fmt::format("  Num examples = {}", examples));
  say(fmt::format("  Num Epochs = {:.4g}", static_cast<double>(settings_.total_steps) / per_epoch));
  say(fmt::format("  Total train batch size (all ranks, with accumulation) = {}",
                  settings_.global_batch));
  say(fmt::format("  Gradient Accumulation steps = {}", settings_.accumulation));
  say(fmt::format("  Total optimization steps = {}", settings_.total_steps));
  say(fmt::format("  Number of trainable parameters = {}", parameter_count(run_.model.layout())));
  const std::string head =
      c.task == Task::kQuestionAnswering ? "answers" : fmt::format("{} labels", c.labels.size());
  say(fmt::format("  Model = {}, {} layers, hidden {}, {} heads, {}",
                  c.type == ModelType::kBert ? "bert" : "distilbert", c.layers, c.hidden_size,
                  c.heads, head));
  say(fmt::format("  Ranks = {}, threads of each = {}, kernels = {} and OpenBLAS {}",
                  run_.group.size(), run_.pool.size(), kernel_level(), gemm_kernel_name()));
}

TrainingState Training::first_state() {
  const std::string folder = run_.first() ? checkpoint_to_resume(run_.settings) : "";
  std::uint64_t resumes = folder.empty() ? 0 : 1;
  run_.group.broadcast(&resumes, sizeof resumes, kResumeTag);
  TrainingState state;
  if (resumes == 0) return state_at_start(std::move(run_.parameters));
  RunPolicy::Memory memory;
  if (run_.first()) {
    state = read_training_state(folder, run_.model.layout(), identity_);
    const fs::path log = fs::path(folder) / "trainer_state.json";
    if (fs::exists(log)) {
      const Results::Restored before = run_.results.restore(read_text(log), log.string());
      memory = before.best;
      tokens_before_ = before.tokens;
    }
    say(fmt::format("  Continuing from {}, after step {}", folder, state.step));
  }
  static_assert(std::is_trivially_copyable_v<RunPolicy::Memory>);
  run_.group.broadcast(&memory, sizeof memory, kBestTag);
  policy_.restore(memory);
  share_training_state(run_.group, run_.model.layout(), state);
  return state;
}

// The signal that some rank was told to stop by; ranks may hear of it in different steps.
int Training::agreed_signal(float (&votes)[2], dt_work work) {
  run_.group.wait(work);
  if (votes[0] > 0) return SIGTERM;
  return votes[1] > 0 ? SIGINT : 0;
}

int Training::loop() {
  const StopSignal listening;
  while (trainer_->steps_done() < settings_.total_steps) {
    float votes[2] = {StopSignal::received() == SIGTERM ? 1.0F : 0.0F,
                      StopSignal::received() == SIGINT ? 1.0F : 0.0F};
    const dt_work work = run_.group.start_sum(votes, 2, kStopTag);
    run_.last = trainer_->step(run_.prepared.train);
    const int signal = agreed_signal(votes, work);
    Actions actions = policy_.after_step(run_.last.step);
    if (signal != 0) actions = {true, false, !run_.settings.output_dir.empty(), true};
    after_step(run_.last, actions);
    if (signal != 0) {
      if (run_.first()) {
        if (run_.writer) run_.writer->finish();  // before it is said that all is saved
        progress_->clear();
        log_notice(fmt::format("told to stop by signal {}: {} after step {}", signal,
                               actions.save ? "saved" : "nothing is saved", run_.last.step));
      }
      return signal;
    }
    if (actions.stop || policy_.out_of_patience()) break;
  }
  return 0;
}

void Training::after_step(const StepReport& report, const Actions& actions) {
  const StepWork& work = report.work;
  run_.times.add(report);
  const double rate = work.flops / (work.forward_s + work.backward_s);
  if (peak_ > 0) peak_ = std::max(peak_, rate);  // the machine was busy when it was measured
  progress_->step(report, {peak_ > 0 ? rate / peak_ : -1,
                           run_.group.size() > 1 ? work.network_s / work.step_s : -1});
  if (run_.first() && report.step == 1 && !run_.settings.debug_dump.empty()) dump_gradients();
  if (actions.log) log(report);
  if (actions.evaluate) evaluate();
  if (actions.save) save();
}

void Training::log(const StepReport& report) {
  const Progress::Line line = progress_->log();
  if (run_.first()) run_.results.log_step(report, line.mean_loss, line.tokens_per_second);
  run_.times.log(run_.group, report, line.tokens_per_second);
}

void Training::evaluate() {
  progress_->pause();
  progress_->clear();
  run_.parameters = trainer_->parameters();
  run_.evaluate();
  policy_.evaluated(run_.last.step, run_.evaluation_metrics);
  progress_->go_on();
}

// As transformers counts: 6 operations for each token and parameter, without the embeddings.
double Training::flops() const {
  const ParameterLayout& layout = run_.model.layout();
  return 6.0 * static_cast<double>(tokens()) *
         static_cast<double>(layout.total - layout.blocks.front().end);
}

std::string Training::best_checkpoint() const {
  const auto best = policy_.best_saved();
  if (!best || run_.settings.output_dir.empty()) return "";
  return run_.output(fmt::format("checkpoint-{}", best->step)).string();
}

void Training::save() {
  policy_.saved(run_.last.step);
  if (!run_.writer) return;
  run_.results.set_best(policy_.memory(), best_checkpoint());
  run_.results.set_position(run_.last.step, run_.last.epoch, flops(), tokens());
  CheckpointExtras extras;
  extras.identity = identity_;
  extras.trainer_state = run_.results.state_text();
  extras.write_more = [this](const std::string& folder) { run_.prepared.tokenizer->save(folder); };
  extras.save_total_limit = run_.settings.save_total_limit;
  extras.best = best_checkpoint();
  progress_->clear();  // the writer may have something to say
  run_.writer->start(trainer_->state(), std::move(extras), run_.pool);
}

void Training::end() {
  trainer_->verify_parameters();
  run_.parameters = trainer_->parameters();
  if (run_.first()) {
    TrainFigures figures;
    figures.epoch = run_.last.epoch;
    figures.mean_loss = progress_->mean_loss();
    figures.seconds = progress_->seconds();
    figures.examples = run_.prepared.train.size();
    figures.steps = run_.last.step;
    figures.tokens = tokens();
    figures.examples_seen =
        std::llround(run_.last.epoch * static_cast<double>(run_.prepared.train.size()));
    figures.flops = flops();
    run_.results.set_best(policy_.memory(), best_checkpoint());
    run_.results.log_training(figures);
    say(fmt::format("training took {}, {:.0f} tokens/s", duration_text(figures.seconds),
                    static_cast<double>(progress_->tokens()) / std::max(1e-9, figures.seconds)));
    say(fmt::format(
        "parameters {:016x} on {}", parameter_hash(run_.parameters),
        run_.group.size() == 1 ? "1 rank" : fmt::format("all {} ranks", run_.group.size())));
  }
  if (run_.settings.load_best_model_at_end) load_best();
}

void Training::load_best() {
  if (!policy_.best_saved()) return;
  if (run_.first()) {
    const std::string folder = best_checkpoint();
    say(fmt::format("best model: {} ({} {:.4f})", folder, policy_.settings().metric,
                    policy_.best_saved()->metric));
    run_.parameters = load_parameters(folder, run_.prepared.config, run_.model.layout(), {}).values;
  }
  run_.group.broadcast(run_.parameters.data(), run_.parameters.size() * sizeof(float), kBestTag);
}

void Training::dump_gradients() const {
  TensorMap tensors;
  const std::vector<float>& gradients = trainer_->gradients();
  for (const ParameterInfo& info : run_.model.layout().tensors) {
    const auto begin = gradients.begin() + info.offset;
    tensors[info.name] = {info.shape, std::vector<float>(begin, begin + info.count)};
  }
  write_safetensors((fs::path(run_.settings.debug_dump) / "gradients.safetensors").string(),
                    tensors);
}

}  // namespace

int train(Run& run) {
  return Training(run).go();
}

}  // namespace dtl::trainer
