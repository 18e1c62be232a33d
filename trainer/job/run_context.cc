// The parts that live as long as the run, in construction order. Code that prints or writes checks
// first() before.
#include "trainer/job/run_context.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/files/new_file.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/families/task_head.h"
#include "trainer/files/safetensors.h"
#include "trainer/job/broadcast_values.h"
#include "trainer/job/optimizer_settings.h"
#include "trainer/maths/gemm_bf16.h"
#include "trainer/report/event_file.h"
#include "trainer/report/progress.h"
#include "trainer/tasks/classifier_loss.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

// "eval_accuracy 0.8431  eval_f1 0.8912"
std::string metrics_line(const std::string& prefix, const std::string& suffix,
                         const MetricList& metrics) {
  std::string line;
  for (const auto& [name, value] : metrics) {
    line += fmt::format("{}{}{}{} {:.4f}", line.empty() ? "" : "  ", prefix, name, suffix, value);
  }
  return line;
}

// Parses seconds, as dtlaunch writes them. Ignores other text: another launcher may use this
// variable name.
std::optional<std::chrono::milliseconds> parse_grace(const char* text) {
  char* rest = nullptr;
  const double seconds = text != nullptr ? std::strtod(text, &rest) : -1;
  if (!(seconds >= 0 && seconds < 1e9) || rest == text || *rest != '\0') return std::nullopt;
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

// Nothing without dtlaunch.
std::optional<std::chrono::milliseconds> grace_of_launcher() {
  return parse_grace(std::getenv("DTLAUNCH_GRACE"));
}

std::unique_ptr<CheckpointWriter> make_writer(const Settings& s, const ModelConfig& config) {
  if (!s.do_train || s.output_dir.empty()) return nullptr;
  // The copy's size depends on the kind of optimizer, not on the number of steps: so pass 0.
  return std::make_unique<CheckpointWriter>(s.output_dir, config, grace_of_launcher(),
                                            optimizer_settings(s, /*total_steps=*/0));
}

std::string event_folder(const Settings& s) {
  if (s.report_to != "tensorboard") return "";
  return s.logging_dir.empty() ? default_logging_dir(s.output_dir) : s.logging_dir;
}

}  // namespace

Precision precision_of(const std::string& option, const std::string& value) {
  if (value == "emulate") return Precision::kBf16Emulated;
  if (value != "true") return Precision::kFloat32;
  const Bf16Support& support = bf16_support();
  if (support.available) return Precision::kBf16;
  throw Error(Exit::kConfig, option,
              fmt::format("{}; {}=emulate does without, slowly", support.reason, option),
              option + " false");
}

// dtagent writes the file when it tells the ranks to end. DTLAUNCH_GRACE holds the default grace.
std::optional<std::chrono::milliseconds> told_grace() {
  const char* path = std::getenv("DTLAUNCH_GRACE_FILE");
  std::ifstream file(path != nullptr ? path : "");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  return parse_grace(text.c_str());
}

Run::Run(const Settings& given, Ranks& ranks, Prepared& from)
    : settings(given),
      group(ranks),
      prepared(from),
      writer(first() ? make_writer(given, from.config) : nullptr),
      // Create it after the writer, whose thread must keep all CPUs of the process.
      pool(default_threads(), true),
      model(from.config, pool, loss_settings(given, from)),
      results(first() ? given.output_dir : "", first() ? event_folder(given) : ""),
      parameters(std::move(from.parameters)) {
  precision = precision_of("--bf16", settings.bf16);
  if (settings.bf16_full_eval != "false") {
    evaluation_precision = precision_of("--bf16_full_eval", settings.bf16_full_eval);
  }
  model.set_precision(precision);
}

void Run::evaluate(bool trains_on) {
  for (std::size_t i = 0; i < prepared.evaluation.size(); ++i) {
    const Questioned& set = prepared.evaluation[i];
    if (first()) {
      say("***** Running Evaluation *****");
      say(fmt::format("  Num examples = {}", set.examples.size()));
    }
    const Assessment done = assess(settings, prepared, set, model, parameters, group, true);
    const MetricList& metrics = done.score.metrics;
    // Only rank 0 checks: all ranks have the same outputs, and one message is enough.
    if (first() && !trains_on) check_outputs(done.outputs);
    // For mnli, the first set, "matched", selects the best model.
    if (i == 0) evaluation_metrics = metrics;
    if (!first()) continue;
    const TaskKind& kind = task_kind(settings.task);
    const ModelOutputs of{settings, prepared, set, done.outputs};
    if (i == 0 && !trains_on && writes_report()) view = kind.view(of, done.score);
    const std::string suffix = set.suffix.empty() ? "" : "_mm";
    results.log_evaluation(last.step, last.epoch,
                           {"eval", suffix, metrics, done.samples, done.batches, done.seconds});
    say(metrics_line("eval_", suffix, main_metrics(metrics)));
    // Not during training: the report has the curves.
    if (!trains_on) {
      for (const std::string& line : done.score.lines) say(line);
    }
    write_files(kind.files(of, done.score));
    if (i == 0 && !settings.debug_dump.empty()) dump_outputs(done.outputs);
  }
  // Every rank needs them to decide about early stopping and the best checkpoint.
  share_metrics(group, evaluation_metrics);
}

void Run::dump_outputs(const std::vector<float>& outputs) const {
  const std::int64_t columns = output_count(prepared.config);
  write_safetensors(
      (fs::path(settings.debug_dump) / "logits.safetensors").string(),
      {{"logits", {{static_cast<std::int64_t>(outputs.size()) / columns, columns}, outputs}}});
}

// Returns the path of the first; empty without an output folder.
std::string Run::write_files(const std::vector<TaskFile>& files) const {
  std::string first_path;
  if (settings.output_dir.empty()) return first_path;
  for (const TaskFile& file : files) {
    const std::string path = output(file.name).string();
    write_file_atomically(path, file.text);
    if (first_path.empty()) first_path = path;
  }
  return first_path;
}

// Without labels, the only figures are times.
void Run::predict() {
  for (const Questioned& set : prepared.test) {
    if (first()) {
      say("***** Running Prediction *****");
      say(fmt::format("  Num examples = {}", set.examples.size()));
    }
    const Assessment done = assess(settings, prepared, set, model, parameters, group, false);
    if (!first()) continue;
    check_outputs(done.outputs);
    results.log_evaluation(
        last.step, last.epoch,
        {"predict", set.suffix.empty() ? "" : "_mm", {}, done.samples, done.batches, done.seconds});
    const ModelOutputs of{settings, prepared, set, done.outputs, false};
    const std::string path = write_files(task_kind(settings.task).files(of, done.score));
    say(fmt::format("predictions: {}", path));
  }
}

void Run::save_model_to(const fs::path& folder) const {
  fs::create_directories(folder);
  save_model(folder.string(), prepared.config, model.layout(), parameters);
  prepared.tokenizer->save(folder.string());
}

}  // namespace dtl::trainer
