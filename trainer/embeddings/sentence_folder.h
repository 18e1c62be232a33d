#pragma once
// Folders of sentence-transformers: an encoder with modules after it (modules.json, 1_Pooling,
// 2_Dense, 3_Normalize), the length of texts (sentence_bert_config.json), and prompts
// (config_sentence_transformers.json). Reads what its versions 2 to 6 write; all of them load what
// is written. Only rank 0 uses it. Errors are Error(kBadInput) naming file and key: what cannot be
// computed here is refused, not skipped.

#include <string>

#include "trainer/families/embedding_config.h"
#include "trainer/files/tensor.h"

namespace dtl::trainer {

// Whether the folder has a modules.json. Other folders are encoders alone.
bool is_sentence_folder(const std::string& folder);

// Where the encoder's files are: in the folder itself or, as version 1 and earlier wrote, in its
// 0_Transformer.
std::string encoder_folder(const std::string& folder);

// hidden_size: of the encoder. For an encoder alone: the mean of a text's tokens, as
// sentence-transformers does.
EmbeddingConfig read_sentence_folder(const std::string& folder, int hidden_size);

// The weights of the dense modules, as "dense.0.linear.weight". Empty for an encoder alone.
TensorMap read_dense_tensors(const std::string& folder);

// Whether a tensor of this name is in the folder of a dense module.
bool is_dense_tensor(const std::string& name);

// Writes all but the encoder's files: config.json, the weights and the tokenizer's files. `dense`:
// the tensors named as above. Throws Error(kCannotWrite).
void write_sentence_folder(const std::string& folder, const EmbeddingConfig& config,
                           int hidden_size, const TensorMap& dense);

// "mean", as --pooling and sentence-transformers name it; pooling_named() is the inverse.
std::string pooling_name(TextPooling pooling);
bool pooling_named(const std::string& name, TextPooling& pooling);

}  // namespace dtl::trainer
