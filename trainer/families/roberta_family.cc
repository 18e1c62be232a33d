// RoBERTa, as in transformers' RobertaModel, and models of the same code with other vocabularies:
// XLM-RoBERTa and CamemBERT. The defaults are those of their configuration classes.
#include "trainer/families/bert_keys.h"

namespace dtl::trainer {
namespace {

void read_roberta(const ConfigKeys& keys, ModelConfig& config) {
  config.pad_token_id = 1;
  if (config.type == ModelType::kRoberta) config.vocab_size = 50265;
  read_bert_keys(keys, config);
}

// As published models: <s> is 0, <pad> 1, </s> 2, and texts of a pair have the same type.
void make_new_roberta(ModelConfig& config) {
  config.pad_token_id = 1;
  config.type_vocab_size = 1;
  config.layer_norm_eps = 1e-5;
}

int first_roberta_position(const ModelConfig& config) {
  return config.pad_token_id + 1;
}

HeadForm roberta_head(const ModelConfig& config) {
  switch (config.task) {
    case Task::kQuestionAnswering:
      return {.output = "qa_outputs"};
    case Task::kTokenClassification:
      return {.output = "classifier", .dropout = config.classifier_dropout};
    case Task::kMultipleChoice:
      return {.dense = "roberta.pooler.dense",
              .dense_is_of_encoder = true,
              .output = "classifier",
              .dropout = config.hidden_dropout};
    default:
      return {.dense = "classifier.dense",
              .dense_dropout = config.classifier_dropout,
              .output = "classifier.out_proj",
              .dropout = config.classifier_dropout};
  }
}

constexpr ModelFamily roberta(std::string_view name, std::string_view class_name) {
  return {.name = name,
          .class_name = class_name,
          .keys = {{}, &keys_of::kBertLike},
          .tensors = {.prefix = "roberta.",
                      .word = "roberta.embeddings.word_embeddings",
                      .position = "roberta.embeddings.position_embeddings",
                      .type = "roberta.embeddings.token_type_embeddings",
                      .embedding_norm = "roberta.embeddings.LayerNorm",
                      .layer = "roberta.encoder.layer.",
                      .query = ".attention.self.query",
                      .key = ".attention.self.key",
                      .value = ".attention.self.value",
                      .out = ".attention.output.dense",
                      .norm1 = ".attention.output.LayerNorm",
                      .up = ".intermediate.dense",
                      .down = ".output.dense",
                      .norm2 = ".output.LayerNorm",
                      .masked_dense = "lm_head.dense",
                      .masked_norm = "lm_head.layer_norm",
                      .masked_output = "lm_head"},
          .drops_attention_output = true,
          .masked_activation = always_gelu,
          .first_position = first_roberta_position,
          .head = roberta_head,
          .read = read_roberta,
          .write = write_bert_keys,
          .make_new = make_new_roberta};
}

}  // namespace

constinit const ModelFamily kRobertaFamily = roberta("roberta", "Roberta");
constinit const ModelFamily kXlmRobertaFamily = roberta("xlm-roberta", "XLMRoberta");
constinit const ModelFamily kCamembertFamily = roberta("camembert", "Camembert");

}  // namespace dtl::trainer
