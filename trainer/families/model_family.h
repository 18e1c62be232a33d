#pragma once
// How one family of encoders differs from another: keys of config.json, names of tensors, the
// layers of its heads, and deviations from the common arithmetic. To add a family, add a file such
// as bert_family.cc, a ModelType and a row in model_family.cc. No other code asks for the family.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "trainer/families/head_activation.h"
#include "trainer/families/model_config.h"
#include "trainer/files/known_keys.h"

namespace dtl::trainer {

// Reads the keys of one config.json. Every error names the file, the place and the key. A missing
// or null key leaves the value as it is.
class ConfigKeys {
 public:
  virtual ~ConfigKeys() = default;
  virtual void size(const char* key, int& value) const = 0;
  virtual void layers(const char* key, int& value) const = 0;
  virtual void fraction(const char* key, double& value) const = 0;  // from 0 to 1
  virtual std::string text(const char* key) const = 0;              // empty if missing
  // A text of words with '|' between them, or a list of texts; empty if missing.
  virtual std::vector<std::string> words(const char* key) const = 0;
  virtual bool flag(const char* key, bool missing = false) const = 0;
  virtual void whole(const char* key, int& value, int low, int high) const = 0;
  virtual void positive(const char* key, double& value) const = 0;    // up to 1e12
  virtual std::vector<std::string> texts(const char* key) const = 0;  // empty if missing
  virtual std::vector<double> numbers(const char* key) const = 0;     // finite; empty if missing
  // The object of a key, which must have no other keys than these. Null if missing.
  virtual std::unique_ptr<ConfigKeys> object(const char* key, const KnownKeys& keys) const = 0;
  virtual Activation activation(const char* key) const = 0;
  [[noreturn]] virtual void refuse(const char* key, const std::string& reason) const = 0;
};

using ConfigValue = std::variant<std::nullptr_t, bool, int, double, Activation, std::string,
                                 std::vector<std::string>, std::vector<double>>;
using ConfigEntries = std::vector<std::pair<const char*, ConfigValue>>;

constexpr int kRelativeBuckets = 32;  // of distances, in a table of TensorNames::relative_bias

// Names of tensors, without ".weight" and ".bias". The names from query to norm2 come after the
// layer's prefix.
struct TensorNames {
  std::string_view prefix;  // of the encoder's tensors: "bert."
  std::string_view word, position, type, embedding_norm;
  std::string_view project = {};        // from E to H, where embeddings are narrower than layers
  std::string_view relative_bias = {};  // added to scores by distance, the same in all layers
  std::string_view layer;               // the layer's number follows
  std::string_view query, key, value, out, norm1, up, down, norm2;
  // The head of a masked language model; its output layer has the word embeddings' weights.
  std::string_view masked_dense = {}, masked_norm = {}, masked_output = {};
  // The table of distances of disentangled attention (deberta_config.h), its norm, and a layer's
  // own projections of it, after the layer's prefix.
  std::string_view distance_table = {}, distance_norm = {}, distance_key = {}, distance_query = {};
  // Pre-norm layers: query, key and value as one tensor, in place of three; and the norm after the
  // last layer.
  std::string_view fused_qkv = {}, final_norm = {};
};

// The same names where they depend on the configuration.
struct MaskedHeadNames {
  std::string_view dense, norm, output;
};

// The layers between the rows that a head reads, h, and its outputs, without ".weight" and ".bias":
//   outputs = W dropout(norm(activation(V dropout(h) + v))) + w
struct HeadForm {
  std::string_view dense = {};  // V and v, [H, H] and [H]; empty: none, only W and w
  bool dense_bias = true;       // v
  // A pooler, which every checkpoint has; otherwise the dense layer is of the task.
  bool dense_is_of_encoder = false;
  HeadActivation activation = HeadActivation::kTanh;
  double dense_dropout = 0;    // of h; only if there is a dense layer
  std::string_view norm = {};  // empty: none
  bool norm_bias = true;
  std::string_view output = {};
  double dropout = 0;  // before the output layer
};

// Layers of layers/layer.h, or of layers/pre_norm_layer.h.
enum class LayerKind { kPostNorm, kPreNorm };

struct ModelFamily {
  std::string_view name;        // "model_type" in config.json
  std::string_view class_name;  // in "architectures", the part before the task
  KnownKeys keys;               // allowed in its config.json
  TensorNames tensors;
  bool drops_attention_output;  // dropout after the attention's dense layer
  // Whether padding sees the text, as it does in transformers' BERT: then a model may learn from
  // the outputs of padding.
  bool sees_padding = true;
  LayerKind layer_kind = LayerKind::kPostNorm;
  // Of a masked language model's head. Null: config.activation.
  Activation (*masked_activation)(const ModelConfig& config) = nullptr;
  // The position of a text's first token, in the table of positions. Null: 0. Otherwise a padding
  // token has the position before the first, and others are counted without it.
  int (*first_position)(const ModelConfig& config) = nullptr;
  // For tasks whose head has an output layer of its own: not embeddings, not masked_lm.
  HeadForm (*head)(const ModelConfig& config);
  // Null: the names in `tensors`.
  MaskedHeadNames (*masked_head)(const ModelConfig& config) = nullptr;
  void (*read)(const ConfigKeys& keys, ModelConfig& config);  // keys of this family
  ConfigEntries (*write)(const ModelConfig& config);
  // Sets what new models have besides the sizes of `dttrain init`. Null: nothing.
  void (*make_new)(ModelConfig& config) = nullptr;
};

const ModelFamily& family_of(ModelType type);
inline const ModelFamily& family_of(const ModelConfig& config) {
  return family_of(config.type);
}

MaskedHeadNames masked_head_names_of(const ModelConfig& config);

int first_position(const ModelConfig& config);
bool is_pre_norm(const ModelConfig& config);
// Of a masked language model's head.
Activation masked_activation(const ModelConfig& config);
Activation always_gelu(const ModelConfig& config);
// The most tokens of a text: a family may leave the first positions of the table unused.
int longest_text(const ModelConfig& config);

// Looks up a name of config.json; returns nothing for a family that dttrain cannot run.
std::optional<ModelType> type_named(std::string_view name);
std::string known_types(std::string_view separator = ", ");  // "bert, distilbert, .."

extern const ModelFamily kBertFamily, kDistilBertFamily, kRobertaFamily, kXlmRobertaFamily,
    kCamembertFamily, kElectraFamily, kMPNetFamily, kDebertaV2Family, kModernBertFamily;

}  // namespace dtl::trainer
