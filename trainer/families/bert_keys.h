#pragma once
// Keys of config.json that BERT shares with later encoders, so that each family's file has only
// what differs. Pure; errors are those of ConfigKeys.

#include "trainer/families/model_family.h"

namespace dtl::trainer {

namespace keys_of {
extern const KnownKeys kEncoder;   // sizes, activation and dropout; with those of every family
extern const KnownKeys kBertLike;  // also types of texts, the classifier's dropout, positions
}  // namespace keys_of

void read_encoder_keys(const ConfigKeys& keys, ModelConfig& config);
ConfigEntries write_encoder_keys(const ModelConfig& config);

void read_bert_keys(const ConfigKeys& keys, ModelConfig& config);
ConfigEntries write_bert_keys(const ModelConfig& config);

}  // namespace dtl::trainer
