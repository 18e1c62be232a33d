// DistilBERT, as in transformers' DistilBertModel. The defaults are those of DistilBertConfig.
#include "trainer/families/model_family.h"

namespace dtl::trainer {
namespace {

using enum KeyUse;

// One row per line is easier to read.
// clang-format off
constexpr KnownKey kDistilBertKeys[] = {
    {"dim", kUsed},
    {"n_layers", kUsed},
    {"n_heads", kUsed},
    {"hidden_dim", kUsed},
    {"hidden_size", kUsed},  // aliases of the first three keys
    {"num_hidden_layers", kUsed},
    {"num_attention_heads", kUsed},
    {"activation", kUsed},
    {"dropout", kUsed},
    {"attention_dropout", kUsed},
    {"seq_classif_dropout", kUsed},
    {"qa_dropout", kUsed},
    {"sinusoidal_pos_embds", kUsed},
};
// clang-format on

void make_new_distilbert(ModelConfig& config) {
  config.type_vocab_size = 0;
}

void read_distilbert(const ConfigKeys& keys, ModelConfig& config) {
  // DistilBertConfig's defaults, where they differ from BERT's, which are ModelConfig's.
  config.layers = 6;
  config.classifier_dropout = 0.2;
  make_new_distilbert(config);
  keys.size("dim", config.hidden_size);
  keys.layers("n_layers", config.layers);
  keys.size("n_heads", config.heads);
  keys.size("hidden_dim", config.intermediate_size);
  // BERT's names for the same three sizes take precedence.
  keys.size("hidden_size", config.hidden_size);
  keys.layers("num_hidden_layers", config.layers);
  keys.size("num_attention_heads", config.heads);
  keys.fraction("dropout", config.hidden_dropout);
  keys.fraction("attention_dropout", config.attention_dropout);
  keys.fraction("seq_classif_dropout", config.classifier_dropout);
  keys.fraction("qa_dropout", config.qa_dropout);
  config.sinusoidal_positions = keys.flag("sinusoidal_pos_embds");
  config.activation = keys.activation("activation");
}

ConfigEntries write_distilbert(const ModelConfig& config) {
  return {{"dim", config.hidden_size},
          {"n_layers", config.layers},
          {"n_heads", config.heads},
          {"hidden_dim", config.intermediate_size},
          {"activation", config.activation},
          {"dropout", config.hidden_dropout},
          {"attention_dropout", config.attention_dropout},
          {"seq_classif_dropout", config.classifier_dropout},
          {"qa_dropout", config.qa_dropout},
          {"sinusoidal_pos_embds", config.sinusoidal_positions}};
}

HeadForm distilbert_head(const ModelConfig& config) {
  if (config.task == Task::kQuestionAnswering) {
    return {.output = "qa_outputs", .dropout = config.qa_dropout};
  }
  if (config.task == Task::kTokenClassification) {
    return {.output = "classifier", .dropout = config.hidden_dropout};
  }
  return {.dense = "pre_classifier",
          .activation = HeadActivation::kRelu,
          .output = "classifier",
          .dropout = config.classifier_dropout};
}

}  // namespace

constinit const ModelFamily kDistilBertFamily = {
    .name = "distilbert",
    .class_name = "DistilBert",
    .keys = {kDistilBertKeys, &keys_of::kAnyConfig},
    .tensors = {.prefix = "distilbert.",
                .word = "distilbert.embeddings.word_embeddings",
                .position = "distilbert.embeddings.position_embeddings",
                .type = "",
                .embedding_norm = "distilbert.embeddings.LayerNorm",
                .layer = "distilbert.transformer.layer.",
                .query = ".attention.q_lin",
                .key = ".attention.k_lin",
                .value = ".attention.v_lin",
                .out = ".attention.out_lin",
                .norm1 = ".sa_layer_norm",
                .up = ".ffn.lin1",
                .down = ".ffn.lin2",
                .norm2 = ".output_layer_norm",
                .masked_dense = "vocab_transform",
                .masked_norm = "vocab_layer_norm",
                .masked_output = "vocab_projector"},
    .drops_attention_output = false,
    .head = distilbert_head,
    .read = read_distilbert,
    .write = write_distilbert,
    .make_new = make_new_distilbert};

}  // namespace dtl::trainer
