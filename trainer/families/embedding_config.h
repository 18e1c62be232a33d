#pragma once
// What follows the encoder in a model that makes embeddings of texts: pooling over a text's tokens,
// dense layers, and a division by the length. A plain value; the modules of a sentence-transformers
// folder (Pooling, Dense, Normalize).

#include <string>
#include <utility>
#include <vector>

namespace dtl::trainer {

// Over the tokens of a text, special tokens included: the first one; the mean; the largest of each
// column; the sum divided by the root of the number of tokens; the mean with weights 1, 2, ..; the
// last one.
enum class TextPooling { kCls, kMean, kMax, kMeanSqrtLength, kWeightedMean, kLastToken };

enum class DenseActivation { kIdentity, kTanh, kRelu, kGelu, kSigmoid };

// y = activation(x W^T + b).
struct DenseLayer {
  int outputs = 0;
  bool bias = true;
  DenseActivation activation = DenseActivation::kTanh;  // sentence-transformers' default
  bool operator==(const DenseLayer&) const = default;
};

struct EmbeddingConfig {
  TextPooling pooling = TextPooling::kMean;
  std::vector<DenseLayer> dense = {};
  bool normalize = false;  // divides each embedding by its L2 norm, as torch's normalize

  // Rank 0 only: texts that come before a text, by name: {"query", "query: "}.
  std::vector<std::pair<std::string, std::string>> prompts = {};
  std::string default_prompt = {};  // a name; empty: none
  int max_length = 0;               // most tokens of a text; 0: the folder does not say
  bool lower_case = false;          // the tokenizer gets texts in lower case
  std::string similarity = {};      // similarity_fn_name; empty: cosine
  bool operator==(const EmbeddingConfig&) const = default;
};

}  // namespace dtl::trainer
