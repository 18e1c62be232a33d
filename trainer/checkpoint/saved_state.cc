// The files of a state to resume from. Never rename keys of training_state.json: checkpoints of
// older versions must stay readable.
#include "trainer/checkpoint/saved_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/text.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/embeddings/sentence_folder.h"
#include "trainer/files/safetensors.h"
#include "trainer/json/json_text.h"
#include "trainer/step/optimizer_state.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

// Increase it only if older programs must not read the file.
constexpr int kFormat = 1;
constexpr std::size_t kMaxStateBytes = 1 << 20;
constexpr std::uint64_t kStepTag = 0xFFFF0060, kParametersTag = 0xFFFF0061,
                        kFirstMomentTag = 0xFFFF0062, kSecondMomentTag = 0xFFFF0063;

fs::path state_file(const std::string& folder) {
  return fs::path(folder) / "training_state.json";
}

// Visits every member with its key, for writing and reading. So no member can be written but not
// read.
template <class Visitor, class Identity>
void visit_run(Visitor&& v, Identity& run) {
  v("seed", run.seed);
  v("global_batch", run.global_batch);
  v("examples", run.examples);
  v("examples_per_epoch", run.examples_per_epoch);
  v("data_hash", run.data_hash);
  auto& o = run.optimizer;
  v("learning_rate", o.learning_rate);
  v("weight_decay", o.weight_decay);
  v("adam_beta1", o.beta1);
  v("adam_beta2", o.beta2);
  v("adam_epsilon", o.epsilon);
  v("max_grad_norm", o.max_grad_norm);
  v("warmup_steps", o.warmup_steps);
  v("total_steps", o.total_steps);
}

// Keys that older checkpoints lack. Their defaults are what programs of that time did.
template <class Visitor, class Optimizing>
void visit_newer(Visitor&& v, Optimizing& o) {
  v("freeze_layers", o.frozen_layers);
  v("momentum", o.momentum);
  v("dampening", o.dampening);
  v("nesterov", o.nesterov);
  v("schedule_cycles", o.shape.cycles);
  v("schedule_power", o.shape.power);
  v("schedule_end_rate", o.shape.end_rate);
  v("schedule_timescale", o.shape.timescale);
  v("schedule_least_rate", o.shape.least_rate);
  v("schedule_first_rate", o.shape.first_rate);
  v("schedule_decay_steps", o.shape.decay_steps);
  v("schedule_stable_steps", o.shape.stable_steps);
}

std::string text_of(const RunIdentity& run, std::int64_t step,
                    const std::optional<TrainingCost>& cost) {
  OrderedJson json = {{"format", kFormat}, {"step", step}};
  if (cost) json["seconds"] = cost->seconds;
  if (cost) json["loss_sum"] = cost->loss_sum;
  visit_run([&](const char* key, const auto& value) { json[key] = value; }, run);
  if (run.data_seed) json["data_seed"] = *run.data_seed;
  const OptimizerSettings& o = run.optimizer;
  json["optim"] = optimizer_name(o.kind);
  json["lr_scheduler_type"] = schedule_name(o.schedule);
  visit_newer([&](const char* key, const auto& value) { json[key] = value; }, o);
  json["schedule_warmup_type"] = curve_name(o.shape.warmup_curve);
  json["schedule_decay_type"] = curve_name(o.shape.decay_curve);
  if (run.precision) json["precision"] = precision_name(*run.precision);
  if (run.gradient_wire) json["gradient_wire"] = gradient_wire_name(*run.gradient_wire);
  if (!run.task_loss.empty()) json["task_loss"] = run.task_loss;
  if (run.label_smoothing) json["label_smoothing_factor"] = *run.label_smoothing;
  if (run.focal_gamma > 0) json["focal_gamma"] = run.focal_gamma;
  if (!run.label_weights.empty()) json["label_weights"] = run.label_weights;
  return json.dump(2) + "\n";
}

// Reads training_state.json. Errors name file and key.
class StateText {
 public:
  explicit StateText(const std::string& path) : path_(path) {
    const JsonComplaint complaint{"cannot resume"};
    const std::string text = read_json_text(path, kMaxStateBytes, complaint);
    json_ = OrderedJson::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) refuse_json(path, text, complaint);
    int format = 0;
    get("format", format);
    if (format != kFormat) fail(fmt::format("its format is {}, but dttrain reads 1", format));
  }

  template <class T>
  void get(const char* key, T& value) const {
    const auto it = json_.find(key);
    // nlohmann's get<> converts silently between number types, so check first.
    const bool fits = it != json_.end() && (std::is_same_v<T, std::string> ? it->is_string()
                                            : std::is_same_v<T, bool>      ? it->is_boolean()
                                            : std::is_floating_point_v<T>  ? it->is_number()
                                            : std::is_unsigned_v<T> ? it->is_number_unsigned()
                                                                    : it->is_number_integer());
    if (!fits) fail(fmt::format("'{}' is missing or of the wrong type", key));
    value = it->template get<T>();
  }
  std::vector<double> numbers(const char* key) const {
    std::vector<double> values;
    const OrderedJson& list = json_.at(key);
    if (!list.is_array()) fail(fmt::format("'{}' is not a list", key));
    for (const OrderedJson& value : list) {
      if (!value.is_number()) fail(fmt::format("'{}' has a value that is not a number", key));
      values.push_back(value.get<double>());
    }
    return values;
  }
  bool has(const char* key) const { return json_.contains(key); }
  // The value of `named` for a text; fails if it is nullopt.
  template <class Named>
  auto word(const char* key, const Named& named) const {
    std::string text;
    get(key, text);
    const auto value = named(text);
    if (!value) fail(fmt::format("'{}' is '{}'", key, text));
    return value;
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot resume", path_), reason);
  }

 private:
  std::string path_;
  OrderedJson json_;
};

RunIdentity run_in(const StateText& text) {
  RunIdentity run;
  visit_run([&](const char* key, auto& value) { text.get(key, value); }, run);
  if (text.has("data_seed")) text.get("data_seed", run.data_seed.emplace());
  OptimizerSettings& o = run.optimizer;
  o.kind = *text.word("optim", optimizer_named);
  o.schedule = *text.word("lr_scheduler_type", schedule_named);
  visit_newer(
      [&](const char* key, auto& value) {
        if (text.has(key)) text.get(key, value);
      },
      o);
  for (const auto& [key, curve] : {std::pair("schedule_warmup_type", &o.shape.warmup_curve),
                                   std::pair("schedule_decay_type", &o.shape.decay_curve)}) {
    if (text.has(key)) *curve = *text.word(key, curve_named);
  }
  if (text.has("precision")) run.precision = text.word("precision", precision_named);
  if (text.has("gradient_wire")) {
    run.gradient_wire = text.word("gradient_wire", gradient_wire_named);
  }
  if (text.has("task_loss")) text.get("task_loss", run.task_loss);
  if (text.has("label_smoothing_factor")) {
    text.get("label_smoothing_factor", run.label_smoothing.emplace());
  }
  if (text.has("focal_gamma")) text.get("focal_gamma", run.focal_gamma);
  if (text.has("label_weights")) run.label_weights = text.numbers("label_weights");
  return run;
}

// Reads straight into the flat array, without a copy of the file in memory.
void read_tensor(const SafetensorsFile& file, const std::string& name,
                 const std::vector<std::int64_t>& shape, float* to) {
  const auto attempted = fmt::format("{}: tensor {}", file.path(), name);
  const SafetensorsFile::Entry* entry = file.find(name);
  if (!entry) throw Error(Exit::kBadInput, attempted, "it is missing");
  if (entry->shape != shape || entry->type != ElementType::kF32) {
    throw Error(Exit::kBadInput, attempted,
                fmt::format("it is not of type F32 and shape [{}]", fmt::join(shape, ", ")));
  }
  file.read(*entry, to);
}

// All tensors must exist with the expected shapes. A model that makes embeddings has its dense
// layers in folders of their own, and its other tensors without the encoder's prefix.
std::vector<float> read_parameters(const std::string& folder, const SafetensorsFile& file,
                                   const ParameterLayout& layout) {
  std::vector<float> values(static_cast<std::size_t>(layout.total));
  TensorMap dense;
  for (const ParameterInfo& tensor : layout.tensors) {
    if (is_dense_tensor(tensor.name)) {
      if (dense.empty()) dense = read_dense_tensors(folder);
      const auto found = dense.find(tensor.name);
      if (found == dense.end() || found->second.shape != tensor.shape) {
        throw Error(Exit::kBadInput, fmt::format("{}: tensor {}", folder, tensor.name),
                    found == dense.end() ? "it is missing" : "it is of another shape");
      }
      std::copy(found->second.values.begin(), found->second.values.end(),
                values.begin() + tensor.offset);
      continue;
    }
    const std::string plain = tensor.name.substr(tensor.name.find('.') + 1);
    const bool has_prefix = file.find(tensor.name) != nullptr || file.find(plain) == nullptr;
    read_tensor(file, has_prefix ? tensor.name : plain, tensor.shape,
                values.data() + tensor.offset);
  }
  return values;
}
void read_kept(const SafetensorsFile& file, const std::vector<KeptTensor>& kept,
               std::vector<float>& values) {
  for (const KeptTensor& tensor : kept) {
    read_tensor(file, tensor.name, tensor.shape, values.data() + tensor.offset);
  }
}

void add_views(const std::vector<KeptTensor>& kept, std::span<const float> values,
               std::vector<TensorView>& views) {
  for (const KeptTensor& tensor : kept) {
    views.push_back({tensor.name, tensor.shape,
                     values.subspan(static_cast<std::size_t>(tensor.offset),
                                    static_cast<std::size_t>(tensor.count))});
  }
}

}  // namespace

void write_training_state(const std::string& folder, const ModelConfig& config,
                          const ParameterLayout& layout, const RunIdentity& identity,
                          const TrainingState& state, const std::optional<TrainingCost>& cost) {
  // Write training_state.json last: a folder without it is not a checkpoint.
  save_model(folder, config, layout, state.parameters);
  const OptimizerState kept = optimizer_state(layout, identity.optimizer);
  std::vector<TensorView> views;
  add_views(kept.m, state.m, views);
  add_views(kept.v, state.v, views);
  // Sort by name, so that equal states give equal files.
  std::sort(views.begin(), views.end(),
            [](const TensorView& one, const TensorView& other) { return one.name < other.name; });
  write_safetensors(fs::path(folder) / "optimizer.safetensors", views);
  write_file_atomically(state_file(folder), text_of(identity, state.step, cost));
}

TrainingState read_training_state(const std::string& folder, const ParameterLayout& layout,
                                  const RunIdentity& identity) {
  if (!fs::exists(state_file(folder))) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot resume", folder),
                "it has no training_state.json: not a checkpoint of dttrain",
                "--model_name_or_path " + one_shell_word(folder));
  }
  const StateText text(state_file(folder));
  TrainingState state;
  text.get("step", state.step);
  if (state.step < 0) text.fail("'step' is negative");
  const RunIdentity saved = run_in(text);
  const std::vector<std::string> other = differences(saved, identity);
  if (!other.empty()) {
    const int frozen = saved.optimizer.frozen_layers;
    const bool only_frozen = other.size() == 1 && frozen != identity.optimizer.frozen_layers;
    throw Error(
        Exit::kBadInput, fmt::format("{}: cannot resume", folder),
        fmt::format("this run differs from that of the checkpoint: {}", fmt::join(other, "; ")),
        only_frozen ? fmt::format("--freeze_layers {}", frozen)
                    : "--resume_from_checkpoint false --overwrite_output_dir");
  }
  const SafetensorsFile model(fs::path(folder) / "model.safetensors");
  const OptimizerState kept = optimizer_state(layout, identity.optimizer);
  const std::int64_t step = state.step;
  // Files do not store the gaps between tensors; they are 0 on every rank.
  state = state_at_start(read_parameters(folder, model, layout), kept);
  state.step = step;
  for (const ParameterInfo& tensor : layout.tensors) {
    check_numbers(
        model.path(), tensor,
        {state.parameters.data() + tensor.offset, static_cast<std::size_t>(tensor.count)});
  }
  const SafetensorsFile optimizer(fs::path(folder) / "optimizer.safetensors");
  read_kept(optimizer, kept.m, state.m);
  read_kept(optimizer, kept.v, state.v);
  return state;
}

RunIdentity read_run_identity(const std::string& folder) {
  return run_in(StateText(state_file(folder)));
}

std::optional<TrainingCost> read_training_cost(const std::string& folder) {
  const StateText text(state_file(folder));
  if (!text.has("seconds") || !text.has("loss_sum")) return std::nullopt;
  TrainingCost cost;
  text.get("seconds", cost.seconds);
  text.get("loss_sum", cost.loss_sum);
  return cost;
}

void share_training_state(Ranks& group, const ParameterLayout& layout,
                          const OptimizerSettings& optimizer, TrainingState& state) {
  const auto count = static_cast<std::size_t>(layout.total);
  group.broadcast(&state.step, sizeof state.step, kStepTag);
  // Ranks other than 0 start with an empty state.
  if (state.parameters.size() != count) {
    const std::int64_t step = state.step;
    state = state_at_start(std::vector<float>(count), optimizer_state(layout, optimizer));
    state.step = step;
  }
  group.broadcast(state.parameters.data(), count * sizeof(float), kParametersTag);
  // Empty on all ranks or on none: the optimizer is the same.
  if (!state.m.empty()) {
    group.broadcast(state.m.data(), state.m.size() * sizeof(float), kFirstMomentTag);
  }
  if (!state.v.empty()) {
    group.broadcast(state.v.data(), state.v.size() * sizeof(float), kSecondMomentTag);
  }
}

}  // namespace dtl::trainer
