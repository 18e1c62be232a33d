// The only place that defines the order of tensors and their offsets. Names come from the family
// (files/model_family.h).
#include "trainer/layers/parameters.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/layers/mix.h"

namespace dtl::trainer {
namespace {

constexpr std::int64_t kAlign = 16;  // floats in a cache line

std::int64_t aligned(std::int64_t offset) {
  return (offset + kAlign - 1) / kAlign * kAlign;
}

// Appends tensors to a layout in call order. weight() decays; bias() and norm() do not, as in
// transformers' Trainer.
class Builder {
 public:
  explicit Builder(ParameterLayout& layout) : layout_(layout) {}

  // `align` false: directly after the previous tensor. Query, key and value form one matrix.
  std::int64_t add(const std::string& name, std::vector<std::int64_t> shape, bool decay,
                   InitialValue initial, bool align = true) {
    ParameterInfo info;
    info.name = name;
    info.count = 1;
    for (const std::int64_t extent : shape) info.count *= extent;
    info.shape = std::move(shape);
    info.offset = align ? aligned(layout_.total) : layout_.total;
    info.decay = decay;
    info.initial = initial;
    info.head = head;
    if (initial == InitialValue::kNormal) info.normal = normal;
    layout_.total = info.offset + info.count;
    layout_.tensors.push_back(info);
    return info.offset;
  }
  std::int64_t weight(const std::string& name, std::vector<std::int64_t> shape) {
    return add(name + ".weight", std::move(shape), true, InitialValue::kNormal);
  }
  std::int64_t bias(const std::string& name, std::int64_t size) {
    return add(name + ".bias", {size}, false, InitialValue::kZero);
  }
  std::int64_t norm(const std::string& name, std::int64_t size) {  // then its bias, aligned
    return add(name + ".weight", {size}, false, InitialValue::kOne);
  }
  void close_block() {
    layout_.total = aligned(layout_.total);
    const std::int64_t begin = layout_.blocks.empty() ? 0 : layout_.blocks.back().end;
    layout_.blocks.push_back({begin, layout_.total});
  }

  // A bias or norm that there may not be; -1: none.
  std::int64_t bias_if(bool has, const std::string& name, std::int64_t size) {
    return has ? bias(name, size) : -1;
  }

  bool head = false;
  NormalShape normal = {};  // of the next weights

 private:
  ParameterLayout& layout_;
};

// H and I are the hidden and intermediate size, as in formulas.
LayerOffsets add_layer(Builder& build, const TensorNames& names, int number, std::int64_t H,
                       std::int64_t I) {
  const auto named = [&](std::string_view part) {
    return fmt::format("{}{}{}", names.layer, number, part);
  };
  LayerOffsets at{};
  const auto normal = InitialValue::kNormal;
  const auto zero = InitialValue::kZero;
  // Three named tensors, but one matrix in memory: so the last two are not aligned.
  at.qkv_weight = build.add(named(names.query) + ".weight", {H, H}, true, normal);
  build.add(named(names.key) + ".weight", {H, H}, true, normal, false);
  build.add(named(names.value) + ".weight", {H, H}, true, normal, false);
  at.qkv_bias = build.add(named(names.query) + ".bias", {H}, false, zero);
  build.add(named(names.key) + ".bias", {H}, false, zero, false);
  build.add(named(names.value) + ".bias", {H}, false, zero, false);
  at.out_weight = build.weight(named(names.out), {H, H});
  at.out_bias = build.bias(named(names.out), H);
  at.norm1_weight = build.norm(named(names.norm1), H);
  at.norm1_bias = build.bias(named(names.norm1), H);
  at.up_weight = build.weight(named(names.up), {I, H});
  at.up_bias = build.bias(named(names.up), I);
  at.down_weight = build.weight(named(names.down), {H, I});
  at.down_bias = build.bias(named(names.down), H);
  at.norm2_weight = build.norm(named(names.norm2), H);
  at.norm2_bias = build.bias(named(names.norm2), H);
  return at;
}

// Initial values of pre-norm encoders: those of products that add to the residual branch are the
// smaller the more layers add to it.
struct PreNormShapes {
  NormalShape in, out, output;  // of the head's output layer
  explicit PreNormShapes(const ModelConfig& config)
      : in{config.initializer_range, config.pre_norm.initializer_cutoff},
        out{config.initializer_range / std::sqrt(2.0 * config.layers), in.cutoff},
        output{1 / std::sqrt(static_cast<double>(config.hidden_size)), in.cutoff} {}
};

// Shapes by name: the first layer has no norm before attention.
LayerOffsets add_pre_norm_layer(Builder& build, const ModelConfig& config, int number) {
  const TensorNames& names = family_of(config).tensors;
  const PreNormConfig& own = config.pre_norm;
  const PreNormShapes shapes(config);
  const std::int64_t H = config.hidden_size, I = config.intermediate_size;
  const auto named = [&](std::string_view part) {
    return fmt::format("{}{}{}", names.layer, number, part);
  };
  LayerOffsets at{};
  at.norm1_weight = number == 0 ? -1 : build.norm(named(names.norm1), H);
  at.norm1_bias = build.bias_if(number > 0 && own.norm_bias, named(names.norm1), H);
  build.normal = shapes.in;
  at.qkv_weight = build.weight(named(names.fused_qkv), {3 * H, H});
  at.qkv_bias = build.bias_if(own.attention_bias, named(names.fused_qkv), 3 * H);
  build.normal = shapes.out;
  at.out_weight = build.weight(named(names.out), {H, H});
  at.out_bias = build.bias_if(own.attention_bias, named(names.out), H);
  at.norm2_weight = build.norm(named(names.norm2), H);
  at.norm2_bias = build.bias_if(own.norm_bias, named(names.norm2), H);
  build.normal = shapes.in;
  at.up_weight = build.weight(named(names.up), {2 * I, H});
  at.up_bias = build.bias_if(own.feed_forward_bias, named(names.up), 2 * I);
  build.normal = shapes.out;
  at.down_weight = build.weight(named(names.down), {H, I});
  at.down_bias = build.bias_if(own.feed_forward_bias, named(names.down), H);
  if (number + 1 == config.layers) {
    const std::string name(names.final_norm);
    at.final_weight = build.norm(name, H);
    at.final_bias = build.bias_if(own.norm_bias, name, H);
  }
  return at;
}

void add_embeddings(Builder& build, const ModelConfig& config, ParameterLayout& layout) {
  const TensorNames& names = family_of(config).tensors;
  const std::int64_t E = embedding_width(config), H = config.hidden_size;
  if (is_pre_norm(config)) build.normal = PreNormShapes(config).in;
  layout.word = build.weight(std::string(names.word), {config.vocab_size, E});
  if (config.deberta.position_table && !names.position.empty()) {
    layout.position = build.weight(std::string(names.position), {config.max_positions, E});
  }
  if (config.type_vocab_size > 0 && !names.type.empty()) {
    layout.type = build.weight(std::string(names.type), {config.type_vocab_size, E});
  }
  layout.embedding_norm_weight = build.norm(std::string(names.embedding_norm), E);
  layout.embedding_norm_bias = build.bias_if(!is_pre_norm(config) || config.pre_norm.norm_bias,
                                             std::string(names.embedding_norm), E);
  if (E != H) {
    layout.project_weight = build.weight(std::string(names.project), {H, E});
    layout.project_bias = build.bias(std::string(names.project), H);
  }
  if (names.relative_bias.empty()) return;
  // transformers' Trainer finds "bias" in the name, so it does not decay.
  layout.relative_bias = build.add(std::string(names.relative_bias) + ".weight",
                                   {kRelativeBuckets, config.heads}, false, InitialValue::kNormal);
}

DistanceOffsets add_distance_table(Builder& build, const ModelConfig& config) {
  const TensorNames& names = family_of(config).tensors;
  const std::int64_t H = config.hidden_size;
  const std::int64_t span = table_span(config.deberta, config.max_positions);
  DistanceOffsets at;
  if (config.deberta.relative) {
    at.table = build.weight(std::string(names.distance_table), {2 * span, H});
  }
  if (config.deberta.table_norm) {
    at.norm_weight = build.norm(std::string(names.distance_norm), H);
    at.norm_bias = build.bias(std::string(names.distance_norm), H);
  }
  return at;
}

// A layer's own projections of the table. They come before its other tensors, so that they are not
// reported as complete before them.
void add_distance_projections(Builder& build, const ModelConfig& config, int number,
                              DistanceOffsets& at) {
  const TensorNames& names = family_of(config).tensors;
  const std::int64_t H = config.hidden_size;
  const auto add = [&](std::string_view part, std::int64_t& weight, std::int64_t& bias) {
    const std::string name = fmt::format("{}{}{}", names.layer, number, part);
    weight = build.weight(name, {H, H});
    bias = build.bias(name, H);
  };
  if (config.deberta.content_to_position) add(names.distance_key, at.key_weight, at.key_bias);
  if (config.deberta.position_to_content) add(names.distance_query, at.query_weight, at.query_bias);
}

// The projections that the table shares with the layer's queries and keys, which come first and
// second in its qkv matrix.
void share_projections(const ModelConfig& config, LayerOffsets& at) {
  const std::int64_t H = config.hidden_size;
  if (config.deberta.content_to_position) {
    at.distances.key_weight = at.qkv_weight + H * H;
    at.distances.key_bias = at.qkv_bias + H;
  }
  if (config.deberta.position_to_content) {
    at.distances.query_weight = at.qkv_weight;
    at.distances.query_bias = at.qkv_bias;
  }
}

LayerOffsets add_encoder_layer(Builder& build, const ModelConfig& config, int number,
                               DistanceOffsets distances) {
  if (is_pre_norm(config)) return add_pre_norm_layer(build, config, number);
  const DebertaConfig& deberta = config.deberta;
  const bool own = deberta.relative && !deberta.shares_weights;
  if (own) add_distance_projections(build, config, number, distances);
  LayerOffsets at = add_layer(build, family_of(config).tensors, number, config.hidden_size,
                              config.intermediate_size);
  at.distances = distances;
  if (deberta.relative && deberta.shares_weights) share_projections(config, at);
  return at;
}

// The names of sentence-transformers' Dense modules, each in a file of its own there.
void add_dense_layers(Builder& build, const ModelConfig& config, ParameterLayout& layout) {
  build.head = true;
  std::int64_t inputs = config.hidden_size;
  for (const DenseLayer& layer : config.embedding.dense) {
    const std::string name = fmt::format("dense.{}.linear", layout.dense.size());
    DenseOffsets at{build.weight(name, {layer.outputs, inputs}), -1};
    if (layer.bias) at.bias = build.bias(name, layer.outputs);
    layout.dense.push_back(at);
    inputs = layer.outputs;
  }
}

// The output layer has a bias of its own and the weights of the word embeddings.
void add_masked_head(Builder& build, const ModelConfig& config, ParameterLayout& layout) {
  const MaskedHeadNames names = masked_head_names_of(config);
  const std::int64_t E = embedding_width(config), H = config.hidden_size;
  const bool any = !is_pre_norm(config);
  const PreNormConfig& own = config.pre_norm;
  build.head = true;
  if (!any) build.normal = PreNormShapes(config).out;
  layout.pool_weight = build.weight(std::string(names.dense), {E, H});
  layout.pool_bias = build.bias_if(any || own.head_bias, std::string(names.dense), E);
  layout.head_norm_weight = build.norm(std::string(names.norm), E);
  layout.head_norm_bias = build.bias_if(any || own.norm_bias, std::string(names.norm), E);
  layout.class_weight = layout.word;
  layout.class_bias =
      build.bias_if(any || own.masked_bias, std::string(names.output), config.vocab_size);
}

void add_head(Builder& build, const ModelConfig& config, ParameterLayout& layout) {
  if (config.task == Task::kMaskedLm) return add_masked_head(build, config, layout);
  if (config.task == Task::kEmbeddings) return add_dense_layers(build, config, layout);
  const std::int64_t H = config.hidden_size, O = output_count(config);
  const HeadForm form = family_of(config).head(config);
  if (!form.dense.empty()) {
    const std::string dense(form.dense);
    // BERT's pooler is part of the pre-trained encoder; DistilBERT's pre_classifier is not.
    build.head = !form.dense_is_of_encoder;
    if (is_pre_norm(config)) build.normal = PreNormShapes(config).out;
    layout.pool_weight = build.weight(dense, {H, H});
    layout.pool_bias = build.bias_if(form.dense_bias, dense, H);
  }
  build.head = true;
  if (!form.norm.empty()) {
    const std::string norm(form.norm);
    layout.head_norm_weight = build.norm(norm, H);
    layout.head_norm_bias = build.bias_if(form.norm_bias, norm, H);
  }
  if (is_pre_norm(config)) build.normal = PreNormShapes(config).output;
  const std::string name(form.output);
  layout.class_weight = build.weight(name, {O, H});
  layout.class_bias = build.bias(name, O);
}

}  // namespace

// In the order of the forward pass: embeddings, layers, head (parameters.h says why).
ParameterLayout layout_parameters(const ModelConfig& config) {
  ParameterLayout layout;
  Builder build(layout);
  add_embeddings(build, config, layout);
  const DistanceOffsets distances = add_distance_table(build, config);
  layout.after_words = layout.tensors[1].offset;
  build.close_block();
  for (int i = 0; i < config.layers; ++i) {
    layout.layers.push_back(add_encoder_layer(build, config, i, distances));
    layout.layers.back().relative_bias = layout.relative_bias;
    build.close_block();
  }
  add_head(build, config, layout);
  build.close_block();
  layout.after_words = layout.tensors[1].offset;
  return layout;
}

// Block 0 has the embeddings.
std::int64_t trained_begin(const ParameterLayout& layout, int frozen_layers) {
  return frozen_layers == 0 ? 0 : layout.blocks[static_cast<std::size_t>(frozen_layers)].end;
}

std::int64_t parameter_count(const ParameterLayout& layout, int frozen_layers) {
  std::int64_t count = 0;
  for (const ParameterInfo& tensor : layout.tensors) {
    if (tensor.offset >= trained_begin(layout, frozen_layers)) count += tensor.count;
  }
  return count;
}

// 64-bit FNV-1a, but by floats: a quarter of the multiplications. Includes the gaps between
// tensors, which are 0 on every rank.
std::uint64_t parameter_hash(const std::vector<float>& parameters) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const float value : parameters) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001B3;
  }
  return hash;
}

}  // namespace dtl::trainer
