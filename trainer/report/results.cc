// Keys, names and rounding are transformers', so that scripts for its files read these. Each log
// row goes to log_history, metrics.jsonl and TensorBoard.
#include "trainer/report/results.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"
#include "base/text.h"
#include "trainer/json/json_depth.h"
#include "trainer/json/json_text.h"
#include "trainer/report/event_file.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;  // sorted keys, as in run_glue's files

constexpr const char* kOtherCheckpoint = "--resume_from_checkpoint CHECKPOINT";
constexpr std::size_t kMaxResultsBytes = 1 << 20;  // all_results.json has some dozens of keys
constexpr const char *kOfThisRun = "train_", *kOfAllRuns = "total_train_";
constexpr double kMaxCount = 9e15;  // a double holds every whole number up to there

// transformers rounds times to 0.1 ms and rates to 0.001.
double rounded(double value, double scale) {
  return std::round(value * scale) / scale;
}
double rate(double amount, double seconds) {
  return seconds > 0 ? rounded(amount / seconds, 1000) : 0.0;
}

Json evaluation_row(const EvaluationFigures& f) {
  const auto name = [&](const std::string& what) { return f.prefix + "_" + what + f.suffix; };
  Json row = {{name("runtime"), rounded(f.seconds, 1e4)},
              {name("samples_per_second"), rate(static_cast<double>(f.examples), f.seconds)},
              {name("steps_per_second"), rate(static_cast<double>(f.batches), f.seconds)}};
  for (const auto& [key, value] : f.metrics) row[name(key)] = value;
  return row;
}

void add_share(Json& row, const std::string& prefix, const TrainShare& share) {
  if (share.steps == 0) return;
  row[prefix + "loss"] = share.mean_loss;
  row[prefix + "runtime"] = rounded(share.seconds, 1e4);
  row[prefix + "samples_per_second"] = rate(static_cast<double>(share.examples), share.seconds);
  row[prefix + "steps_per_second"] = rate(static_cast<double>(share.steps), share.seconds);
  row[prefix + "tokens_per_second"] = rate(static_cast<double>(share.tokens), share.seconds);
}

Json training_row(const TrainFigures& f) {
  Json row = {{"epoch", f.epoch}, {"total_flos", f.flops}};
  add_share(row, kOfThisRun, f.run);
  if (f.total) add_share(row, kOfAllRuns, *f.total);
  return row;
}

// As transformers' TensorBoardCallback: eval_loss is eval/loss, everything else train/...
std::vector<std::pair<std::string, double>> scalars_of(const Json& row) {
  std::vector<std::pair<std::string, double>> scalars;
  for (const auto& [key, value] : row.items()) {
    if (key == "step" || !value.is_number()) continue;
    const bool evaluation = key.starts_with("eval_");
    scalars.emplace_back(evaluation ? "eval/" + key.substr(5) : "train/" + key,
                         value.get<double>());
  }
  return scalars;
}

// Steps or tokens; 10.0 is accepted too. Nothing for other values, such as 10.5.
std::optional<std::int64_t> count_in(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  if (!(number >= 0 && number <= kMaxCount) || number != std::floor(number)) return std::nullopt;
  return value.get<std::int64_t>();
}

// The N of .../checkpoint-N; 0 if the path ends otherwise, such as with checkpoint-5.old.
std::int64_t step_of_checkpoint(const std::string& path) {
  constexpr std::string_view kName = "checkpoint-";
  const std::size_t dash = path.rfind(kName);
  if (dash == path.npos) return 0;
  return parse_integer(path.substr(dash + kName.size()), 0, INT64_MAX).value_or(0);
}

}  // namespace

struct Results::Impl {
  std::filesystem::path folder;
  std::ofstream stream;  // metrics.jsonl, line by line
  std::string event_folder;
  std::optional<EventFile> events;
  bool keeps = false;  // keep the files of an earlier training
  Settings settings;
  PolicySettings policy;
  Json history = Json::array();
  Json training = Json::object(), evaluation = Json::object(), prediction = Json::object();
  std::int64_t step = 0, tokens = 0;
  double epoch = 0, flops = 0;
  RunPolicy::Memory best;
  std::string best_checkpoint;

  void stream_row(const Json& row) {
    if (folder.empty()) return;
    stream << row.dump() << std::endl;  // flushed: a reader of the file sees each line at once
    if (!stream)
      throw system_error((folder / "metrics.jsonl").string() + ": cannot write", Exit::kIo);
  }
  void add(const Json& row) {
    history.push_back(row);
    stream_row(row);
    open_events();
    if (events) events->add(row.value("step", std::int64_t{0}), scalars_of(row));
  }
  void open_events() {
    if (!events && !event_folder.empty()) events.emplace(event_folder);
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  void write(const std::string& name, const Json& json, int indent) const {
    write_file_atomically(path(name), json.dump(indent) + "\n");
  }
  Json all_results() const;
  Json state() const;
  Json callbacks() const;
};

// This run's figures on top of those that earlier runs left. A new training drops the figures of an
// earlier one, so a run that began anew has no totals.
Json Results::Impl::all_results() const {
  Json all = Json::object();
  if (std::filesystem::exists(path("all_results.json"))) {
    const std::string text = read_regular_file(path("all_results.json"), kMaxResultsBytes);
    // A broken file is not worth ending the run: replace it.
    const Json old = nests_too_deep(text) ? Json() : Json::parse(text, nullptr, false);
    if (old.is_object()) all = old;
  }
  for (auto it = all.begin(); !training.empty() && it != all.end();) {
    const bool of_training = it.key().starts_with(kOfThisRun) || it.key().starts_with(kOfAllRuns);
    it = of_training ? all.erase(it) : std::next(it);
  }
  for (const Json* part : {&training, &evaluation, &prediction}) all.update(*part);
  return all;
}

// Where transformers stores the state of its EarlyStoppingCallback.
Json Results::Impl::callbacks() const {
  if (policy.patience == 0) return Json::object();
  return {{"EarlyStoppingCallback",
           {{"args",
             {{"early_stopping_patience", policy.patience},
              {"early_stopping_threshold", policy.threshold}}},
            {"attributes", {{"early_stopping_patience_counter", best.without_better}}}}}};
}

Json Results::Impl::state() const {
  Json json = {{"epoch", epoch},
               {"eval_steps", policy.eval_steps},
               {"global_step", step},
               // Constants that transformers requires.
               {"is_hyper_param_search", false},
               {"is_local_process_zero", true},
               {"is_world_process_zero", true},
               {"log_history", history},
               {"logging_steps", policy.logging_steps},
               {"max_steps", policy.total_steps},
               {"num_input_tokens_seen", tokens},
               {"num_train_epochs", static_cast<std::int64_t>(std::ceil(settings.epochs))},
               {"save_steps", policy.save_steps},
               {"stateful_callbacks", callbacks()},
               {"total_flos", flops},
               {"train_batch_size", settings.train_batch}};
  for (const char* none :
       {"best_global_step", "best_metric", "best_model_checkpoint", "trial_name", "trial_params"}) {
    json[none] = nullptr;
  }
  if (settings.max_steps > 0) {  // rounded up to whole passes
    json["num_train_epochs"] =
        (policy.total_steps + policy.steps_per_epoch - 1) / policy.steps_per_epoch;
  }
  if (best.best) json["best_metric"] = best.best->metric;
  if (best.best && policy.saving != Strategy::kNo) json["best_global_step"] = best.best->step;
  if (!best_checkpoint.empty()) json["best_model_checkpoint"] = best_checkpoint;
  return json;
}

Results::Results(std::string folder, const std::string& event_folder)
    : impl_(std::make_unique<Impl>()) {
  impl_->folder = std::move(folder);
  impl_->event_folder = event_folder;
}
Results::~Results() = default;
Results::Results(Results&&) noexcept = default;

void Results::start(const Settings& settings, const PolicySettings& policy, bool keep) {
  impl_->settings = settings;
  impl_->policy = policy;
  impl_->keeps = keep || !settings.do_train;
  if (!impl_->keeps) impl_->open_events();  // open now, so that a failure does not cost steps
  if (impl_->folder.empty()) return;
  impl_->stream.open(impl_->folder / "metrics.jsonl",
                     impl_->keeps ? std::ios::app : std::ios::trunc);
  if (impl_->keeps) return;
  // A resumed run writes the restored rows again: opening truncated the file.
  for (const Json& row : impl_->history) impl_->stream_row(row);
}

void Results::log_step(const StepReport& step, double mean_loss, double tokens_per_second) {
  impl_->step = step.step;
  impl_->epoch = step.epoch;
  impl_->add({{"step", step.step},
              {"epoch", step.epoch},
              {"loss", mean_loss},
              {"grad_norm", step.gradient_norm},
              {"learning_rate", step.learning_rate},
              {"tokens_per_second", rounded(tokens_per_second, 1000)}});
}

void Results::log_evaluation(std::int64_t step, double epoch, const EvaluationFigures& figures) {
  Json row = evaluation_row(figures);
  if (step > 0 || !impl_->keeps) row["epoch"] = epoch;
  Json& file = figures.prefix == "eval" ? impl_->evaluation : impl_->prediction;
  file.update(row);
  file[figures.prefix + "_samples" + figures.suffix] = figures.examples;
  // The log has only evaluations: predictions have their own file.
  if (figures.prefix != "eval") return;
  row["step"] = step;
  impl_->add(row);
}

void Results::log_training(const TrainFigures& figures) {
  impl_->step = figures.steps;
  impl_->epoch = figures.epoch;
  impl_->flops = figures.flops;
  Json row = training_row(figures);
  impl_->training = row;
  impl_->training["train_samples"] = figures.examples;
  row["step"] = figures.steps;
  impl_->add(row);
}

void Results::set_position(std::int64_t step, double epoch, double flops, std::int64_t tokens) {
  impl_->step = step;
  impl_->epoch = epoch;
  impl_->flops = flops;
  impl_->tokens = tokens;
}

void Results::set_best(const RunPolicy::Memory& memory, const std::string& checkpoint) {
  impl_->best = memory;
  impl_->best_checkpoint = checkpoint;
}

std::string Results::state_text() const {
  return impl_->state().dump(2) + "\n";
}

Results::Restored Results::restore(const std::string& text, const std::string& metric,
                                   const std::string& place) {
  const std::string attempted = place + ": cannot resume";
  if (nests_too_deep(text)) throw Error(Exit::kBadInput, attempted, kNestsTooDeep);
  const auto count = [&](const Json& value, const char* key) {
    const auto number = count_in(value);
    if (!number) {
      throw Error(Exit::kBadInput, attempted, fmt::format("'{}' is not a count", key),
                  kOtherCheckpoint);
    }
    return *number;
  };
  Restored r;
  Json rows;
  try {
    const Json state = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!state.is_object()) refuse_json(place, text, {"cannot resume"});
    rows = state.at("log_history");
    r.step = count(state.at("global_step"), "global_step");
    r.epoch = state.at("epoch").get<double>();
    r.flops = state.value("total_flos", 0.0);
    r.tokens = count(state.value("num_input_tokens_seen", Json(0)), "num_input_tokens_seen");
    const Json checkpoint = state.value("best_model_checkpoint", Json());
    if (checkpoint.is_string()) r.best_checkpoint = checkpoint.get<std::string>();
    const std::int64_t saved = step_of_checkpoint(r.best_checkpoint);
    if (const Json value = state.value("best_metric", Json()); value.is_number()) {
      const Json at = state.value("best_global_step", Json());  // newer than best_metric
      r.best.best = {value.get<double>(), at.is_null() ? saved : count(at, "best_global_step")};
      if (saved > 0) r.best.best_saved = RunPolicy::Best{value.get<double>(), saved};
    }
    const std::string key = "eval_" + metric;
    for (const Json& row : rows) {  // the saved model may have a worse figure than the best
      const bool there = count_in(row.value("step", Json(0))) == saved && row.contains(key);
      if (there && r.best.best_saved && row[key].is_number()) {
        r.best.best_saved->metric = row[key].get<double>();
      }
    }
    const auto counter =
        "/stateful_callbacks/EarlyStoppingCallback/attributes/"
        "early_stopping_patience_counter"_json_pointer;
    r.best.without_better = count(state.value(counter, Json(0)), "early_stopping_patience_counter");
  } catch (const Json::exception&) {  // its text speaks of the library
    throw Error(Exit::kBadInput, attempted,
                "log_history, global_step or epoch is missing or has the wrong type",
                kOtherCheckpoint);
  }
  impl_->history = Json::array();
  for (const Json& row : rows) impl_->history.push_back(row);
  set_position(r.step, r.epoch, r.flops, r.tokens);
  set_best(r.best, r.best_checkpoint);
  return r;
}

void Results::write() const {
  if (impl_->folder.empty()) return;
  const std::map<std::string, const Json*> files = {{"train_results.json", &impl_->training},
                                                    {"eval_results.json", &impl_->evaluation},
                                                    {"predict_results.json", &impl_->prediction}};
  const Json all = impl_->all_results();
  for (const auto& [name, json] : files) {
    if (!json->empty()) impl_->write(name, *json, 4);
  }
  impl_->write("all_results.json", all, 4);
  if (impl_->keeps) return;  // keep those of the training that made the model
  impl_->write("trainer_state.json", impl_->state(), 2);
  write_file_atomically(impl_->path("training_args.json"), settings_json(impl_->settings));
}

std::vector<std::pair<std::int64_t, double>> Results::curve(const std::string& key) const {
  std::vector<std::pair<std::int64_t, double>> points;
  for (const Json& row : impl_->history) {
    const auto value = row.find(key);
    if (value == row.end() || !value->is_number()) continue;
    const std::int64_t step = row.value("step", std::int64_t{0});
    const bool again = !points.empty() && points.back().first == step;
    if (!again) points.emplace_back(step, value->get<double>());
  }
  return points;
}

std::vector<std::string> Results::evaluated_keys() const {
  std::set<std::string> keys;
  for (const Json& row : impl_->history) {
    for (const auto& [key, value] : row.items()) {
      const bool time = key.find("_runtime") != key.npos || key.find("_per_second") != key.npos;
      if (key.starts_with("eval_") && !time) keys.insert(key);
    }
  }
  return {keys.begin(), keys.end()};
}

MetricList Results::figures() const {
  MetricList figures;
  for (const Json* part : {&impl_->training, &impl_->evaluation, &impl_->prediction}) {
    for (const auto& [key, value] : part->items()) {
      if (value.is_number() && key != "epoch") figures.emplace_back(key, value.get<double>());
    }
  }
  return figures;
}

}  // namespace dtl::trainer
