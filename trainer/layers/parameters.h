#pragma once
// The place of each tensor in the flat array of parameters (gradients, moments), and its name in a
// Hugging Face checkpoint. Tensors are in the order of the forward pass, so backward completes
// gradients from the end of the array to its beginning. Blocks of the array: embeddings, layer 0 ..
// L-1, head.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/families/model_config.h"

namespace dtl::trainer {

enum class InitialValue { kNormal, kZero, kOne };

// Of a normal initial value: its standard deviation, 0 for the config's initializer_range; and the
// most deviations from 0, 0 for any.
struct NormalShape {
  double deviation = 0, cutoff = 0;
};

struct ParameterInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;
  std::int64_t count = 0;
  InitialValue initial = InitialValue::kNormal;
  NormalShape normal = {};
  bool decay = false;  // weight decay: not for biases and layer norms
  bool head = false;   // belongs to the task, so a pre-trained encoder lacks it
};

// Disentangled attention (families/deberta_config.h); -1: none. The table and its norm belong to
// the embeddings' block. The projections are the layer's own, or those of its keys and queries.
struct DistanceOffsets {
  std::int64_t table = -1;                        // [2 * span, H]
  std::int64_t norm_weight = -1, norm_bias = -1;  // [H]
  std::int64_t key_weight = -1, key_bias = -1;    // [H, H], [H]: content to position
  std::int64_t query_weight = -1, query_bias = -1;
};

// -1: none, in pre-norm layers.
struct LayerOffsets {
  std::int64_t qkv_weight, qkv_bias;  // [3H, H], [3H]: query, key, value one after the other
  std::int64_t out_weight, out_bias;  // [H, H], [H]
  std::int64_t norm1_weight, norm1_bias;
  std::int64_t up_weight, up_bias;      // [I, H], [I]; gated: [2I, H], [2I]
  std::int64_t down_weight, down_bias;  // [H, I], [H]
  std::int64_t norm2_weight, norm2_bias;
  std::int64_t final_weight = -1, final_bias = -1;  // the norm after a last layer
  DistanceOffsets distances;
  // [kRelativeBuckets, A], one table for all layers; -1: none. It is among the embeddings, since
  // its gradient is complete after the lowest layer.
  std::int64_t relative_bias = -1;
};

struct DenseOffsets {
  std::int64_t weight, bias;  // [out, in], [out]; bias -1: none
};

struct Block {
  std::int64_t begin, end;
};

struct ParameterLayout {
  std::vector<ParameterInfo> tensors;
  std::int64_t total = 0;  // elements, with gaps that align tensors (their gradients stay 0)
  std::int64_t word = 0, position = -1, type = -1;  // -1: none
  std::int64_t after_words = 0;                     // where the next tensor begins
  std::int64_t embedding_norm_weight = 0, embedding_norm_bias = -1;
  std::int64_t project_weight = -1, project_bias = -1;  // [H, E], [H]; -1: none
  std::int64_t relative_bias = -1;                      // see LayerOffsets
  std::vector<LayerOffsets> layers;
  // [H, H], [H]: the head's dense layer; or [E, H], [E], of a masked language model; -1: none.
  std::int64_t pool_weight = -1, pool_bias = -1;
  std::int64_t head_norm_weight = -1, head_norm_bias = -1;  // [H], or [E]; -1: none
  std::int64_t class_weight = 0, class_bias = -1;           // [O, H], [O]: the output layer
  std::vector<DenseOffsets> dense;                          // of a model that makes embeddings
  std::vector<Block> blocks;
};

ParameterLayout layout_parameters(const ModelConfig& config);

// Where the parameters begin that are trained if the embeddings and the first layers are frozen;
// frozen_layers 0: at the first, since then the embeddings are trained, too.
std::int64_t trained_begin(const ParameterLayout& layout, int frozen_layers);

// Parameters without gaps, as in a model card.
std::int64_t parameter_count(const ParameterLayout& layout, int frozen_layers = 0);

// Fills one tensor with 0, 1 or N(0, range), or as its shape says. Numbers depend only on seed and
// the tensor's name.
void initialise(const ParameterInfo& tensor, double range, std::uint64_t seed, float* parameters);

// FNV-1a with 64 bits, one float's bits at a time: equal on all ranks after every step.
std::uint64_t parameter_hash(const std::vector<float>& parameters);

}  // namespace dtl::trainer
