// MPNet, as in transformers' MPNetModel. The defaults are those of MPNetConfig.
#include "trainer/families/bert_keys.h"

namespace dtl::trainer {
namespace {

using enum KeyUse;

// One row per line is easier to read.
// clang-format off
constexpr KnownKey kMPNetKeys[] = {
    {"relative_attention_num_buckets", kOnly, "32", "MPNetModel computes with 32"},
    {"pad_token_id", kOnly, "1", "MPNetModel takes 1 for the padding token"},
    // MPNetModel reads none of these.
    {"type_vocab_size", kHarmless},
    {"classifier_dropout", kHarmless},
    {"position_embedding_type", kHarmless},
};
// clang-format on

void make_new_mpnet(ModelConfig& config) {
  config.pad_token_id = 1;
  config.type_vocab_size = 0;
  config.layer_norm_eps = 1e-5;
}

void read_mpnet(const ConfigKeys& keys, ModelConfig& config) {
  config.pad_token_id = 1;
  config.type_vocab_size = 0;
  config.vocab_size = 30527;
  read_encoder_keys(keys, config);
}

ConfigEntries write_mpnet(const ModelConfig& config) {
  ConfigEntries entries = write_encoder_keys(config);
  entries.emplace_back("relative_attention_num_buckets", kRelativeBuckets);
  return entries;
}

int first_mpnet_position(const ModelConfig& config) {
  return config.pad_token_id + 1;
}

HeadForm mpnet_head(const ModelConfig& config) {
  switch (config.task) {
    case Task::kQuestionAnswering:
      return {.output = "qa_outputs"};
    case Task::kTokenClassification:
      return {.output = "classifier", .dropout = config.hidden_dropout};
    case Task::kMultipleChoice:
      return {.dense = "mpnet.pooler.dense",
              .dense_is_of_encoder = true,
              .output = "classifier",
              .dropout = config.hidden_dropout};
    default:
      return {.dense = "classifier.dense",
              .dense_dropout = config.hidden_dropout,
              .output = "classifier.out_proj",
              .dropout = config.hidden_dropout};
  }
}

}  // namespace

constinit const ModelFamily kMPNetFamily = {
    .name = "mpnet",
    .class_name = "MPNet",
    .keys = {kMPNetKeys, &keys_of::kEncoder},
    .tensors = {.prefix = "mpnet.",
                .word = "mpnet.embeddings.word_embeddings",
                .position = "mpnet.embeddings.position_embeddings",
                .type = "",
                .embedding_norm = "mpnet.embeddings.LayerNorm",
                .relative_bias = "mpnet.encoder.relative_attention_bias",
                .layer = "mpnet.encoder.layer.",
                .query = ".attention.attn.q",
                .key = ".attention.attn.k",
                .value = ".attention.attn.v",
                .out = ".attention.attn.o",
                .norm1 = ".attention.LayerNorm",
                .up = ".intermediate.dense",
                .down = ".output.dense",
                .norm2 = ".output.LayerNorm",
                .masked_dense = "lm_head.dense",
                .masked_norm = "lm_head.layer_norm",
                .masked_output = "lm_head"},
    .drops_attention_output = true,
    .masked_activation = always_gelu,
    .first_position = first_mpnet_position,
    .head = mpnet_head,
    .read = read_mpnet,
    .write = write_mpnet,
    .make_new = make_new_mpnet};

}  // namespace dtl::trainer
