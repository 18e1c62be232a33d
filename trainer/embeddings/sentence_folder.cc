// Reading. An unknown key or module may change what the model computes, so none is skipped.
#include "trainer/embeddings/sentence_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "trainer/embeddings/module_names.h"
#include "trainer/files/tensor_files.h"
#include "trainer/json/json_text.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxModuleBytes = 16 << 20;  // real files have less than 4 KiB
constexpr int kMaxOutputs = 1 << 24;               // as sizes in config.json
const JsonComplaint kComplaint{"cannot use this model"};

// One JSON object of the folder, which names itself in errors.
class ModuleFile {
 public:
  explicit ModuleFile(std::string path) : path_(std::move(path)) {
    text_ = read_json_text(path_, kMaxModuleBytes, kComplaint);
    json_ = Json::parse(text_, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) refuse_json(path_, text_, kComplaint);
  }

  [[noreturn]] void fail(std::string_view key, const std::string& reason,
                         const std::string& hint = {}) const {
    throw Error(Exit::kBadInput,
                fmt::format("{}: cannot use '{}'", json_place(path_, text_, {key}), key), reason,
                hint);
  }

  void allow_only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end() || value.is_null()) continue;
      fail(key, "unknown key, which may change what the model computes",
           "the file without it, if it changes nothing");
    }
  }

  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  const Json& at(const char* key) const { return json_[key]; }

  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_boolean()) fail(key, "it is not true or false");
    return json_[key].get<bool>();
  }
  std::string text(const char* key) const {
    if (!has(key)) return {};
    if (!json_[key].is_string()) fail(key, "it is not a text");
    return json_[key].get<std::string>();
  }
  int size(const char* key) const {
    if (!has(key)) fail(key, "it is missing");
    const Json& value = json_[key];
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1 ||
        value.get<std::int64_t>() > kMaxOutputs) {
      fail(key, fmt::format("it is not a whole number from 1 to {}", kMaxOutputs));
    }
    return value.get<int>();
  }
  // Refuses another value than this one; a missing key has it.
  void require(const char* key, const Json& value, const std::string& reason) const {
    if (has(key) && json_[key] != value) fail(key, reason);
  }

 private:
  std::string path_, text_;
  Json json_;
};

struct Module {
  std::string kind;    // "Pooling"
  std::string folder;  // of the module
};

[[noreturn]] void refuse_modules(const std::string& path, const std::string& reason) {
  throw Error(Exit::kBadInput, path + ": cannot use this model", reason,
              "cat " + one_shell_word(path));
}

Module read_module(const std::string& folder, const std::string& path, const Json& entry) {
  const auto text = [&](const char* key) {
    if (!entry.is_object() || !entry.contains(key) || !entry[key].is_string()) {
      refuse_modules(path, fmt::format("an element has no text '{}'", key));
    }
    return entry[key].get<std::string>();
  };
  const std::string type = text("type"), below = text("path");
  if (!type.starts_with("sentence_transformers.")) {
    refuse_modules(path, fmt::format("'type': the module {} is not one of sentence-transformers: "
                                     "its code is not run here",
                                     type));
  }
  if (below.starts_with('/') || below.find("..") != below.npos) {
    refuse_modules(path, fmt::format("'path': '{}' is outside of the folder", below));
  }
  return {type.substr(type.rfind('.') + 1), below.empty() ? folder : folder + "/" + below};
}

// In their order: a transformer, one pooling, dense modules, and perhaps a normalisation.
std::vector<Module> read_modules(const std::string& folder) {
  const std::string path = folder + "/modules.json";
  const std::string text = read_json_text(path, kMaxModuleBytes, kComplaint);
  const Json list = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) refuse_modules(path, "it is not a list of modules");
  std::vector<Module> modules;
  for (const Json& entry : list) {
    const Module module = read_module(folder, path, entry);
    const std::string before = modules.empty() ? "" : modules.back().kind;
    const bool fits = before.empty() ? module.kind == kTransformerModule
                      : before == kTransformerModule
                          ? module.kind == kPoolingModule
                          : before != kNormalizeModule &&
                                (module.kind == kDenseModule || module.kind == kNormalizeModule);
    if (!fits) {
      refuse_modules(path, fmt::format("'type': {}{}: dttrain runs Transformer, Pooling, any "
                                       "number of Dense, and Normalize, in this order",
                                       module.kind, before.empty() ? "" : " after " + before));
    }
    modules.push_back(module);
  }
  if (modules.size() < 2) refuse_modules(path, "it has no Pooling module");
  return modules;
}

TextPooling read_pooling(const std::string& folder, int hidden_size) {
  const ModuleFile file(folder + "/config.json");
  file.allow_only({"embedding_dimension", "word_embedding_dimension", "pooling_mode",
                   "include_prompt", kOldPoolingKeys[0].key, kOldPoolingKeys[1].key,
                   kOldPoolingKeys[2].key, kOldPoolingKeys[3].key, kOldPoolingKeys[4].key,
                   kOldPoolingKeys[5].key});
  for (const char* key : {"embedding_dimension", "word_embedding_dimension"}) {
    file.require(key, hidden_size, fmt::format("the encoder's hidden size is {}", hidden_size));
  }
  if (!file.flag("include_prompt", true)) {
    file.fail("include_prompt", "false: here the tokens of a prompt always count");
  }
  if (file.has("pooling_mode")) {
    const Json& mode = file.at("pooling_mode");
    const Json name = mode.is_array() && mode.size() == 1 ? mode[0] : mode;
    if (name.is_array()) file.fail("pooling_mode", "several ways side by side are not run here");
    TextPooling pooling{};
    if (!name.is_string() || !pooling_named(name.get<std::string>(), pooling)) {
      file.fail("pooling_mode", "it is not one of " + pooling_names());
    }
    return pooling;
  }
  // sentence-transformers 5 and older.
  std::vector<const OldPoolingKey*> active;
  for (const OldPoolingKey& old : kOldPoolingKeys) {
    if (file.flag(old.key, false)) active.push_back(&old);
  }
  if (active.size() > 1) {
    file.fail(active[1]->key, fmt::format("true, as is {}: several ways side by side are not run "
                                          "here",
                                          active[0]->key));
  }
  return active.empty() ? TextPooling::kMean : active[0]->pooling;
}

DenseLayer read_dense(const std::string& folder, int inputs) {
  const ModuleFile file(folder + "/config.json");
  file.allow_only({"in_features", "out_features", "bias", "activation_function",
                   "module_input_name", "module_output_name", "use_residual"});
  if (file.size("in_features") != inputs) {
    file.fail("in_features", fmt::format("the module before gives {} numbers", inputs));
  }
  file.require("use_residual", false, "true: residual connections are not run here");
  for (const char* key : {"module_input_name", "module_output_name"}) {
    file.require(key, "sentence_embedding", "only modules of sentence_embedding are run here");
  }
  DenseLayer layer;
  layer.outputs = file.size("out_features");
  layer.bias = file.flag("bias", true);
  if (!file.has("activation_function")) return layer;
  const std::string name = file.text("activation_function");
  if (!activation_named(name, layer.activation)) {
    file.fail("activation_function",
              fmt::format("'{}' is not one of {}", name, activation_names()));
  }
  return layer;
}

// What the encoder's module gets and gives.
void read_transformer(const std::string& folder, EmbeddingConfig& config) {
  for (const char* name : {"sentence_bert_config.json", "sentence_roberta_config.json",
                           "sentence_distilbert_config.json", "sentence_camembert_config.json",
                           "sentence_xlm-roberta_config.json"}) {
    const std::string path = folder + "/" + name;
    std::error_code unreadable;
    if (!fs::exists(path, unreadable)) continue;
    const ModuleFile file(path);
    file.allow_only({"max_seq_length", "do_lower_case", "transformer_task", "modality_config",
                     "module_output_name"});
    if (file.has("max_seq_length")) config.max_length = file.size("max_seq_length");
    config.lower_case = file.flag("do_lower_case", false);
    file.require("transformer_task", "feature-extraction", "only feature-extraction is run here");
    file.require("module_output_name", "token_embeddings", "only token_embeddings is run here");
    const Json plain = {
        {"text", {{"method", "forward"}, {"method_output_name", "last_hidden_state"}}}};
    file.require("modality_config", plain, "only texts, and their last hidden state, are run here");
    return;
  }
}

void read_prompts(const std::string& folder, EmbeddingConfig& config) {
  const std::string path = folder + "/config_sentence_transformers.json";
  std::error_code unreadable;
  if (!fs::exists(path, unreadable)) return;
  const ModuleFile file(path);
  file.allow_only({"__version__", "model_type", "prompts", "default_prompt_name",
                   "similarity_fn_name", "truncate_dim"});
  file.require("model_type", "SentenceTransformer", "only SentenceTransformer is run here");
  config.similarity = file.text("similarity_fn_name");
  if (file.has("truncate_dim")) file.fail("truncate_dim", "embeddings are not cut short here");
  if (file.has("prompts")) {
    if (!file.at("prompts").is_object()) file.fail("prompts", "it is not an object");
    for (const auto& [name, text] : file.at("prompts").items()) {
      if (!text.is_string()) file.fail("prompts", fmt::format("'{}' is not a text", name));
      config.prompts.emplace_back(name, text.get<std::string>());
    }
  }
  config.default_prompt = file.text("default_prompt_name");
  const bool known = std::any_of(config.prompts.begin(), config.prompts.end(),
                                 [&](const auto& p) { return p.first == config.default_prompt; });
  if (!config.default_prompt.empty() && !known) {
    file.fail("default_prompt_name",
              fmt::format("'{}' is not one of the prompts", config.default_prompt));
  }
}

}  // namespace

bool is_sentence_folder(const std::string& folder) {
  std::error_code unreadable;
  return fs::exists(fs::path(folder) / "modules.json", unreadable);
}

std::string encoder_folder(const std::string& folder) {
  return is_sentence_folder(folder) ? read_modules(folder).front().folder : folder;
}

EmbeddingConfig read_sentence_folder(const std::string& folder, int hidden_size) {
  EmbeddingConfig config;
  if (!is_sentence_folder(folder)) return config;
  int width = hidden_size;
  for (const Module& module : read_modules(folder)) {
    if (module.kind == kTransformerModule) {
      read_transformer(module.folder, config);
    } else if (module.kind == kPoolingModule) {
      config.pooling = read_pooling(module.folder, hidden_size);
    } else if (module.kind == kDenseModule) {
      config.dense.push_back(read_dense(module.folder, width));
      width = config.dense.back().outputs;
    } else if (module.kind == kNormalizeModule) {
      config.normalize = true;
    }
  }
  read_prompts(folder, config);
  return config;
}

TensorMap read_dense_tensors(const std::string& folder) {
  TensorMap tensors;
  if (!is_sentence_folder(folder)) return tensors;
  int number = 0;
  for (const Module& module : read_modules(folder)) {
    if (module.kind != kDenseModule) continue;
    std::error_code unreadable;
    const std::string path = module.folder + "/model.safetensors";
    for (auto& [name, tensor] :
         read_tensors(fs::exists(path, unreadable) ? path : module.folder + "/pytorch_model.bin")) {
      tensors[dense_prefix(number) + name] = std::move(tensor);
    }
    ++number;
  }
  return tensors;
}

}  // namespace dtl::trainer
