#include "trainer/families/bert_keys.h"

#include <fmt/format.h>

namespace dtl::trainer {
namespace {

using enum KeyUse;

// One row per line is easier to read.
// clang-format off
constexpr KnownKey kEncoderKeys[] = {
    {"hidden_size", kUsed},
    {"num_hidden_layers", kUsed},
    {"num_attention_heads", kUsed},
    {"intermediate_size", kUsed},
    {"hidden_act", kUsed},
    {"hidden_dropout_prob", kUsed},
    {"attention_probs_dropout_prob", kUsed},
    {"layer_norm_eps", kUsed},
};
constexpr KnownKey kBertLikeKeys[] = {
    {"type_vocab_size", kUsed},
    {"classifier_dropout", kUsed},
    {"position_embedding_type", kUsed},
};
// clang-format on

}  // namespace

namespace keys_of {
constinit const KnownKeys kEncoder = {kEncoderKeys, &kAnyConfig};
constinit const KnownKeys kBertLike = {kBertLikeKeys, &kEncoder};
}  // namespace keys_of

void read_encoder_keys(const ConfigKeys& keys, ModelConfig& config) {
  keys.size("hidden_size", config.hidden_size);
  keys.layers("num_hidden_layers", config.layers);
  keys.size("num_attention_heads", config.heads);
  keys.size("intermediate_size", config.intermediate_size);
  keys.fraction("hidden_dropout_prob", config.hidden_dropout);
  keys.fraction("attention_probs_dropout_prob", config.attention_dropout);
  keys.fraction("layer_norm_eps", config.layer_norm_eps);
  config.activation = keys.activation("hidden_act");
}

ConfigEntries write_encoder_keys(const ModelConfig& config) {
  return {{"hidden_size", config.hidden_size},
          {"num_hidden_layers", config.layers},
          {"num_attention_heads", config.heads},
          {"intermediate_size", config.intermediate_size},
          {"hidden_act", config.activation},
          {"hidden_dropout_prob", config.hidden_dropout},
          {"attention_probs_dropout_prob", config.attention_dropout},
          {"layer_norm_eps", config.layer_norm_eps}};
}

void read_bert_keys(const ConfigKeys& keys, ModelConfig& config) {
  read_encoder_keys(keys, config);
  keys.size("type_vocab_size", config.type_vocab_size);
  // A null or missing key means hidden_dropout_prob. The next line overrides that default.
  config.classifier_dropout = config.hidden_dropout;
  keys.fraction("classifier_dropout", config.classifier_dropout);
  const std::string positions = keys.text("position_embedding_type");
  if (!positions.empty() && positions != "absolute") {
    keys.refuse("position_embedding_type",
                fmt::format("only absolute positions can be run, not '{}'", positions));
  }
}

ConfigEntries write_bert_keys(const ModelConfig& config) {
  ConfigEntries entries = write_encoder_keys(config);
  ConfigValue classifier_dropout = nullptr;  // means: same as hidden_dropout_prob
  if (config.classifier_dropout != config.hidden_dropout) {
    classifier_dropout = config.classifier_dropout;
  }
  entries.emplace_back("classifier_dropout", classifier_dropout);
  entries.emplace_back("type_vocab_size", config.type_vocab_size);
  entries.emplace_back("position_embedding_type", std::string("absolute"));
  return entries;
}

}  // namespace dtl::trainer
