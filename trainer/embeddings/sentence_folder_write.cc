// Writing, in the form that version 2 and later read: version 6 still knows the older names of
// modules and keys, but older versions do not know those of 6.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/new_file.h"
#include "trainer/embeddings/module_names.h"
#include "trainer/embeddings/sentence_folder.h"
#include "trainer/files/safetensors.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void write_json(const fs::path& path, const Json& json) {
  write_file_atomically(path.string(),
                        json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// Appends a module to modules.json and returns its folder, which exists then.
std::string add_module(const std::string& folder, Json& modules, std::string_view kind) {
  const std::size_t number = modules.size();
  const std::string below = number == 0 ? "" : fmt::format("{}_{}", number, kind);
  modules.push_back({{"idx", number},
                     {"name", std::to_string(number)},
                     {"path", below},
                     {"type", fmt::format("sentence_transformers.models.{}", kind)}});
  std::error_code error;
  const fs::path path = fs::path(folder) / below;
  fs::create_directories(path, error);
  if (error) {
    throw Error(Exit::kCannotWrite, path.string() + ": cannot create the folder", error.message());
  }
  return path.string();
}

void write_pooling(const std::string& folder, TextPooling pooling, int hidden_size) {
  Json json = {{"word_embedding_dimension", hidden_size}};
  for (const OldPoolingKey& old : kOldPoolingKeys) json[old.key] = old.pooling == pooling;
  json["include_prompt"] = true;
  write_json(fs::path(folder) / "config.json", json);
}

void write_dense(const std::string& folder, const DenseLayer& layer, int inputs,
                 const std::string& prefix, const TensorMap& dense) {
  write_json(fs::path(folder) / "config.json",
             {{"in_features", inputs},
              {"out_features", layer.outputs},
              {"bias", layer.bias},
              {"activation_function", activation_name(layer.activation)}});
  TensorMap own;
  for (const auto& [name, tensor] : dense) {
    if (name.starts_with(prefix)) own[name.substr(prefix.size())] = tensor;
  }
  write_safetensors((fs::path(folder) / "model.safetensors").string(), own);
}

void write_prompts(const std::string& folder, const EmbeddingConfig& config) {
  Json prompts = Json::object();
  for (const auto& [name, text] : config.prompts) prompts[name] = text;
  const Json no_default;
  write_json(fs::path(folder) / "config_sentence_transformers.json",
             {{"model_type", "SentenceTransformer"},
              {"prompts", prompts},
              {"default_prompt_name",
               config.default_prompt.empty() ? no_default : Json(config.default_prompt)},
              {"similarity_fn_name", config.similarity.empty() ? "cosine" : config.similarity}});
}

}  // namespace

bool is_dense_tensor(const std::string& name) {
  return name.starts_with("dense.");
}

void write_sentence_folder(const std::string& folder, const EmbeddingConfig& config,
                           int hidden_size, const TensorMap& dense) {
  Json modules = Json::array();
  add_module(folder, modules, kTransformerModule);
  write_pooling(add_module(folder, modules, kPoolingModule), config.pooling, hidden_size);
  int inputs = hidden_size, number = 0;
  for (const DenseLayer& layer : config.dense) {
    write_dense(add_module(folder, modules, kDenseModule), layer, inputs, dense_prefix(number),
                dense);
    inputs = layer.outputs;
    ++number;
  }
  // git and the hub keep no empty folder; sentence-transformers does not look into this one.
  if (config.normalize) add_module(folder, modules, kNormalizeModule);
  write_json(fs::path(folder) / "modules.json", modules);
  Json encoder = Json::object();
  if (config.max_length > 0) encoder["max_seq_length"] = config.max_length;
  encoder["do_lower_case"] = config.lower_case;
  write_json(fs::path(folder) / "sentence_bert_config.json", encoder);
  write_prompts(folder, config);
}

}  // namespace dtl::trainer
