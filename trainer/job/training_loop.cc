// Drives Trainer through a run and does the work between two steps. RunPolicy decides when,
// CheckpointWriter writes, Results records. All ranks take the same branches; actions of rank 0
// only check first().
#include "trainer/job/training_loop.h"

#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/checksums.h"
#include "trainer/checkpoint/saved_state.h"
#include "trainer/files/safetensors.h"
#include "trainer/job/broadcast_values.h"
#include "trainer/job/optimizer_settings.h"
#include "trainer/job/resume_point.h"
#include "trainer/job/run_profile.h"
#include "trainer/job/signal_votes.h"
#include "trainer/job/stop_signal.h"
#include "trainer/job/training_lines.h"
#include "trainer/maths/gemm.h"
#include "trainer/report/progress.h"
#include "trainer/step/optimizer_state.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kResumeTag = 0xFFFF0031, kBestTag = 0xFFFF0032;

// If the number of ranks changes during a job, the global batch stays, so results do too.
std::int64_t ranks_of_batch(const Ranks& group) {
  constexpr const char* kVariable = "DTLAUNCH_FIRST_WORLD_SIZE";
  const char* first = std::getenv(kVariable);
  if (first == nullptr) return group.size();
  const auto ranks = parse_integer(first, 1, INT32_MAX);
  if (ranks) return *ranks;
  throw Error(Exit::kUsage, fmt::format("{}={}", kVariable, first), "not a number of ranks",
              fmt::format("unset {}", kVariable));
}

TrainSettings train_settings(const Run& run) {
  const Settings& s = run.settings;
  TrainSettings t;
  t.accumulation = s.accumulation;
  t.drop_last = s.drop_last;
  // As in transformers, --per_device_train_batch_size is per rank.
  t.global_batch = s.global_batch > 0 ? s.global_batch
                                      : s.train_batch * ranks_of_batch(run.group) * s.accumulation;
  t.seed = static_cast<std::uint64_t>(s.seed);
  if (s.data_seed >= 0) t.data_seed = static_cast<std::uint64_t>(s.data_seed);
  t.gradient_wire = *gradient_wire_named(s.gradient_wire);  // a valid name
  if (s.qa_loss == "padded") {
    t.padding = {run.prepared.length, run.prepared.config.pad_token_id};
  }
  const auto per_epoch = static_cast<double>(steps_per_epoch(run.prepared.train.size(), t));
  t.total_steps =
      s.max_steps > 0 ? s.max_steps : static_cast<std::int64_t>(std::ceil(s.epochs * per_epoch));
  t.optimizer = optimizer_settings(s, t.total_steps);
  return t;
}

// One run's training. It exists only during train().
class Training {
 public:
  explicit Training(Run& run)
      : run_(run),
        settings_(train_settings(run)),
        policy_(policy_settings(run.settings, settings_.total_steps,
                                steps_per_epoch(run.prepared.train.size(), settings_))),
        identity_(identity_of(run.model, settings_, run.prepared.train, run.precision)) {}

  int go() {
    if (run_.first()) {
      tidy_output(run_);
      say_banner(run_, settings_);
    }
    TrainingState state = first_state();
    if (run_.first()) begin_records();
    // The checkpoint is of the last step, or of a run that stopped early.
    if (policy_.is_over(state.step, policy_.memory())) {
      stand_still(std::move(state));
      return 0;
    }
    trainer_.emplace(run_.model, settings_, run_.group, run_.pool, std::move(state));
    // Only rank 0 prints.
    progress_.emplace(run_.first(), settings_.total_steps, trainer_->steps_done(),
                      !run_.settings.disable_tqdm);
    // Only rank 0 shows the share of the peak.
    peak_ = run_.first() ? measure_gemm_peak(run_.pool, run_.precision) : 0;
    if (run_.settings.eval_on_start) evaluate();
    const int signal = loop();
    progress_->clear();
    if (run_.writer) run_.writer->finish();
    if (signal != 0) return 128 + signal;
    end();
    return 0;
  }

 private:
  TrainingState first_state();
  void begin_records();
  void stand_still(TrainingState state);
  int loop();
  void after_step(const StepReport& report, const Actions& actions, bool told_to_stop);
  void say_asked(bool saves);
  void say_stopped(int signal, bool saved, const std::string& too_late);
  void log(const StepReport& report);
  void evaluate();
  void save(bool model_only);
  void say_parameters() const;
  void end();
  void load_best();
  void dump_gradients() const;
  std::string best_checkpoint() const;
  std::int64_t tokens() const { return tokens_before_ + (progress_ ? progress_->tokens() : 0); }
  double flops() const;
  std::optional<TrainingCost> cost() const;
  TrainFigures train_figures() const;

  Run& run_;
  TrainSettings settings_;
  RunPolicy policy_;
  RunIdentity identity_;
  std::optional<Trainer> trainer_;
  std::optional<Progress> progress_;
  double peak_ = 0;  // peak rate of matrix products, operations per second
  // From the earlier runs that this run continues.
  std::int64_t tokens_before_ = 0;
  std::optional<TrainingCost> cost_before_ = TrainingCost{};
};

// Rank 0 reads the checkpoint; the other ranks get flags and arrays.
TrainingState Training::first_state() {
  ResumePoint point;
  if (run_.first()) point = find_resume_point(run_, identity_, policy_);
  struct {
    std::uint64_t resumes = 0, finished = 0;
    RunPolicy::Memory memory = {};
  } shared;
  static_assert(std::is_trivially_copyable_v<decltype(shared)>);
  shared = {point.resumes, point.finished, point.memory};
  run_.group.broadcast(&shared, sizeof shared, kResumeTag);
  if (shared.resumes == 0) {
    return state_at_start(std::move(run_.parameters),
                          optimizer_state(run_.model.layout(), settings_.optimizer));
  }
  // Only rank 0's values are right. The other ranks never show theirs, which stay 0.
  tokens_before_ = point.tokens;
  cost_before_ = point.cost;
  run_.was_finished = shared.finished != 0;
  policy_.restore(shared.memory);
  share_training_state(run_.group, run_.model.layout(), settings_.optimizer, point.state);
  run_.last.step = run_.began_at = point.state.step;
  run_.last.epoch = epoch_after(point.state.step, run_.prepared.train.size(), settings_);
  return std::move(point.state);
}

void Training::begin_records() {
  const std::string& output = run_.settings.output_dir;
  if (!output.empty() && !run_.was_finished) mark_unfinished(output);
  run_.results.start(run_.settings, policy_.settings(), run_.was_finished);
}

// Nothing is left to train.
void Training::stand_still(TrainingState state) {
  run_.parameters = std::move(state.parameters);
  if (run_.first()) {
    const bool patience = state.step < settings_.total_steps;
    say(fmt::format("nothing is left to train: {} step {} of {}",
                    patience ? "--early_stopping_patience ran out at" : "the model has come to",
                    state.step, settings_.total_steps));
    run_.results.set_best(policy_.memory(), best_checkpoint());
    if (!run_.was_finished) run_.results.log_training(train_figures());
    say_parameters();
  }
  // The model of a finished run is already the best one.
  if (run_.settings.load_best_model_at_end && !run_.was_finished) load_best();
}

int Training::loop() {
  const StopSignal listening;
  SignalVotes votes(run_.group);
  while (trainer_->steps_done() < settings_.total_steps) {
    votes.begin();
    run_.last = trainer_->step(run_.prepared.train);
    // From here on all ranks have the same votes, so all of them stop in the same step.
    const auto [signal, checkpoint] = votes.end();
    Actions actions = policy_.after_step(run_.last.step);
    std::string too_late;
    if (signal != 0) {
      // A checkpoint after a signal is for resuming, so it is complete even with --save_only_model.
      if (run_.writer) {
        too_late = run_.writer->ends_too_late(StopSignal::received_at(), told_grace());
      }
      const bool save = too_late.empty() && !run_.settings.output_dir.empty();
      actions = {true, false, save, true};
    } else if (checkpoint) {
      actions.save = !run_.settings.output_dir.empty();
      if (run_.first()) say_asked(actions.save);
    }
    after_step(run_.last, actions, signal != 0 || checkpoint);
    if (signal != 0) {
      if (run_.first()) say_stopped(signal, actions.save, too_late);
      return signal;
    }
    if (actions.stop || policy_.out_of_patience()) break;
  }
  return 0;
}

void Training::say_stopped(int signal, bool saved, const std::string& too_late) {
  if (run_.writer) run_.writer->finish();  // before saying that all is saved
  progress_->clear();
  std::string text = fmt::format("told to stop by signal {}: {} after step {}", signal,
                                 saved ? "saved" : "nothing is saved", run_.last.step);
  if (!too_late.empty()) text += fmt::format(": {}. Try: dtlaunch --grace SECONDS", too_late);
  log_notice(text);
}

void Training::say_asked(bool saves) {
  progress_->clear();
  log_notice(
      saves ? fmt::format("received a signal: writing a checkpoint after step {}", run_.last.step)
            : "received a signal: cannot write a checkpoint without --output_dir");
}

void Training::after_step(const StepReport& report, const Actions& actions, bool told_to_stop) {
  const StepWork& work = report.work;
  run_.times.add(report);
  if (run_.first()) run_.profile.add(report, *trainer_);
  const double rate = work.flops / (work.forward_s + work.backward_s);
  if (peak_ > 0) peak_ = std::max(peak_, rate);  // the machine was busy during the measurement
  progress_->step(report, {peak_ > 0 ? rate / peak_ : -1,
                           run_.group.size() > 1 ? work.network_s / work.step_s : -1});
  Ranks::show_progress(report.step, settings_.total_steps, progress_->tokens(), report.loss);
  if (run_.first() && report.step == 1 && !run_.settings.debug_dump.empty()) dump_gradients();
  if (actions.log) log(report);
  bool best = false;
  if (actions.evaluate) {
    evaluate();
    best = policy_.evaluated(run_.last.step, run_.evaluation_metrics);
  }
  // With --save_strategy best, save after the evaluation.
  if (actions.save || (best && policy_.settings().saving == Strategy::kBest)) {
    save(run_.settings.save_only_model && !told_to_stop);
  }
}

void Training::log(const StepReport& report) {
  const Progress::Line line = progress_->log();
  if (run_.first()) run_.results.log_step(report, line.mean_loss, line.tokens_per_second);
  run_.times.log(run_.group, report);
}

void Training::evaluate() {
  progress_->pause();
  progress_->clear();
  run_.parameters = trainer_->parameters();
  run_.evaluate(/*trains_on=*/true);
  progress_->go_on();
}

// As transformers counts: 6 operations per token and parameter, without embeddings.
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

void Training::save(bool model_only) {
  policy_.saved(run_.last.step);
  // Ranks without a writer record the step too: best_saved() must be the same on all ranks.
  if (!run_.writer) return;
  run_.results.set_best(policy_.memory(), best_checkpoint());
  run_.results.set_position(run_.last.step, run_.last.epoch, flops(), tokens());
  CheckpointExtras extras;
  extras.identity = identity_;
  // Make the text on this thread now: the log grows while the checkpoint is written.
  extras.trainer_state = run_.results.state_text();
  extras.cost = cost();
  extras.model_only = model_only;
  extras.write_more = [this](const std::string& folder) { run_.prepared.tokenizer->save(folder); };
  extras.save_total_limit = run_.settings.save_total_limit;
  extras.best = best_checkpoint();
  progress_->clear();  // the writer may print a notice
  run_.writer->start(trainer_->state(), std::move(extras), run_.pool);
}

// The cost of all runs; nothing if an earlier run did not record its cost.
std::optional<TrainingCost> Training::cost() const {
  if (!cost_before_ || !progress_) return cost_before_;
  const auto steps = static_cast<double>(run_.last.step - run_.began_at);
  return TrainingCost{cost_before_->seconds + progress_->seconds(),
                      cost_before_->loss_sum + progress_->mean_loss() * steps};
}

// `run` is this process's share. `total` is that of all runs, if all costs are known.
TrainFigures Training::train_figures() const {
  const std::int64_t size = run_.prepared.train.size();
  const auto seen = [&](std::int64_t steps) { return examples_after(steps, size, settings_); };
  TrainFigures figures;
  figures.epoch = run_.last.epoch;
  figures.examples = size;
  figures.steps = run_.last.step;
  figures.flops = flops();
  if (progress_) {
    figures.run = {progress_->mean_loss(), progress_->seconds(), run_.last.step - run_.began_at,
                   seen(run_.last.step) - seen(run_.began_at), progress_->tokens()};
  }
  const std::optional<TrainingCost> all = cost();
  if (run_.began_at > 0 && all) {
    const auto steps = static_cast<double>(run_.last.step);
    figures.total = {all->loss_sum / steps, all->seconds, run_.last.step, seen(run_.last.step),
                     tokens()};
  }
  return figures;
}

void Training::say_parameters() const {
  say(fmt::format(
      "parameters {:016x} on {}", parameter_hash(run_.parameters),
      run_.group.size() == 1 ? "1 rank" : fmt::format("all {} ranks", run_.group.size())));
}

// Compares hashes on every rank before rank 0 writes a model.
void Training::end() {
  trainer_->verify_parameters();
  run_.parameters = trainer_->parameters();
  if (run_.first()) {
    const TrainFigures figures = train_figures();
    run_.results.set_best(policy_.memory(), best_checkpoint());
    run_.results.log_training(figures);
    run_.profile_text = profile_text(run_, settings_, *trainer_);
    std::string took = duration_text(figures.run.seconds);
    if (run_.began_at > 0) took += fmt::format(" from step {} on", run_.began_at + 1);
    if (figures.total) took += fmt::format(" and {} in all", duration_text(figures.total->seconds));
    say(fmt::format("training took {}, {:.0f} tokens/s", took,
                    static_cast<double>(figures.run.tokens) / std::max(1e-9, figures.run.seconds)));
    say_parameters();
  }
  if (run_.settings.load_best_model_at_end) load_best();
}

void Training::load_best() {
  // Equal on all ranks, so that all or none take part in the broadcast.
  if (!policy_.best_saved()) return;
  if (run_.first()) {
    const std::string folder = best_checkpoint();
    say(fmt::format("best model: {} ({} {:.4f})", folder, policy_.settings().metric,
                    policy_.best_saved()->metric));
    if (const auto damage = find_damage(folder)) {
      log_notice(
          fmt::format("{}: damaged checkpoint: {}; keeping the last model", folder, *damage));
    } else {
      run_.parameters =
          load_parameters(folder, run_.prepared.config, run_.model.layout(), {}).values;
    }
  }
  run_.group.broadcast(run_.parameters.data(), run_.parameters.size() * sizeof(float), kBestTag);
}

void Training::dump_gradients() const {
  TensorMap tensors;
  for (const ParameterInfo& info : run_.model.layout().tensors) {
    if (info.offset < trained_begin(run_.model.layout(), run_.model.frozen())) continue;
    const auto begin = trainer_->gradients().begin() + info.offset;
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
