// ELECTRA, as in transformers' ElectraModel: discriminators and generators. The defaults are those
// of ElectraConfig.
#include "trainer/families/bert_keys.h"

namespace dtl::trainer {
namespace {

using enum KeyUse;

constexpr const char* kSummary = "only the usual head for multiple choice can be run";

// One row per line is easier to read.
// clang-format off
constexpr KnownKey kElectraKeys[] = {
    {"embedding_size", kUsed},
    {"summary_last_dropout", kUsed},
    {"summary_type", kOnly, "\"first\"", kSummary},
    {"summary_use_proj", kOnly, "true", kSummary},
    {"summary_activation", kOnly, "\"gelu\"", kSummary},
    {"summary_first_dropout", kOnly, "0 0.0", kSummary},
    {"summary_proj_to_labels", kOnly, "false", kSummary},
};
// clang-format on

void read_electra(const ConfigKeys& keys, ModelConfig& config) {
  config.hidden_size = 256;
  config.heads = 4;
  config.intermediate_size = 1024;
  config.embedding_size = 128;
  read_bert_keys(keys, config);
  keys.size("embedding_size", config.embedding_size);
  keys.fraction("summary_last_dropout", config.summary_dropout);
}

ConfigEntries write_electra(const ModelConfig& config) {
  ConfigEntries entries = write_bert_keys(config);
  entries.emplace_back("embedding_size", embedding_width(config));
  entries.emplace_back("summary_last_dropout", config.summary_dropout);
  return entries;
}

HeadForm electra_head(const ModelConfig& config) {
  switch (config.task) {
    case Task::kQuestionAnswering:
      return {.output = "qa_outputs"};
    case Task::kTokenClassification:
      return {.output = "classifier", .dropout = config.classifier_dropout};
    case Task::kMultipleChoice:
      return {.dense = "sequence_summary.summary",
              .activation = HeadActivation::kGelu,
              .output = "classifier",
              .dropout = config.summary_dropout};
    default:
      return {.dense = "classifier.dense",
              .activation = HeadActivation::kGelu,
              .dense_dropout = config.classifier_dropout,
              .output = "classifier.out_proj",
              .dropout = config.classifier_dropout};
  }
}

}  // namespace

constinit const ModelFamily kElectraFamily = {
    .name = "electra",
    .class_name = "Electra",
    .keys = {kElectraKeys, &keys_of::kBertLike},
    .tensors = {.prefix = "electra.",
                .word = "electra.embeddings.word_embeddings",
                .position = "electra.embeddings.position_embeddings",
                .type = "electra.embeddings.token_type_embeddings",
                .embedding_norm = "electra.embeddings.LayerNorm",
                .project = "electra.embeddings_project",
                .layer = "electra.encoder.layer.",
                .query = ".attention.self.query",
                .key = ".attention.self.key",
                .value = ".attention.self.value",
                .out = ".attention.output.dense",
                .norm1 = ".attention.output.LayerNorm",
                .up = ".intermediate.dense",
                .down = ".output.dense",
                .norm2 = ".output.LayerNorm",
                .masked_dense = "generator_predictions.dense",
                .masked_norm = "generator_predictions.LayerNorm",
                .masked_output = "generator_lm_head"},
    .drops_attention_output = true,
    .masked_activation = always_gelu,
    .head = electra_head,
    .read = read_electra,
    .write = write_electra};

}  // namespace dtl::trainer
