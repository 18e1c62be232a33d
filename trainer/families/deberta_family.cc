// DeBERTa-v2 and v3, as in transformers' DebertaV2Model. The defaults are those of DebertaV2Config,
// and of the keys that only the model reads.
#include <fmt/format.h>

#include "trainer/families/model_family.h"

namespace dtl::trainer {
namespace {

using enum KeyUse;

constexpr const char* kConvolution =
    "the first layer's convolution (deberta-v2-xlarge and -xxlarge) is not run here";

// One row per line is easier to read.
// clang-format off
constexpr KnownKey kDebertaKeys[] = {
    {"hidden_size", kUsed},
    {"num_hidden_layers", kUsed},
    {"num_attention_heads", kUsed},
    {"intermediate_size", kUsed},
    {"type_vocab_size", kUsed},
    {"hidden_act", kUsed},
    {"hidden_dropout_prob", kUsed},
    {"attention_probs_dropout_prob", kUsed},
    {"layer_norm_eps", kUsed},
    {"relative_attention", kUsed},
    {"max_relative_positions", kUsed},
    {"position_buckets", kUsed},
    {"position_biased_input", kUsed},
    {"pos_att_type", kUsed},
    {"share_att_key", kUsed},
    {"norm_rel_ebd", kUsed},
    {"attention_head_size", kUsed},
    {"embedding_size", kUsed},
    {"pooler_hidden_size", kUsed},
    {"pooler_hidden_act", kUsed},
    {"pooler_dropout", kUsed},
    {"cls_dropout", kUsed},
    {"legacy", kUsed},
    {"conv_kernel_size", kOnly, "0", kConvolution},
    {"conv_act", kHarmless},  // of that convolution
    {"conv_groups", kHarmless},
    {"z_steps", kOnly, "0 1", "the last layer runs once only"},
    // DebertaV2Model reads none of these.
    {"padding_idx", kHarmless},  // pad_token_id is what counts
    {"classifier_dropout", kHarmless},
    {"pooling", kHarmless},
    {"summary_activation", kHarmless},
    {"summary_first_dropout", kHarmless},
    {"summary_last_dropout", kHarmless},
    {"summary_proj_to_labels", kHarmless},
    {"summary_type", kHarmless},
    {"summary_use_proj", kHarmless},
};
// clang-format on

// A size that must be another one's if it is given.
void expect_size(const ConfigKeys& keys, const char* key, int expected) {
  int value = expected;
  keys.size(key, value);
  if (value == expected) return;
  keys.refuse(key, fmt::format("only {} can be run with these sizes, not {}", expected, value));
}

HeadActivation pooler_activation(const ConfigKeys& keys) {
  constexpr const char* kKey = "pooler_hidden_act";
  const std::string name = keys.text(kKey);
  if (name == "tanh") return HeadActivation::kTanh;
  if (name == "relu") return HeadActivation::kRelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return HeadActivation::kGeluTanh;
  if (!name.empty() && name != "gelu") {
    keys.refuse(kKey, fmt::format("'{}' is not one of gelu, gelu_new, tanh, relu", name));
  }
  return HeadActivation::kGelu;
}

const char* name_of(HeadActivation activation) {
  switch (activation) {
    case HeadActivation::kTanh:
      return "tanh";
    case HeadActivation::kRelu:
      return "relu";
    case HeadActivation::kGelu:
      return "gelu";
    case HeadActivation::kGeluTanh:
      return "gelu_new";
  }
  __builtin_unreachable();
}

void read_terms(const ConfigKeys& keys, DebertaConfig& deberta) {
  for (const std::string& term : keys.words("pos_att_type")) {
    bool* wanted = term == "c2p"   ? &deberta.content_to_position
                   : term == "p2c" ? &deberta.position_to_content
                                   : nullptr;
    if (wanted == nullptr) {
      keys.refuse("pos_att_type", fmt::format("'{}' is not one of c2p, p2c", term));
    }
    *wanted = true;
  }
  for (const std::string& norm : keys.words("norm_rel_ebd")) {
    if (norm == "layer_norm") {
      deberta.table_norm = true;
    } else if (norm != "none") {
      keys.refuse("norm_rel_ebd", fmt::format("'{}' is not one of layer_norm, none", norm));
    }
  }
}

// -1, and any other number below 1, stands for a default.
void read_distances(const ConfigKeys& keys, DebertaConfig& deberta, int max_positions) {
  constexpr int kMost = 1 << 24;
  keys.whole("position_buckets", deberta.buckets, -1, kMost);
  keys.whole("max_relative_positions", deberta.max_distance, -1, kMost);
  if (deberta.buckets == 1) keys.refuse("position_buckets", "at least 2 buckets are needed");
  // Distances from half of the buckets on share rows on a logarithmic scale, up to the largest one.
  const int half = deberta.buckets / 2;
  if (deberta.buckets > 0 && max_positions - 1 > half &&
      largest_distance(deberta, max_positions) - 1 <= half) {
    keys.refuse("position_buckets",
                fmt::format("texts of {} tokens need a max_relative_positions of {} or more",
                            max_positions, half + 2));
  }
}

void read_deberta(const ConfigKeys& keys, ModelConfig& config) {
  config.vocab_size = 128100;
  config.hidden_size = 1536;
  config.layers = config.heads = 24;
  config.intermediate_size = 6144;
  config.type_vocab_size = 0;
  config.layer_norm_eps = 1e-7;
  keys.size("hidden_size", config.hidden_size);
  keys.layers("num_hidden_layers", config.layers);
  keys.size("num_attention_heads", config.heads);
  keys.size("intermediate_size", config.intermediate_size);
  keys.whole("type_vocab_size", config.type_vocab_size, 0, 1 << 24);
  keys.fraction("hidden_dropout_prob", config.hidden_dropout);
  keys.fraction("attention_probs_dropout_prob", config.attention_dropout);
  config.classifier_dropout = config.hidden_dropout;
  keys.fraction("cls_dropout", config.classifier_dropout);
  keys.fraction("layer_norm_eps", config.layer_norm_eps);
  config.activation = keys.activation("hidden_act");
  DebertaConfig& deberta = config.deberta;
  deberta.relative = keys.flag("relative_attention");
  deberta.shares_weights = keys.flag("share_att_key");
  deberta.position_table = keys.flag("position_biased_input", true);
  deberta.legacy_masked_head = keys.flag("legacy", true);
  read_terms(keys, deberta);
  int max_positions = config.max_positions;
  keys.size("max_position_embeddings", max_positions);
  read_distances(keys, deberta, max_positions);
  deberta.pooler_activation = pooler_activation(keys);
  keys.fraction("pooler_dropout", deberta.pooler_dropout);
  expect_size(keys, "attention_head_size", config.hidden_size / config.heads);
  expect_size(keys, "embedding_size", config.hidden_size);
  expect_size(keys, "pooler_hidden_size", config.hidden_size);
}

ConfigValue written_terms(const DebertaConfig& deberta) {
  if (deberta.content_to_position && deberta.position_to_content) return std::string("p2c|c2p");
  if (deberta.content_to_position) return std::string("c2p");
  if (deberta.position_to_content) return std::string("p2c");
  return nullptr;
}

ConfigEntries write_deberta(const ModelConfig& config) {
  const DebertaConfig& deberta = config.deberta;
  ConfigValue classifier_dropout = nullptr;  // means: same as hidden_dropout_prob
  if (config.classifier_dropout != config.hidden_dropout) {
    classifier_dropout = config.classifier_dropout;
  }
  return {{"hidden_size", config.hidden_size},
          {"num_hidden_layers", config.layers},
          {"num_attention_heads", config.heads},
          {"intermediate_size", config.intermediate_size},
          {"hidden_act", config.activation},
          {"hidden_dropout_prob", config.hidden_dropout},
          {"attention_probs_dropout_prob", config.attention_dropout},
          {"type_vocab_size", config.type_vocab_size},
          {"layer_norm_eps", config.layer_norm_eps},
          {"relative_attention", deberta.relative},
          {"max_relative_positions", deberta.max_distance},
          {"position_buckets", deberta.buckets},
          {"position_biased_input", deberta.position_table},
          {"pos_att_type", written_terms(deberta)},
          {"share_att_key", deberta.shares_weights},
          {"norm_rel_ebd", std::string(deberta.table_norm ? "layer_norm" : "none")},
          {"pooler_hidden_size", config.hidden_size},
          {"pooler_hidden_act", std::string(name_of(deberta.pooler_activation))},
          {"pooler_dropout", deberta.pooler_dropout},
          {"cls_dropout", classifier_dropout},
          {"legacy", deberta.legacy_masked_head}};
}

// The traits of DeBERTa-v3.
void make_new_deberta(ModelConfig& config) {
  config.type_vocab_size = 0;
  config.layer_norm_eps = 1e-7;
  config.deberta = {.relative = true,
                    .content_to_position = true,
                    .position_to_content = true,
                    .shares_weights = true,
                    .buckets = 256,
                    .table_norm = true,
                    .position_table = false};
}

HeadForm deberta_head(const ModelConfig& config) {
  if (config.task == Task::kQuestionAnswering) return {.output = "qa_outputs"};
  if (config.task == Task::kTokenClassification) {
    return {.output = "classifier", .dropout = config.hidden_dropout};
  }
  return {.dense = "pooler.dense",  // not of the encoder: pre-trained models have none
          .activation = config.deberta.pooler_activation,
          .dense_dropout = config.deberta.pooler_dropout,
          .output = "classifier",
          .dropout = config.classifier_dropout};
}

MaskedHeadNames masked_head_names(const ModelConfig& config) {
  if (config.deberta.legacy_masked_head) {
    return {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
            "cls.predictions"};
  }
  return {"lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm",
          "lm_predictions.lm_head"};
}

}  // namespace

constinit const ModelFamily kDebertaV2Family = {
    .name = "deberta-v2",
    .class_name = "DebertaV2",
    .keys = {kDebertaKeys, &keys_of::kAnyConfig},
    .tensors = {.prefix = "deberta.",
                .word = "deberta.embeddings.word_embeddings",
                .position = "deberta.embeddings.position_embeddings",
                .type = "deberta.embeddings.token_type_embeddings",
                .embedding_norm = "deberta.embeddings.LayerNorm",
                .layer = "deberta.encoder.layer.",
                .query = ".attention.self.query_proj",
                .key = ".attention.self.key_proj",
                .value = ".attention.self.value_proj",
                .out = ".attention.output.dense",
                .norm1 = ".attention.output.LayerNorm",
                .up = ".intermediate.dense",
                .down = ".output.dense",
                .norm2 = ".output.LayerNorm",
                .distance_table = "deberta.encoder.rel_embeddings",
                .distance_norm = "deberta.encoder.LayerNorm",
                .distance_key = ".attention.self.pos_key_proj",
                .distance_query = ".attention.self.pos_query_proj"},
    .drops_attention_output = true,
    .sees_padding = false,
    .head = deberta_head,
    .masked_head = masked_head_names,
    .read = read_deberta,
    .write = write_deberta,
    .make_new = make_new_deberta};

}  // namespace dtl::trainer
