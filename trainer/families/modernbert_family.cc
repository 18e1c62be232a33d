// ModernBERT, as in transformers' ModernBertModel. The defaults are those of ModernBertConfig.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "trainer/families/model_family.h"

namespace dtl::trainer {
namespace {

using enum KeyUse;

constexpr const char* kScaled = "scaled rotary positions are not computed here";

// One row per line is easier to read.
// clang-format off
constexpr KnownKey kModernBertKeys[] = {
    {"hidden_size", kUsed},
    {"num_hidden_layers", kUsed},
    {"num_attention_heads", kUsed},
    {"intermediate_size", kUsed},
    {"hidden_activation", kUsed},
    {"classifier_activation", kUsed},
    {"classifier_pooling", kUsed},
    {"classifier_bias", kUsed},
    {"decoder_bias", kUsed},
    {"attention_bias", kUsed},
    {"mlp_bias", kUsed},
    {"norm_bias", kUsed},
    {"norm_eps", kUsed},
    {"embedding_dropout", kUsed},
    {"attention_dropout", kUsed},
    {"mlp_dropout", kUsed},
    {"classifier_dropout", kUsed},
    {"local_attention", kUsed},
    {"global_attn_every_n_layers", kUsed},
    {"layer_types", kUsed},
    {"global_rope_theta", kUsed},
    {"local_rope_theta", kUsed},
    {"rope_parameters", kUsed},
    {"initializer_cutoff_factor", kUsed},
    {"rope_scaling", kOnly, "{}", kScaled},
    // How a program computes. The loss of a masked language model takes masked tokens in any case.
    {"reference_compile", kHarmless},
    {"deterministic_flash_attn", kHarmless},
    {"repad_logits_with_grad", kHarmless},
    {"sparse_prediction", kHarmless},
    {"sparse_pred_ignore_index", kHarmless},
    // Keys of other encoders in published folders. ModernBertModel reads none of them.
    {"layer_norm_eps", kHarmless},
    {"position_embedding_type", kHarmless},
};
constexpr KnownKey kRopeKeys[] = {  // rope_parameters: of each kind of layer
    {"full_attention", kUsed},
    {"sliding_attention", kUsed},
};
constexpr KnownKey kThetaKeys[] = {
    {"rope_theta", kUsed},
    {"rope_type", kOnly, "\"default\"", kScaled},
};
// clang-format on
constexpr KnownKeys kRope = {kRopeKeys}, kTheta = {kThetaKeys};

constexpr const char *kFull = "full_attention", *kSliding = "sliding_attention";

// The newer key's numbers go before the older keys'.
void read_thetas(const ConfigKeys& keys, PreNormConfig& config) {
  keys.positive("global_rope_theta", config.global_theta);
  keys.positive("local_rope_theta", config.local_theta);
  const std::unique_ptr<ConfigKeys> rope = keys.object("rope_parameters", kRope);
  if (!rope) return;
  if (const auto full = rope->object(kFull, kTheta)) {
    full->positive("rope_theta", config.global_theta);
  }
  if (const auto sliding = rope->object(kSliding, kTheta)) {
    sliding->positive("rope_theta", config.local_theta);
  }
}

// The newer key's list goes before the older key's number.
void read_layer_types(const ConfigKeys& keys, ModelConfig& config) {
  PreNormConfig& own = config.pre_norm;
  keys.size("global_attn_every_n_layers", own.global_every);
  const std::vector<std::string> types = keys.texts("layer_types");
  if (types.empty()) return;
  if (std::ssize(types) != config.layers) {
    keys.refuse("layer_types",
                fmt::format("it has {} types for {} layers", types.size(), config.layers));
  }
  for (const std::string& type : types) {
    if (type != kFull && type != kSliding) {
      keys.refuse("layer_types", fmt::format("'{}' is not one of {}, {}", type, kFull, kSliding));
    }
    own.local.push_back(type == kSliding ? 1 : 0);
  }
  // transformers writes both keys.
  PreNormConfig regular = own;
  regular.local.clear();
  bool is_regular = true;
  for (int i = 0; i < config.layers; ++i) is_regular &= regular.is_local(i) == own.is_local(i);
  if (is_regular) own.local.clear();
}

// What ModelConfig has otherwise for BERT.
void make_new_modernbert(ModelConfig& config) {
  config.type_vocab_size = 0;
  config.layer_norm_eps = 1e-5;
}

void read_modernbert(const ConfigKeys& keys, ModelConfig& config) {
  make_new_modernbert(config);
  config.vocab_size = 50368;
  config.layers = 22;
  config.intermediate_size = 1152;
  config.max_positions = 8192;
  config.pad_token_id = 50283;
  config.hidden_dropout = config.attention_dropout = config.classifier_dropout = 0;
  PreNormConfig& own = config.pre_norm;
  keys.size("hidden_size", config.hidden_size);
  keys.layers("num_hidden_layers", config.layers);
  keys.size("num_attention_heads", config.heads);
  keys.size("intermediate_size", config.intermediate_size);
  config.activation = keys.activation("hidden_activation");
  own.head_activation = keys.activation("classifier_activation");
  const std::string pooling = keys.text("classifier_pooling");
  if (!pooling.empty() && pooling != "cls" && pooling != "mean") {
    keys.refuse("classifier_pooling", fmt::format("'{}' is not one of cls, mean", pooling));
  }
  config.classifier_pooling = pooling == "mean" ? TextPooling::kMean : TextPooling::kCls;
  keys.fraction("embedding_dropout", config.hidden_dropout);
  keys.fraction("attention_dropout", config.attention_dropout);
  keys.fraction("classifier_dropout", config.classifier_dropout);
  keys.fraction("mlp_dropout", own.feed_forward_dropout);
  keys.fraction("norm_eps", config.layer_norm_eps);
  keys.positive("initializer_cutoff_factor", own.initializer_cutoff);
  own.attention_bias = keys.flag("attention_bias");
  own.feed_forward_bias = keys.flag("mlp_bias");
  own.norm_bias = keys.flag("norm_bias");
  own.head_bias = keys.flag("classifier_bias");
  own.masked_bias = keys.flag("decoder_bias", true);
  keys.size("local_attention", own.local_attention);
  read_thetas(keys, own);
  read_layer_types(keys, config);
  // Numbers of a head are rotated in pairs. The caller refuses other remainders.
  if (config.hidden_size % config.heads == 0 && config.hidden_size / config.heads % 2 != 0) {
    keys.refuse(
        "num_attention_heads",
        fmt::format("a head would have {} numbers, and rotary positions need an even number",
                    config.hidden_size / config.heads));
  }
}

// The older keys, which every release of transformers understands; layer_types where they cannot
// say it.
ConfigEntries write_modernbert(const ModelConfig& config) {
  const PreNormConfig& own = config.pre_norm;
  ConfigEntries entries = {
      {"hidden_size", config.hidden_size},
      {"num_hidden_layers", config.layers},
      {"num_attention_heads", config.heads},
      {"intermediate_size", config.intermediate_size},
      {"hidden_activation", config.activation},
      {"classifier_activation", own.head_activation},
      {"classifier_pooling",
       std::string(config.classifier_pooling == TextPooling::kMean ? "mean" : "cls")},
      {"classifier_bias", own.head_bias},
      {"decoder_bias", own.masked_bias},
      {"attention_bias", own.attention_bias},
      {"mlp_bias", own.feed_forward_bias},
      {"norm_bias", own.norm_bias},
      {"norm_eps", config.layer_norm_eps},
      {"embedding_dropout", config.hidden_dropout},
      {"attention_dropout", config.attention_dropout},
      {"mlp_dropout", own.feed_forward_dropout},
      {"classifier_dropout", config.classifier_dropout},
      {"local_attention", own.local_attention},
      {"global_rope_theta", own.global_theta},
      {"local_rope_theta", own.local_theta},
      {"initializer_cutoff_factor", own.initializer_cutoff}};
  if (own.local.empty()) {
    entries.emplace_back("global_attn_every_n_layers", own.global_every);
    return entries;
  }
  std::vector<std::string> types;
  for (const std::int8_t local : own.local) types.emplace_back(local != 0 ? kSliding : kFull);
  entries.emplace_back("layer_types", std::move(types));
  return entries;
}

HeadActivation head_activation(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return HeadActivation::kGelu;
    case Activation::kGeluTanh:
      return HeadActivation::kGeluTanh;
    case Activation::kRelu:
      return HeadActivation::kRelu;
  }
  __builtin_unreachable();
}

HeadForm modernbert_head(const ModelConfig& config) {
  const PreNormConfig& own = config.pre_norm;
  return {.dense = "head.dense",
          .dense_bias = own.head_bias,
          .activation = head_activation(own.head_activation),
          .norm = "head.norm",
          .norm_bias = own.norm_bias,
          .output = "classifier",
          .dropout = config.classifier_dropout};
}

Activation activation_of_head(const ModelConfig& config) {
  return config.pre_norm.head_activation;
}

}  // namespace

constinit const ModelFamily kModernBertFamily = {
    .name = "modernbert",
    .class_name = "ModernBert",
    .keys = {kModernBertKeys, &keys_of::kAnyConfig},
    .tensors = {.prefix = "model.",
                .word = "model.embeddings.tok_embeddings",
                .position = "",
                .type = "",
                .embedding_norm = "model.embeddings.norm",
                .layer = "model.layers.",
                .query = "",
                .key = "",
                .value = "",
                .out = ".attn.Wo",
                .norm1 = ".attn_norm",
                .up = ".mlp.Wi",
                .down = ".mlp.Wo",
                .norm2 = ".mlp_norm",
                .masked_dense = "head.dense",
                .masked_norm = "head.norm",
                .masked_output = "decoder",
                .fused_qkv = ".attn.Wqkv",
                .final_norm = "model.final_norm"},
    .drops_attention_output = false,
    .layer_kind = LayerKind::kPreNorm,
    .masked_activation = activation_of_head,
    .head = modernbert_head,
    .read = read_modernbert,
    .write = write_modernbert,
    .make_new = make_new_modernbert};

}  // namespace dtl::trainer
