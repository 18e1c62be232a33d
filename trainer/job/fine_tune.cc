// The steps of a run. Only rank 0 reads and writes files and prints; the other ranks get their data
// from share(). A failure on any rank throws, and main.cc tells the other ranks.
#include "trainer/job/fine_tune.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files/new_file.h"
#include "base/host_name.h"
#include "base/log.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/families/model_family.h"
#include "trainer/files/folder_lock.h"
#include "trainer/files/output_folder.h"
#include "trainer/job/broadcast_values.h"
#include "trainer/job/load_inputs.h"
#include "trainer/job/resume_point.h"
#include "trainer/job/run_context.h"
#include "trainer/job/score_dataset.h"
#include "trainer/job/training_loop.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"
#include "trainer/report/progress.h"
#include "trainer/report/run_report.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kEndTag = 0xFFFF0020;

// What rank 0 holds during the run. Destroying it releases the locks.
struct Place {
  std::vector<FolderLock> locks;
  std::string checkpoint;  // to resume from, or empty
};

// A run may resume in a folder with checkpoints, and restart in the folder of a killed run.
std::string make_output_place(const Settings& s) {
  const bool holds_checkpoints = find_last_checkpoint(s.output_dir).has_value();
  const std::string checkpoint = s.do_train ? checkpoint_to_resume(s) : "";
  // If the checkpoint is elsewhere, this folder must not hold other files.
  const bool goes_on = holds_checkpoints && !checkpoint.empty();
  make_output_folder(s.output_dir, s.overwrite_output_dir || !s.do_train || goes_on ||
                                       is_unfinished(s.output_dir));
  // Do not mark a finished run's folder as unfinished before there is something to train.
  if (s.do_train && !(goes_on && holds_finished_run(s.output_dir))) mark_unfinished(s.output_dir);
  return checkpoint;
}

// Two runs in one folder would mix their checkpoints. Lock before reading anything there.
std::vector<FolderLock> lock_folders(const Settings& s) {
  std::vector<FolderLock> locks;
  if (!s.output_dir.empty()) locks.emplace_back(s.output_dir);
  std::error_code none_yet;
  if (!s.debug_dump.empty() && !fs::equivalent(s.output_dir, s.debug_dump, none_yet)) {
    locks.emplace_back(s.debug_dump);
  }
  return locks;
}

// First quick checks that may fail, then reading and tokenising.
Prepared prepare_first(Settings& settings, Place& place) {
  // Rank 0 reads the task from the data's columns. share_text() sends it to the other ranks.
  if (settings.task == "auto") set_task(settings, data_task(settings));
  for (const std::string& notice : settings.notices) log_notice(notice);
  place.locks = lock_folders(settings);
  if (!settings.output_dir.empty()) place.checkpoint = make_output_place(settings);
  if (!settings.debug_dump.empty()) make_output_folder(settings.debug_dump, true);
  Prepared prepared;
  const auto tell = [&] {
    for (const std::string& line : prepared.data_sets) log_notice(line);
    for (const std::string& notice : prepared.notices) log_notice(notice);
    if (!place.checkpoint.empty()) return;
    for (const std::string& notice : prepared.weights) log_notice(notice);
  };
  try {
    prepare(settings, prepared);
    if (!prepared.evaluation.empty()) {
      check_best_metric(settings, prepared.config, prepared.evaluation.front());
    }
  } catch (const Error&) {
    tell();  // a notice may explain the error
    if (!settings.task_option.empty()) {
      log_notice(fmt::format("--{} chose --task {}", settings.task_option, settings.task));
    }
    throw;
  }
  tell();
  return prepared;
}

// report.html holds the facts that readers need to compare runs: machine, kernels and model size.
std::string report_of(const Run& run) {
  const ModelConfig& c = run.prepared.config;
  ReportPage report = run_report(run.settings, run.results);
  report.summary =
      fmt::format("{} steps, {:.4g} {} over {} examples, {} parameters, {}.", run.last.step,
                  run.last.epoch, run.last.epoch == 1 ? "pass" : "passes",
                  run.prepared.train.size(), parameter_count(run.model.layout()),
                  run.group.size() == 1 ? "1 rank" : fmt::format("{} ranks", run.group.size()));
  if (run.began_at > 0) {
    report.summary += fmt::format(
        " This run went on from step {}: arithmetic and times are its own.", run.began_at);
  }
  report.headline = run.view.headline;
  if (report.headline.value.empty()) report.headline = training_headline(run.results.figures());
  report.about = about_run(run.settings, run.hosts, run.began);
  report.tables = run.view.tables;
  report.examples = run.view.examples;
  run.times.add_to(report);
  report.machine = {{"ranks", fmt::format("{}", run.group.size())},
                    {"threads of each", fmt::format("{}", run.pool.size())},
                    {"kernels", kernel_level()},
                    {"OpenBLAS", gemm_kernel_name()},
                    {"model", fmt::format("{}, {} layers, hidden {}, {} heads", family_of(c).name,
                                          c.layers, c.hidden_size, c.heads)}};
  return report_html(report);
}

// A training too short for a profile removes that of an earlier one, which had other steps.
void write_profile(const Run& run) {
  const fs::path path = run.output("step_profile.json");
  std::error_code no_matter;
  if (run.profile_text.empty()) {
    fs::remove(path, no_matter);
  } else {
    write_file_atomically(path.string(), run.profile_text);
  }
}

void finish(Run& run) {
  const Settings& s = run.settings;
  if (s.output_dir.empty()) return;
  run.results.write();
  // If there was nothing to train, keep the model and report in the folder.
  if (run.writes_report()) {
    run.save_model_to(s.output_dir);
    write_file_atomically(run.output("report.html"), report_of(run));
    write_profile(run);
    say(fmt::format("model:   {}", run.output("model.safetensors").string()));
    say(fmt::format("report:  {}", run.output("report.html").string()));
  }
  say(fmt::format("metrics: {}", run.output("all_results.json").string()));
  say(fmt::format("log:     {}", run.output("metrics.jsonl").string()));
  mark_finished(s.output_dir);
}

// Applies --bf16_full_eval during its lifetime: rounds the weights and the products. Afterwards the
// model is exact again: save_model_to() writes the exact parameters.
class RoundedEvaluation {
 public:
  explicit RoundedEvaluation(Run& run) : run_(run) {
    if (!run.evaluation_precision) return;
    exact_ = run.parameters;
    rounding_kernels().round_to_bf16(static_cast<std::int64_t>(exact_.size()), exact_.data(),
                                     run.parameters.data());
    run.model.set_precision(*run.evaluation_precision);
  }
  RoundedEvaluation(const RoundedEvaluation&) = delete;
  RoundedEvaluation& operator=(const RoundedEvaluation&) = delete;
  ~RoundedEvaluation() {
    if (exact_.empty()) return;
    run_.parameters = std::move(exact_);
    run_.model.set_precision(run_.precision);
  }

 private:
  Run& run_;
  std::vector<float> exact_;
};

}  // namespace

int run_job(Settings settings, Ranks& group) {
  // Must run before any thread multiplies.
  prepare_gemm();
  Prepared prepared;
  Place place;
  // The other ranks wait in share_text(). If rank 0 fails, Ranks::abort ends their wait.
  if (group.rank() == 0) prepared = prepare_first(settings, place);
  share_text(group, settings.task);
  if (group.rank() != 0) set_task(settings, settings.task);
  share(group, prepared);
  Run run(settings, group, prepared);
  run.checkpoint = place.checkpoint;
  run.hosts = gather_texts(group, own_host_name());
  int status = 0;
  if (settings.do_train) {
    status = train(run);
  } else if (run.first()) {
    take_position(run);
    run.results.start(run.settings, {});
  }
  if (status == 0) {
    // Only for evaluations after training. Those during training use --bf16's precision.
    const RoundedEvaluation rounded(run);
    if (settings.do_eval) run.evaluate();
    if (settings.do_predict) run.predict();
  }
  // If a signal ended the run, it stays marked as unfinished: the same command resumes it.
  if (status == 0 && run.first()) finish(run);
  group.barrier(kEndTag);  // no rank leaves while rank 0 may still fail to write
  return status;
}

}  // namespace dtl::trainer
