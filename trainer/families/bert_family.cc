// BERT, as in transformers' BertModel. The defaults are those of BertConfig.
#include <fmt/format.h>

#include "trainer/families/model_family.h"

namespace dtl::trainer {
namespace {

using enum KeyUse;

// One row per line is easier to read.
// clang-format off
constexpr KnownKey kBertKeys[] = {
    {"hidden_size", kUsed},
    {"num_hidden_layers", kUsed},
    {"num_attention_heads", kUsed},
    {"intermediate_size", kUsed},
    {"type_vocab_size", kUsed},
    {"hidden_act", kUsed},
    {"hidden_dropout_prob", kUsed},
    {"attention_probs_dropout_prob", kUsed},
    {"classifier_dropout", kUsed},
    {"layer_norm_eps", kUsed},
    {"position_embedding_type", kUsed},
    // Keys in Google's releases and in distilled models. BertModel reads none of them.
    {"directionality", kOnly, "\"bidi\"", "only attention to both sides can be run"},
    {"pooler_fc_size", kHarmless},
    {"pooler_num_attention_heads", kHarmless},
    {"pooler_num_fc_layers", kHarmless},
    {"pooler_size_per_head", kHarmless},
    {"pooler_type", kHarmless},
    {"emb_size", kHarmless},
    {"cell", kHarmless},
    {"structure", kHarmless},
    {"pre_trained", kHarmless},
    {"training", kHarmless},
    {"summary_activation", kHarmless},
    {"summary_first_dropout", kHarmless},
    {"summary_last_dropout", kHarmless},
    {"summary_proj_to_labels", kHarmless},
    {"summary_type", kHarmless},
    {"summary_use_proj", kHarmless},
};
// clang-format on

void read_bert(const ConfigKeys& keys, ModelConfig& config) {
  keys.size("hidden_size", config.hidden_size);
  keys.layers("num_hidden_layers", config.layers);
  keys.size("num_attention_heads", config.heads);
  keys.size("intermediate_size", config.intermediate_size);
  keys.size("type_vocab_size", config.type_vocab_size);
  keys.fraction("hidden_dropout_prob", config.hidden_dropout);
  keys.fraction("attention_probs_dropout_prob", config.attention_dropout);
  // A null or missing key means hidden_dropout_prob. The next line overrides that default.
  config.classifier_dropout = config.hidden_dropout;
  keys.fraction("classifier_dropout", config.classifier_dropout);
  keys.fraction("layer_norm_eps", config.layer_norm_eps);
  config.activation = keys.activation("hidden_act");
  const std::string positions = keys.text("position_embedding_type");
  if (!positions.empty() && positions != "absolute") {
    keys.refuse("position_embedding_type",
                fmt::format("only absolute positions can be run, not '{}'", positions));
  }
}

ConfigEntries write_bert(const ModelConfig& config) {
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
          {"classifier_dropout", classifier_dropout},
          {"type_vocab_size", config.type_vocab_size},
          {"layer_norm_eps", config.layer_norm_eps},
          {"position_embedding_type", std::string("absolute")}};
}

HeadForm bert_head(const ModelConfig& config) {
  if (config.task == Task::kQuestionAnswering) return {.output = "qa_outputs"};
  HeadForm form{.output = "classifier", .dropout = config.classifier_dropout};
  if (config.task == Task::kTokenClassification) return form;
  form.dense = "bert.pooler.dense";
  form.dense_is_of_encoder = true;
  return form;
}

}  // namespace

constinit const ModelFamily kBertFamily = {
    .name = "bert",
    .class_name = "Bert",
    .keys = {kBertKeys, &keys_of::kAnyConfig},
    .tensors = {.prefix = "bert.",
                .word = "bert.embeddings.word_embeddings",
                .position = "bert.embeddings.position_embeddings",
                .type = "bert.embeddings.token_type_embeddings",
                .embedding_norm = "bert.embeddings.LayerNorm",
                .layer = "bert.encoder.layer.",
                .query = ".attention.self.query",
                .key = ".attention.self.key",
                .value = ".attention.self.value",
                .out = ".attention.output.dense",
                .norm1 = ".attention.output.LayerNorm",
                .up = ".intermediate.dense",
                .down = ".output.dense",
                .norm2 = ".output.LayerNorm",
                .masked_dense = "cls.predictions.transform.dense",
                .masked_norm = "cls.predictions.transform.LayerNorm",
                .masked_output = "cls.predictions"},
    .drops_attention_output = true,
    .head = bert_head,
    .read = read_bert,
    .write = write_bert};

}  // namespace dtl::trainer
