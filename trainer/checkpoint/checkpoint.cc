// Maps tensor names of a folder to the layout's. files/model_family.h and parameters.h define the
// names; files/ stores tensors. Also writes the mark of an unfinished run.
#include "trainer/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"
#include "base/text.h"
#include "trainer/embeddings/sentence_folder.h"
#include "trainer/families/model_family.h"
#include "trainer/files/tensor_files.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = "unfinished";
// The mark has two short lines.
constexpr std::size_t kMaxMarkBytes = 4096;

// The line for the dtlaunch job of this process; empty outside a job.
std::string job_line() {
  const char* job = std::getenv("DTLAUNCH_JOB");
  return job == nullptr ? "" : fmt::format("job {}\n", job);
}

std::string prefix_of(const ModelConfig& config) {
  return std::string(family_of(config).tensors.prefix);
}

// As AutoModel's tensors are called.
std::string plain_name(const std::string& name, const ModelConfig& config) {
  const std::string prefix = prefix_of(config);
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

void replace_ending(std::string& name, std::string_view from, std::string_view to) {
  if (name.ends_with(from)) name.replace(name.size() - from.size(), from.size(), to);
}

// The layout's name for a tensor in a file. Old TensorFlow models use gamma and beta. A bare
// encoder (BertModel) lacks the prefix.
std::string canonical_name(std::string name, const ModelConfig& config,
                           const ParameterLayout& layout) {
  replace_ending(name, "LayerNorm.gamma", "LayerNorm.weight");
  replace_ending(name, "LayerNorm.beta", "LayerNorm.bias");
  const auto known = [&](const std::string& candidate) {
    return std::any_of(layout.tensors.begin(), layout.tensors.end(),
                       [&](const ParameterInfo& tensor) { return tensor.name == candidate; });
  };
  const std::string prefixed = prefix_of(config) + name;
  return !known(name) && known(prefixed) ? prefixed : name;
}

// The first weights file in from_pretrained's order; empty if there is none.
std::string find_weights(const std::string& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    if (fs::exists(fs::path(folder) / name)) return fs::path(folder) / name;
  }
  return "";
}

std::string weights_file(const std::string& folder) {
  if (std::string path = find_weights(folder); !path.empty()) return path;
  throw Error(
      Exit::kBadInput, fmt::format("{}: cannot read the model", folder),
      "it has neither model.safetensors nor pytorch_model.bin",
      fmt::format("hf download NAME model.safetensors --local-dir {}", one_shell_word(folder)));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Returns true if it copied the tensor; false if the shape differs and the options allow that.
bool copy_tensor(const std::string& path, const Tensor& from, const ParameterInfo& to,
                 const LoadOptions& options, std::vector<float>& values) {
  if (from.shape != to.shape) {
    // Only the head depends on the task. With another shape, the encoder is another encoder.
    if (to.head && options.ignore_mismatched_sizes) return false;
    throw Error(Exit::kBadInput, fmt::format("{}: tensor {}", path, to.name),
                fmt::format("its shape is {}, {} {}", shape_text(from.shape),
                            to.head ? "but the labels of this task need"
                                    : "but a model as in config.json needs",
                            shape_text(to.shape)),
                to.head ? "--ignore_mismatched_sizes"
                        : "the config.json that was saved with these weights");
  }
  if (!from.whole_type.empty()) {
    throw Error(
        Exit::kBadInput, fmt::format("{}: tensor {}", path, to.name),
        fmt::format("its numbers are whole, of type {}: weights are fractions, such as F32, and "
                    "a model that was quantised is needed as it was before",
                    from.whole_type),
        "--model_name_or_path FOLDER");
  }
  check_numbers(path, to, from.values);
  std::copy(from.values.begin(), from.values.end(), values.begin() + to.offset);
  return true;
}

// Without the head of a model of embeddings, which is in files of its own, and without the prefix
// of its encoder's tensors: so AutoModel finds them. With tensors that nothing here uses.
void write_encoder(const std::string& path, const ModelConfig& config,
                   std::vector<TensorView> views) {
  std::erase_if(views, [](const TensorView& view) { return is_dense_tensor(view.name); });
  for (TensorView& view : views) view.name = plain_name(view.name, config);
  if (config.kept) {
    for (const auto& [name, tensor] : *config.kept) {
      views.push_back({name, tensor.shape, tensor.values});
    }
  }
  std::sort(views.begin(), views.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  write_safetensors(path, views);
}

TensorMap dense_tensors(std::span<const TensorView> views) {
  TensorMap dense;
  for (const TensorView& view : views) {
    if (is_dense_tensor(view.name)) {
      dense[view.name] = {view.shape, {view.values.begin(), view.values.end()}};
    }
  }
  return dense;
}

// In order of name, so that the same model gives the same file, whatever the layout's order.
std::vector<TensorView> views_of(const ParameterLayout& layout, std::span<const float> values) {
  std::vector<TensorView> views;
  for (const ParameterInfo& info : layout.tensors) {
    views.push_back({info.name, info.shape,
                     values.subspan(static_cast<std::size_t>(info.offset),
                                    static_cast<std::size_t>(info.count))});
  }
  std::sort(views.begin(), views.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  return views;
}

}  // namespace

bool has_weights(const std::string& folder) {
  return !find_weights(encoder_folder(folder)).empty();
}

void check_numbers(const std::string& path, const ParameterInfo& tensor,
                   std::span<const float> values) {
  const auto wrong = [](float value) { return !std::isfinite(value); };
  const auto first = std::find_if(values.begin(), values.end(), wrong);
  if (first == values.end()) return;
  throw Error(
      Exit::kBadInput, fmt::format("{}: tensor {}", path, tensor.name),
      fmt::format("{} of its {} values are infinite or NaN, from place {} on",
                  std::count_if(first, values.end(), wrong), values.size(), first - values.begin()),
      "--model_name_or_path with an earlier checkpoint");
}

LoadedParameters load_parameters(const std::string& folder, const ModelConfig& config,
                                 const ParameterLayout& layout, const LoadOptions& options) {
  const std::string path = weights_file(encoder_folder(folder));
  TensorMap tensors = read_tensors(path);
  if (config.task == Task::kEmbeddings) tensors.merge(read_dense_tensors(folder));
  return arrange_parameters(std::move(tensors), path, config, layout, options);
}

namespace {

// Whether a tensor repeats the output layer of a masked language model, as old files do. That layer
// has the word embeddings' weights; one with weights of its own would be another model.
bool repeats_output_layer(const std::string& origin, const std::string& name, const Tensor& tensor,
                          const ModelConfig& config, const ParameterLayout& layout,
                          const std::vector<float>& values) {
  if (config.task != Task::kMaskedLm) return false;
  const auto is = [&](std::string_view ending) { return name.ends_with(ending); };
  const bool weight = is("decoder.weight") || is("lm_head.weight") || is("vocab_projector.weight");
  const auto V = static_cast<std::size_t>(config.vocab_size);
  const std::size_t count = weight ? V * static_cast<std::size_t>(embedding_width(config)) : V;
  const std::int64_t offset = weight ? layout.word : is("decoder.bias") ? layout.class_bias : -1;
  if (offset < 0 || tensor.values.size() != count) return false;
  const bool same = std::equal(tensor.values.begin(), tensor.values.end(), values.begin() + offset);
  if (same || !weight) return same;
  throw Error(Exit::kBadInput, fmt::format("{}: tensor {}", origin, name),
              "the output layer has weights of its own, and only one with the weights of the word "
              "embeddings can be trained");
}

}  // namespace

LoadedParameters arrange_parameters(TensorMap tensors, const std::string& origin,
                                    const ModelConfig& config, const ParameterLayout& layout,
                                    const LoadOptions& options) {
  // A bare encoder's pooler has no prefix. In a folder with prefixes, that name is a task's layer.
  const bool bare = std::none_of(tensors.begin(), tensors.end(), [&](const auto& entry) {
    return entry.first.starts_with(prefix_of(config));
  });
  TensorMap found;
  for (auto& [name, tensor] : tensors) {
    const std::string canonical = canonical_name(name, config, layout);
    if (!found.emplace(canonical, std::move(tensor)).second) {
      throw Error(Exit::kBadInput, fmt::format("{}: tensor {}", origin, canonical),
                  "it occurs twice, once under an older name");
    }
  }
  std::erase_if(found, [](const auto& entry) {  // a buffer: 0, 1, 2, ..
    return entry.first.ends_with("embeddings.position_ids");
  });
  LoadedParameters loaded;
  loaded.values.resize(static_cast<std::size_t>(layout.total));
  const std::string pooler = prefix_of(config) + "pooler.";
  for (const ParameterInfo& tensor : layout.tensors) {
    const auto it = found.find(tensor.name);
    if (it != found.end() && copy_tensor(origin, it->second, tensor, options, loaded.values)) {
      found.erase(it);
      continue;
    }
    // Encoders trained without next-sentence prediction have no pooler.
    const bool optional = tensor.head || tensor.name.starts_with(pooler);
    if (!optional) {
      throw Error(Exit::kBadInput, fmt::format("{}: tensor {}", origin, tensor.name),
                  "it is missing");
    }
    found.erase(tensor.name);
    initialise(tensor, config.initializer_range, options.seed, loaded.values.data());
    loaded.fresh.push_back(tensor.name);
  }
  for (auto& [name, tensor] : found) {
    if (!tensor.whole_type.empty()) continue;  // integers are counters
    if (repeats_output_layer(origin, name, tensor, config, layout, loaded.values)) continue;
    const std::string plain = plain_name(name, config);
    const bool of_encoder = name.starts_with(pooler) || (bare && name.starts_with("pooler."));
    if (config.task == Task::kEmbeddings && of_encoder) {
      loaded.kept[plain] = std::move(tensor);
    } else {
      loaded.unused.push_back(name);
    }
  }
  return loaded;
}

void save_model(const std::string& folder, const ModelConfig& config, const ParameterLayout& layout,
                const std::vector<float>& values) {
  write_model_config(folder, config);
  const std::string path = fs::path(folder) / "model.safetensors";
  const std::vector<TensorView> views = views_of(layout, values);
  if (config.task != Task::kEmbeddings) return write_safetensors(path, views);
  write_sentence_folder(folder, config.embedding, config.hidden_size, dense_tensors(views));
  write_encoder(path, config, views);
}

void mark_unfinished(const std::string& folder) {
  // Keep the time of the first start: it tells which checkpoints belong to this job.
  if (marked_by_this_job(folder)) return;  // dtlaunch restarted the ranks
  write_file_atomically(fs::path(folder) / kUnfinished,
                        "A run that writes here has not ended yet, or was killed.\n" + job_line());
}

std::optional<fs::file_time_type> marked_by_this_job(const std::string& folder) {
  const std::string line = job_line();
  const fs::path path = fs::path(folder) / kUnfinished;
  std::error_code failed;
  if (line.empty() || !fs::is_regular_file(path, failed)) return std::nullopt;
  if (!read_regular_file(path, kMaxMarkBytes).ends_with(line)) return std::nullopt;
  const auto time = fs::last_write_time(path, failed);
  if (failed) return std::nullopt;
  return time;
}

bool is_unfinished(const std::string& folder) {
  std::error_code unreadable;
  return fs::exists(fs::path(folder) / kUnfinished, unreadable);
}

bool holds_finished_run(const std::string& folder) {
  std::error_code unreadable;
  const auto has = [&](const char* name) {
    return fs::exists(fs::path(folder) / name, unreadable);
  };
  return !has(kUnfinished) && has("trainer_state.json") && has("model.safetensors");
}

void mark_finished(const std::string& folder) {
  std::error_code ignored;  // on failure, the folder stays reusable
  fs::remove(fs::path(folder) / kUnfinished, ignored);
}

}  // namespace dtl::trainer
