// BERT, as in transformers' BertModel. The defaults are those of BertConfig.
#include "trainer/families/bert_keys.h"

namespace dtl::trainer {
namespace {

using enum KeyUse;

// One row per line is easier to read.
// clang-format off
constexpr KnownKey kBertKeys[] = {
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
    .keys = {kBertKeys, &keys_of::kBertLike},
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
    .read = read_bert_keys,
    .write = write_bert_keys};

}  // namespace dtl::trainer
