#include "trainer/checkpoint/saved_state.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/fd.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/files/json_depth.h"
#include "trainer/files/safetensors.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::size_t kMaxStateBytes = 1 << 20;
constexpr const char* kFirstMoment = "exp_avg.";
constexpr const char* kSecondMoment = "exp_avg_sq.";
constexpr std::uint64_t kStepTag = 0xFFFF0030, kParametersTag = 0xFFFF0031,
                        kFirstMomentTag = 0xFFFF0032, kSecondMomentTag = 0xFFFF0033;

fs::path state_file(const std::string& folder) {
  return fs::path(folder) / "training_state.json";
}

// Every member in one place, for both directions: a visitor is called with key and member.
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

std::string text_of(const RunIdentity& run, std::int64_t step) {
  OrderedJson json = {{"format", kFormat}, {"step", step}};
  visit_run([&](const char* key, const auto& value) { json[key] = value; }, run);
  json["optim"] = adam_form_name(run.optimizer.form);
  json["lr_scheduler_type"] = schedule_name(run.optimizer.schedule);
  if (run.precision) json["precision"] = precision_name(*run.precision);
  if (run.gradient_wire) json["gradient_wire"] = gradient_wire_name(*run.gradient_wire);
  return json.dump(2) + "\n";
}

// training_state.json, with errors that name file and key.
class StateText {
 public:
  explicit StateText(const std::string& path) : path_(path) {
    const std::string text = read_file(path, kMaxStateBytes);
    if (nests_too_deep(text)) fail(kNestsTooDeep);
    json_ = OrderedJson::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) fail("it is not a JSON object");
    int format = 0;
    get("format", format);
    if (format != kFormat) fail(fmt::format("its format is {}, this program reads 1", format));
  }

  template <class T>
  void get(const char* key, T& value) const {
    const auto it = json_.find(key);
    const bool fits = it != json_.end() && (std::is_same_v<T, std::string> ? it->is_string()
                                            : std::is_floating_point_v<T>  ? it->is_number()
                                            : std::is_unsigned_v<T> ? it->is_number_unsigned()
                                                                    : it->is_number_integer());
    if (!fits) fail(fmt::format("'{}' is missing or of the wrong type", key));
    value = it->template get<T>();
  }
  bool has(const char* key) const { return json_.contains(key); }
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
  std::string form, schedule;
  text.get("optim", form);
  text.get("lr_scheduler_type", schedule);
  const auto known_form = adam_form_named(form);
  const auto known_schedule = schedule_named(schedule);
  if (!known_form) text.fail(fmt::format("'optim' is '{}'", form));
  if (!known_schedule) text.fail(fmt::format("'lr_scheduler_type' is '{}'", schedule));
  run.optimizer.form = *known_form;
  run.optimizer.schedule = *known_schedule;
  if (text.has("precision")) {
    std::string precision;
    text.get("precision", precision);
    run.precision = precision_named(precision);
    if (!run.precision) text.fail(fmt::format("'precision' is '{}'", precision));
  }
  if (text.has("gradient_wire")) {
    std::string wire;
    text.get("gradient_wire", wire);
    run.gradient_wire = gradient_wire_named(wire);
    if (!run.gradient_wire) text.fail(fmt::format("'gradient_wire' is '{}'", wire));
  }
  return run;
}

// Fills a flat array; all of its tensors must be there, with their shapes.
std::vector<float> read_flat(const SafetensorsFile& file, const ParameterLayout& layout,
                             const std::string& prefix) {
  std::vector<float> values(static_cast<std::size_t>(layout.total));
  for (const ParameterInfo& tensor : layout.tensors) {
    const auto attempted = fmt::format("{}: tensor {}{}", file.path(), prefix, tensor.name);
    const SafetensorsFile::Entry* entry = file.find(prefix + tensor.name);
    if (!entry) throw Error(Exit::kBadInput, attempted, "it is missing");
    if (entry->shape != tensor.shape || entry->type != ElementType::kF32) {
      throw Error(
          Exit::kBadInput, attempted,
          fmt::format("it is not of type F32 and shape [{}]", fmt::join(tensor.shape, ", ")));
    }
    file.read(*entry, values.data() + tensor.offset);
  }
  return values;
}

}  // namespace

void write_training_state(const std::string& folder, const ModelConfig& config,
                          const ParameterLayout& layout, const RunIdentity& identity,
                          const TrainingState& state) {
  save_model(folder, config, layout, state.parameters);
  std::vector<TensorView> moments = views_of(layout, state.m, kFirstMoment);
  for (TensorView& view : views_of(layout, state.v, kSecondMoment)) {
    moments.push_back(std::move(view));
  }
  write_safetensors(fs::path(folder) / "optimizer.safetensors", moments);
  write_file_atomically(state_file(folder), text_of(identity, state.step));
}

TrainingState read_training_state(const std::string& folder, const ParameterLayout& layout,
                                  const RunIdentity& identity) {
  if (!fs::exists(state_file(folder))) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot resume", folder),
                "it has no training_state.json: it is no checkpoint of this program",
                "the folder as --model_name_or_path of a new run");
  }
  const StateText text(state_file(folder));
  TrainingState state;
  text.get("step", state.step);
  if (state.step < 0) text.fail("'step' is negative");
  const std::vector<std::string> other = differences(run_in(text), identity);
  if (!other.empty()) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot resume", folder),
                fmt::format("this would not be the same run: {}", fmt::join(other, "; ")),
                "the arguments of that run, or the folder as --model_name_or_path of a new one");
  }
  const SafetensorsFile model(fs::path(folder) / "model.safetensors");
  state.parameters = read_flat(model, layout, "");
  const SafetensorsFile moments(fs::path(folder) / "optimizer.safetensors");
  state.m = read_flat(moments, layout, kFirstMoment);
  state.v = read_flat(moments, layout, kSecondMoment);
  return state;
}

void share_training_state(Ranks& group, const ParameterLayout& layout, TrainingState& state) {
  const auto count = static_cast<std::size_t>(layout.total);
  const std::uint64_t bytes = count * sizeof(float);
  group.broadcast(&state.step, sizeof state.step, kStepTag);
  state.parameters.resize(count);
  state.m.resize(count);
  state.v.resize(count);
  group.broadcast(state.parameters.data(), bytes, kParametersTag);
  group.broadcast(state.m.data(), bytes, kFirstMomentTag);
  group.broadcast(state.v.data(), bytes, kSecondMomentTag);
}

}  // namespace dtl::trainer
