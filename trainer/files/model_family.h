#pragma once
// What makes one family of encoders differ from another: the keys of its config.json, the names of
// its tensors, and where its arithmetic departs from the common one. A new family is a file such as
// bert_family.cc, a ModelType and a row in model_family.cc; no other code asks which family it has.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "trainer/files/known_keys.h"
#include "trainer/files/model_config.h"

namespace dtl::trainer {

// The keys of one config.json; every complaint names the file, the place and the key. A key that is
// missing, or null, leaves its value as it is.
class ConfigKeys {
 public:
  virtual ~ConfigKeys() = default;
  virtual void size(const char* key, int& value) const = 0;
  virtual void layers(const char* key, int& value) const = 0;
  virtual void fraction(const char* key, double& value) const = 0;  // from 0 to 1
  virtual std::string text(const char* key) const = 0;              // empty: not there
  virtual bool flag(const char* key) const = 0;                     // false: not there
  virtual Activation activation(const char* key) const = 0;
  [[noreturn]] virtual void refuse(const char* key, const std::string& reason) const = 0;
};

using ConfigValue = std::variant<std::nullptr_t, bool, int, double, Activation, std::string>;
using ConfigEntries = std::vector<std::pair<const char*, ConfigValue>>;

// Names of tensors, without ".weight" and ".bias". Those from query to norm2 follow the layer's.
struct TensorNames {
  std::string_view prefix;  // of the encoder's tensors: "bert."
  std::string_view layer;   // the layer's number follows
  std::string_view query, key, value, out, norm1, up, down, norm2;
  std::string_view pool;  // the dense layer between the first token's row and the classifier
};

enum class Pooling { kTanh, kRelu };  // behind that dense layer

struct ModelFamily {
  std::string_view name;        // "model_type" in config.json
  std::string_view class_name;  // in "architectures", before the task
  KnownKeys keys;               // that its config.json may have
  TensorNames tensors;
  bool has_token_types;       // a row is added that tells the first text of a pair from the second
  bool pooler_is_of_encoder;  // and so in every checkpoint; otherwise it is a part of the head
  Pooling pooling;
  bool drops_attention_output;  // dropout behind the attention's dense layer
  bool drops_before_answers;    // dropout before the head that finds answers
  void (*read)(const ConfigKeys& keys, ModelConfig& config);  // what read_model_config() does not
  ConfigEntries (*write)(const ModelConfig& config);
};

const ModelFamily& family_of(ModelType type);
inline const ModelFamily& family_of(const ModelConfig& config) {
  return family_of(config.type);
}

// By its name in config.json; nothing for a family that cannot be run.
std::optional<ModelType> type_named(std::string_view name);
std::string known_types(std::string_view separator = ", ");  // "bert, distilbert"

extern const ModelFamily kBertFamily, kDistilBertFamily;

}  // namespace dtl::trainer
