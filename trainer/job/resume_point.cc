// Decides where a run begins; checkpoint/ reads and checks the folders. A restart by dtlaunch must
// resume by itself; a new command resumes only as the user asks.
#include "trainer/job/resume_point.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/checksums.h"
#include "trainer/checkpoint/saved_state.h"
#include "trainer/report/progress.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxLogBytes = std::size_t{1} << 30;  // a log row has 200 bytes

// Restores the log's rows and the best metric from trainer_state.json. Copies of a model may lack
// that file.
std::optional<Results::Restored> restore_log(Run& run, const std::string& folder) {
  const std::string path = fs::path(folder) / "trainer_state.json";
  if (!fs::exists(path)) return std::nullopt;
  return run.results.restore(read_regular_file(path, kMaxLogBytes),
                             run.settings.metric_for_best_model, path);
}

// The log of the run that wrote this checkpoint, if that run ended at this step or later. For a
// checkpoint that the user named, the run must have ended at exactly this step: otherwise the later
// steps must be trained again.
std::optional<Results::Restored> restore_end(Run& run, std::int64_t step) {
  const Settings& s = run.settings;
  if (!holds_finished_run(s.output_dir)) return std::nullopt;
  const bool chosen = !s.resume_from_checkpoint.empty() && s.resume_from_checkpoint != "true";
  std::error_code unknown;
  // The checkpoint must lie in this output folder: another folder's end is not this run's.
  if (!fs::equivalent(fs::path(run.checkpoint) / "..", s.output_dir, unknown)) return std::nullopt;
  const auto end = restore_log(run, s.output_dir);
  const bool fits = end && (chosen ? end->step == step : end->step >= step);
  return fits ? end : std::nullopt;
}

// Nothing is left to train. Loads the final model: it may be newer than the last checkpoint, or the
// best model with --load_best_model_at_end.
void take_end(const Run& run, std::int64_t step, ResumePoint& point) {
  const std::string& output = run.settings.output_dir;
  point.finished = true;
  point.state.step = step;
  point.state.parameters =
      load_parameters(output, run.prepared.config, run.model.layout(), {}).values;
  say(fmt::format("  Continuing from {}, where a run ended after step {}", output, step));
}

void say_if_longer(const OptimizerSettings& before, const OptimizerSettings& now,
                   std::int64_t step) {
  if (now.total_steps <= before.total_steps) return;
  say(fmt::format(
      "  The run is longer, {} steps instead of {}: from step {} on the learning rate is "
      "that of the {} schedule over {} steps, {:.3g} instead of {:.3g}",
      now.total_steps, before.total_steps, step + 1, schedule_name(now.schedule), now.total_steps,
      learning_rate(now, step), learning_rate(before, step)));
}

[[noreturn]] void refuse(const std::string& wish, const Obstacle& obstacle) {
  // Suggest something that works: another checkpoint, or a new run.
  const auto near = sound_checkpoint_near(wish);
  throw Error(Exit::kBadInput, fmt::format("{}: cannot resume", wish),
              obstacle.damaged ? "it is damaged: " + obstacle.reason : obstacle.reason,
              near ? "--resume_from_checkpoint " + one_shell_word(*near)
                   : "--resume_from_checkpoint false --overwrite_output_dir");
}

// After a restart by dtlaunch: the last checkpoint of this job, whatever the options say.
std::optional<std::string> own_checkpoint(const std::string& output) {
  const char* restarts = std::getenv("TORCHELASTIC_RESTART_COUNT");
  // dtlaunch sets it to 0 for the first start.
  if (restarts == nullptr || parse_integer(restarts, 1, INT64_MAX) == std::nullopt) return {};
  // Older checkpoints belong to an earlier run.
  const auto began = marked_by_this_job(output);
  if (!began) return {};
  std::vector<std::string> passed;
  const auto last = last_sound_checkpoint(output, passed, *began);
  for (const std::string& what : passed) log_notice(what);
  return last;
}

}  // namespace

std::string checkpoint_to_resume(const Settings& s) {
  const std::string& wish = s.resume_from_checkpoint;
  if (s.output_dir.empty()) return "";
  if (const auto own = own_checkpoint(s.output_dir)) return *own;
  if (wish == "false") return "";
  if (!wish.empty() && wish != "true") {
    if (const auto obstacle = find_obstacle(wish)) refuse(wish, *obstacle);
    return wish;
  }
  // The order of these lines is the precedence: a restart, "false", a named folder, then the output
  // folder.
  if (wish.empty() && s.overwrite_output_dir) return "";
  std::vector<std::string> passed;
  const auto last = last_sound_checkpoint(s.output_dir, passed);
  for (const std::string& what : passed) log_notice(what);
  if (!passed.empty() && !last) log_notice(s.output_dir + ": no earlier checkpoint");
  if (!last && wish == "true") {
    throw Error(Exit::kBadInput, s.output_dir + ": cannot resume", "it has no checkpoint",
                "--resume_from_checkpoint false");
  }
  return last.value_or("");
}

void tidy_output(const Run& run) {
  const std::string& output = run.settings.output_dir;
  if (output.empty()) return;
  remove_partial_checkpoints(output);
  if (!run.checkpoint.empty()) return;
  const std::vector<std::string> old = set_aside_checkpoints(output);
  if (!old.empty()) {
    log_notice(fmt::format("{}: renamed the checkpoints of an earlier run to {}", output,
                           fmt::join(old, ", ")));
  }
}

ResumePoint find_resume_point(Run& run, const RunIdentity& identity, const RunPolicy& policy) {
  ResumePoint point;
  const std::string& folder = run.checkpoint;
  if (folder.empty()) return point;
  point.resumes = true;
  point.state = read_training_state(folder, run.model.layout(), identity);
  point.cost = read_training_cost(folder);
  const std::int64_t step = point.state.step;
  auto log = restore_end(run, step);
  if (log && policy.is_over(log->step, log->best)) {
    take_end(run, log->step, point);
  } else {
    // The finished run's log may include steps after the checkpoint. Then use the checkpoint's log.
    if (!log || log->step != step) log = restore_log(run, folder);
    say(fmt::format("  Continuing from {}, after step {}", folder, step));
    say_if_longer(read_run_identity(folder).optimizer, identity.optimizer, step);
  }
  if (log) {
    point.memory = log->best;
    point.tokens = log->tokens;
  }
  return point;
}

void take_position(Run& run) {
  const Settings& s = run.settings;
  std::error_code unknown;
  if (!holds_finished_run(s.output_dir) || !fs::equivalent(s.model, s.output_dir, unknown)) return;
  if (const auto log = restore_log(run, s.output_dir)) {
    run.last.step = log->step;
    run.last.epoch = log->epoch;
  }
}

}  // namespace dtl::trainer
