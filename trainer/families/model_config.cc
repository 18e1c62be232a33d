// Keys that all families have, and the checks that every family needs. The limits bound how much
// memory a hostile file can make dttrain allocate before it reads any tensor.
#include "trainer/families/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/text.h"
#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/families/training_keys.h"
#include "trainer/files/model_keys.h"
#include "trainer/json/json_text.h"

namespace dtl::trainer {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMaxConfigBytes = 16 << 20;  // id2label may be long; real files are 1 KiB
constexpr int kMaxDimension = 1 << 24;             // keeps every product of two sizes in 64 bits
constexpr int kMaxLayers = 1 << 12;      // 16 tensors each, allocated before any file is read
constexpr int kMaxLabels = 1 << 20;      // 32 MiB of names
constexpr double kMaxParameters = 1e12;  // 4 TB; keeps every array index in 64 bits

const char* name_of(Problem problem) {
  switch (problem) {
    case Problem::kSingleLabel:
      return "single_label_classification";
    case Problem::kMultiLabel:
      return "multi_label_classification";
    case Problem::kRegression:
      return "regression";
  }
  __builtin_unreachable();
}

// "p2c|c2p", in upper or lower case and with blanks around a word.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (const auto& part : split(to_lower(text), '|')) words.emplace_back(trim(part));
  return words;
}

// Reads typed values out of one config.json; every complaint names the file, the place and the key.
class ConfigReader final : public ConfigKeys {
 public:
  explicit ConfigReader(std::string path) : path_(std::move(path)) {
    const JsonComplaint complaint{"cannot use this model"};
    text_ = read_json_text(path_, kMaxConfigBytes, complaint);
    json_ = OrderedJson::parse(text_, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) refuse_json(path_, text_, complaint);
  }

  // For failures that concern no single key.
  [[noreturn]] void fail(const std::string& what, const std::string& reason) const {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use {}", path_, what), reason);
  }
  [[noreturn]] void fail_key(const std::string& key, const std::string& reason,
                             const std::string& hint = {}) const {
    fail_at(key, fmt::format("'{}'", key), reason, hint);
  }

  // Refuses keys that a model of this type does not have.
  void check(const KnownKeys& object) const {
    check_keys(object, json_, [&](const std::string& key, const KeyRefusal& refusal) {
      fail_at(key, refusal.what, refusal.reason, refusal.hint);
    });
  }

  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }

  // Getters leave the default in place if the key is missing or null.
  void size(const char* key, int& value) const override { whole(key, value, 1, kMaxDimension); }
  void layers(const char* key, int& value) const override { whole(key, value, 1, kMaxLayers); }
  void whole(const char* key, int& value, int low, int high) const override {
    if (!has(key)) return;
    if (!json_[key].is_number_integer()) fail_key(key, "it is not a whole number");
    const auto number = json_[key].get<std::int64_t>();
    if (number < low || number > high) {
      fail_key(key, fmt::format("{} is not between {} and {}", number, low, high));
    }
    value = static_cast<int>(number);
  }

  void fraction(const char* key, double& value) const override { real(key, value, 0, 1); }
  void positive(const char* key, double& value) const override { real(key, value, 1e-6, 1e12); }
  void real(const char* key, double& value, double low, double high) const {
    if (!has(key)) return;
    if (!json_[key].is_number()) fail_key(key, "it is not a number");
    const double number = json_[key].get<double>();
    // Written so that NaN is refused.
    if (!(number >= low && number <= high)) {
      fail_key(key, fmt::format("{} is not between {} and {}", number, low, high));
    }
    value = number;
  }

  std::string text(const char* key) const override {
    if (!has(key)) return {};
    if (!json_[key].is_string()) fail_key(key, "it is not a text");
    return json_[key].get<std::string>();
  }

  std::vector<std::string> words(const char* key) const override {
    std::vector<std::string> words;
    if (!has(key)) return words;
    const OrderedJson& value = json_[key];
    if (value.is_string()) return words_of(value.get<std::string>());
    if (!value.is_array()) fail_key(key, "it is neither a text nor a list of texts");
    for (const OrderedJson& word : value) {
      if (!word.is_string()) fail_key(key, "it is not a list of texts");
      words.push_back(word.get<std::string>());
    }
    return words;
  }

  bool flag(const char* key, bool missing) const override {
    if (!has(key)) return missing;
    if (!json_[key].is_boolean()) fail_key(key, "it is not true or false");
    return json_[key].get<bool>();
  }

  Activation activation(const char* key) const override {
    const std::string name = text(key);
    // BERT's and DistilBERT's default is gelu.
    if (name.empty() || name == "gelu") return Activation::kGelu;
    if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
    if (name == "relu") return Activation::kRelu;
    fail_key(key, fmt::format("'{}' is not one of gelu, gelu_new, gelu_pytorch_tanh, relu", name));
  }

  std::vector<std::string> texts(const char* key) const override {
    if (!has(key)) return {};
    const OrderedJson& json = json_[key];
    const auto is_text = [](const OrderedJson& value) { return value.is_string(); };
    if (!json.is_array() || !std::all_of(json.begin(), json.end(), is_text)) {
      fail_key(key, "it is not a list of texts");
    }
    return json.get<std::vector<std::string>>();
  }

  std::vector<double> numbers(const char* key) const override {
    if (!has(key)) return {};
    const OrderedJson& json = json_[key];
    const auto is_number = [](const OrderedJson& value) { return value.is_number(); };
    if (!json.is_array() || !std::all_of(json.begin(), json.end(), is_number)) {
      fail_key(key, "it is not a list of numbers");
    }
    return json.get<std::vector<double>>();
  }

  std::unique_ptr<ConfigKeys> object(const char* key, const KnownKeys& keys) const override {
    if (!has(key)) return nullptr;
    if (!json_[key].is_object()) fail_key(key, "it is not an object");
    auto inner = std::make_unique<ConfigReader>(*this);
    inner->json_ = json_[key];
    inner->within_.emplace_back(key);
    inner->check(keys);
    return inner;
  }

  [[noreturn]] void refuse(const char* key, const std::string& reason) const override {
    fail_key(key, reason);
  }

  // id2label maps "0", "1", .. to names. Without it, num_labels gives LABEL_0, ..
  std::vector<std::string> labels() const {
    std::vector<std::string> names;
    if (has("id2label")) {
      const OrderedJson& map = json_["id2label"];
      if (!map.is_object()) fail_key("id2label", "it is not an object");
      for (std::size_t id = 0; id < map.size(); ++id) {
        // Look up by number: in the file, "10" may come before "2".
        const auto entry = map.find(std::to_string(id));
        if (entry == map.end() || !entry->is_string()) {
          fail_key("id2label", fmt::format("there is no name for id {}", id));
        }
        names.push_back(entry->get<std::string>());
      }
    } else if (has("num_labels")) {
      int count = 0;
      whole("num_labels", count, 1, kMaxLabels);
      for (int id = 0; id < count; ++id) names.push_back(fmt::format("LABEL_{}", id));
    }
    check_ids(names);
    return names;
  }

  // From sentence-transformers 4 on, and its name before.
  std::string score_activation() const {
    constexpr const char *kKey = "sentence_transformers", *kName = "activation_fn";
    if (has(kKey) && json_[kKey].is_object() && json_[kKey].contains(kName) &&
        json_[kKey][kName].is_string()) {
      return json_[kKey][kName].get<std::string>();
    }
    constexpr const char* kOldKey = "sbert_ce_default_activation_function";
    return has(kOldKey) && json_[kOldKey].is_string() ? json_[kOldKey].get<std::string>() : "";
  }

 private:
  // label2id is optional. But if it gives the same names other ids, we cannot tell which of the two
  // is right.
  void check_ids(const std::vector<std::string>& names) const {
    if (!has("label2id")) return;
    const OrderedJson& ids = json_["label2id"];
    if (!ids.is_object()) fail_key("label2id", "it is not an object");
    const auto named = [&](const std::string& name) { return ids.contains(name); };
    if (!std::all_of(names.begin(), names.end(), named)) return;  // left over from another task
    for (std::size_t id = 0; id < names.size(); ++id) {
      const OrderedJson& other = ids[names[id]];
      const std::string text = other.is_string() ? other.get<std::string>() : other.dump();
      if (text == std::to_string(id)) continue;
      fail_key("label2id",
               fmt::format("'{}' has the id {} here and {} in id2label", names[id], text, id),
               "the file without label2id, if id2label is right");
    }
  }

  [[noreturn]] void fail_at(const std::string& key, const std::string& what,
                            const std::string& reason, const std::string& hint) const {
    const std::string place = within_.empty() ? json_place(path_, text_, {key})
                              : within_.size() == 1
                                  ? json_place(path_, text_, {within_[0], key})
                                  : json_place(path_, text_, {within_[0], within_[1], key});
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use {}", place, what), reason, hint);
  }

  std::string path_, text_;
  OrderedJson json_;
  std::vector<std::string> within_;  // keys of the objects around json_; at most two
};

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu_new";
    case Activation::kRelu:
      return "relu";
  }
  __builtin_unreachable();
}

// Without problem_type, a model with one output is a regression, as in transformers.
Problem problem_named(const ConfigReader& reader, std::size_t labels) {
  const std::string name = reader.text("problem_type");
  if (name.empty()) return labels == 1 ? Problem::kRegression : Problem::kSingleLabel;
  for (const Problem problem :
       {Problem::kSingleLabel, Problem::kMultiLabel, Problem::kRegression}) {
    if (name == name_of(problem)) return problem;
  }
  reader.fail_key("problem_type",
                  fmt::format("'{}' is not one of {}, {}, {}", name, name_of(Problem::kSingleLabel),
                              name_of(Problem::kMultiLabel), name_of(Problem::kRegression)));
}

// For a head with a fixed number of outputs, transformers' default labels are right.
void add_labels(OrderedJson& json, const ModelConfig& config) {
  if (head_of(config).outputs > 0 || config.labels.empty()) return;
  OrderedJson names = OrderedJson::object();
  OrderedJson ids = OrderedJson::object();
  for (std::size_t id = 0; id < config.labels.size(); ++id) {
    names[std::to_string(id)] = config.labels[id];
    ids[config.labels[id]] = id;
  }
  json["id2label"] = names;
  json["label2id"] = ids;
  if (config.task == Task::kClassification) json["problem_type"] = name_of(config.problem);
}

void add_entries(OrderedJson& json, const ConfigEntries& entries) {
  for (const auto& [key, value] : entries) {
    std::visit(
        [&, at = key](const auto& each) {
          using Value = std::decay_t<decltype(each)>;
          if constexpr (std::is_same_v<Value, Activation>) {
            json[at] = name_of(each);
          } else {
            json[at] = each;
          }
        },
        value);
  }
}

void add_object(OrderedJson& json, const char* key, const ConfigEntries& entries) {
  if (!entries.empty()) add_entries(json[key], entries);
}

// Approximately the count that layout_parameters() will place.
void check_parameters(const ConfigReader& reader, const ModelConfig& config) {
  const double hidden = config.hidden_size;
  const double rows =
      static_cast<double>(config.vocab_size) + config.max_positions + config.type_vocab_size +
      static_cast<double>(config.labels.size()) +
      (config.deberta.relative ? 2.0 * table_span(config.deberta, config.max_positions) : 0.0);
  const double embedded = embedding_width(config);
  const double layer = hidden * (4 * hidden + 2.0 * config.intermediate_size);
  const double parameters = embedded * rows + hidden * embedded + config.layers * layer;
  if (parameters > kMaxParameters) {
    reader.fail("its sizes", fmt::format("the model would have {:.3g} parameters, more than {:.3g}",
                                         parameters, kMaxParameters));
  }
}

}  // namespace

ModelConfig read_model_config(const std::string& folder) {
  check_model_folder(folder);
  const ConfigReader reader(folder + "/config.json");
  ModelConfig config;
  const std::string name = reader.text("model_type");
  const std::optional<ModelType> type = type_named(name);
  if (!type) {
    reader.fail_key("model_type", fmt::format("'{}' is not one of {}", name, known_types()),
                    "--model_name_or_path with a model of one of these types");
  }
  config.type = *type;
  const ModelFamily& family = family_of(config);
  // Before reading any value: an unknown key may change what the others mean.
  reader.check(family.keys);
  family.read(reader, config);
  reader.size("vocab_size", config.vocab_size);
  reader.size("max_position_embeddings", config.max_positions);
  reader.real("initializer_range", config.initializer_range, 0, 100);
  reader.whole("pad_token_id", config.pad_token_id, -kMaxDimension, kMaxDimension);
  config.labels = reader.labels();
  config.columns = read_columns(reader);
  config.loss = read_head_loss(reader, config.labels.size());
  config.score_activation = reader.score_activation();
  config.architectures = reader.texts("architectures");
  config.problem = problem_named(reader, config.labels.size());
  // Each head takes hidden_size / heads columns of the same projection.
  if (config.hidden_size % config.heads != 0) {
    reader.fail_key(reader.has("n_heads") ? "n_heads" : "num_attention_heads",
                    fmt::format("the hidden size, {}, is not a multiple of the number of heads, {}",
                                config.hidden_size, config.heads));
  }
  if (config.pad_token_id < 0 || config.pad_token_id >= config.vocab_size) {
    reader.fail_key("pad_token_id",
                    fmt::format("{} is not below vocab_size, {}, or negative", config.pad_token_id,
                                config.vocab_size),
                    "\"pad_token_id\": the id of the tokenizer's padding token");
  }
  if (longest_text(config) < 1) {
    reader.fail_key("max_position_embeddings",
                    fmt::format("a text begins at position {}", first_position(config)));
  }
  check_parameters(reader, config);
  return config;
}

void write_model_config(const std::string& folder, const ModelConfig& config) {
  OrderedJson json;
  const ModelFamily& family = family_of(config);
  json["architectures"] = {fmt::format("{}{}", family.class_name, head_of(config).architecture)};
  json["model_type"] = family.name;
  add_entries(json, family.write(config));
  json["vocab_size"] = config.vocab_size;
  json["max_position_embeddings"] = config.max_positions;
  json["initializer_range"] = config.initializer_range;
  json["pad_token_id"] = config.pad_token_id;
  add_labels(json, config);
  add_object(json, "dttrain_columns", columns_entries(config.columns));
  add_object(json, "dttrain_loss", head_loss_entries(config.loss));
  if (config.task == Task::kReranking && !config.score_activation.empty()) {
    json["sentence_transformers"] = {{"activation_fn", config.score_activation}};
  }
  // Weights are always written as F32 (safetensors.cc).
  json["torch_dtype"] = "float32";
  write_file_atomically(folder + "/config.json",
                        json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

}  // namespace dtl::trainer
