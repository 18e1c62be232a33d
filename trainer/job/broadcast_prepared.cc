// share(): broadcasts from rank 0 to all, as one block of bytes and the parameters. The block has
// no file format: all ranks run the same program on the same architecture. Data that only rank 0
// needs (questions, features, the tokenizer) is not sent.

#include <cassert>
#include <cstring>
#include <type_traits>

#include "trainer/job/load_inputs.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kSizesTag = 0xFFFF0010;
constexpr std::uint64_t kFileTag = 0xFFFF0011;
constexpr std::uint64_t kParametersTag = 0xFFFF0012;

// Writes values one after the other: numbers as in memory, sequences after their length.
class Packer {
 public:
  template <class T>
  void operator()(T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    append(&value, sizeof value);
  }
  void operator()(std::string& text) { sequence(text); }
  template <class T>
  void operator()(std::vector<T>& values) {
    if constexpr (std::is_arithmetic_v<T>) {
      sequence(values);
    } else {
      std::uint64_t count = values.size();
      (*this)(count);
      for (T& value : values) (*this)(value);
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class Sequence>
  void sequence(Sequence& values) {
    std::uint64_t count = values.size();
    (*this)(count);
    append(values.data(), count * sizeof values[0]);
  }
  void append(const void* data, std::size_t count) {
    bytes_.append(static_cast<const char*>(data), count);
  }
  std::string bytes_;
};

// Reads what a Packer wrote. visit() gives both the same order.
class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  void operator()(T& value) {
    copy(&value, sizeof value);
  }
  void operator()(std::string& text) { sequence(text); }
  template <class T>
  void operator()(std::vector<T>& values) {
    if constexpr (std::is_arithmetic_v<T>) {
      sequence(values);
    } else {
      std::uint64_t count = 0;
      (*this)(count);
      values.resize(count);
      for (T& value : values) (*this)(value);
    }
  }

 private:
  template <class Sequence>
  void sequence(Sequence& values) {
    std::uint64_t count = 0;
    (*this)(count);
    values.resize(count);
    copy(values.data(), count * sizeof values[0]);
  }
  void copy(void* to, std::size_t count) {
    // Only a bug can break this: the bytes come from this program.
    assert(count <= bytes_.size() - at_);
    if (count > 0) std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

template <class Visitor>
void visit(Visitor& v, Examples& examples) {
  // A structured binding names every field, so a new field of Examples does not compile here until
  // somebody adds it.
  auto& [ids, types, starts, texts, labels, targets, answer_starts, answer_ends, token_labels,
         masking, cut] = examples;
  v(ids), v(types), v(starts), v(texts), v(labels), v(targets), v(answer_starts), v(answer_ends);
  v(token_labels);
  v(masking.probability), v(masking.whole_words), v(masking.mask_token), v(masking.kinds);
  static_cast<void>(cut);  // only rank 0 prints it
}

template <class Visitor>
void visit(Visitor& v, EmbeddingConfig& config) {
  auto& [pooling, dense, normalize, prompts, default_prompt, max_length, lower_case, similarity] =
      config;
  v(pooling), v(normalize);
  std::uint64_t count = dense.size();
  v(count);
  dense.resize(count);
  for (DenseLayer& layer : dense) v(layer.outputs), v(layer.bias), v(layer.activation);
  // Only rank 0 reads texts and writes folders.
  static_cast<void>(prompts), static_cast<void>(default_prompt), static_cast<void>(max_length);
  static_cast<void>(lower_case), static_cast<void>(similarity);
}

template <class Visitor>
void visit(Visitor& v, DebertaConfig& config) {
  auto& [relative, content_to_position, position_to_content, shares_weights, buckets, max_distance,
         table_norm, position_table, legacy_masked_head, pooler_activation, pooler_dropout] =
      config;
  v(relative), v(content_to_position), v(position_to_content), v(shares_weights), v(buckets);
  v(max_distance), v(table_norm), v(position_table), v(legacy_masked_head), v(pooler_activation);
  v(pooler_dropout);
}

template <class Visitor>
void visit(Visitor& v, PreNormConfig& config) {
  auto& [global_every, local, local_attention, global_theta, local_theta, feed_forward_dropout,
         head_activation, attention_bias, feed_forward_bias, norm_bias, head_bias, masked_bias,
         initializer_cutoff] = config;
  v(global_every), v(local), v(local_attention), v(global_theta), v(local_theta);
  v(feed_forward_dropout), v(head_activation), v(attention_bias), v(feed_forward_bias);
  v(norm_bias), v(head_bias), v(masked_bias), v(initializer_cutoff);
}

// Visits every field. The compiler rejects a list that lacks one.
template <class Visitor>
void visit(Visitor& v, ModelConfig& config) {
  auto& [type, vocab_size, hidden_size, embedding_size, layers, heads, intermediate_size,
         max_positions, type_vocab_size, activation, hidden_dropout, attention_dropout,
         classifier_dropout, summary_dropout, layer_norm_eps, initializer_range, pad_token_id,
         qa_dropout, sinusoidal_positions, deberta, labels, task, problem, classifier_pooling,
         pre_norm, columns, loss, embedding, score_activation, architectures, kept] = config;
  v(type), v(vocab_size), v(hidden_size), v(embedding_size), v(layers), v(heads),
      v(intermediate_size);
  v(max_positions), v(type_vocab_size), v(activation), v(hidden_dropout), v(attention_dropout);
  v(classifier_dropout), v(summary_dropout), v(layer_norm_eps), v(initializer_range),
      v(pad_token_id), v(qa_dropout);
  v(sinusoidal_positions), v(labels), v(task), v(problem), v(classifier_pooling);
  visit(v, deberta), visit(v, pre_norm), visit(v, embedding);
  // Only rank 0 reads data and writes folders.
  static_cast<void>(columns), static_cast<void>(score_activation), static_cast<void>(kept);
  static_cast<void>(architectures), static_cast<void>(loss);
}

template <class Visitor>
void visit(Visitor& v, HeadLoss& loss) {
  auto& [label_smoothing, focal_gamma, label_weights, softmax] = loss;
  v(label_smoothing), v(focal_gamma), v(label_weights), v(softmax);
}

// Visits every field that the ranks share, for both directions.
template <class Visitor>
void visit(Visitor& v, Prepared& p) {
  visit(v, p.config), v(p.length), visit(v, p.loss), visit(v, p.train);
  for (std::vector<Questioned>* sets : {&p.evaluation, &p.test}) {
    std::uint64_t count = sets->size();
    v(count);
    sets->resize(count);
    for (Questioned& set : *sets) visit(v, set.examples);
  }
}

}  // namespace

void share(Ranks& group, Prepared& prepared) {
  if (group.size() == 1) return;
  std::string bytes;
  if (group.rank() == 0) {
    Packer packer;
    visit(packer, prepared);
    bytes = packer.take();
  }
  // The other ranks get the sizes first, to allocate. Parameters go straight into their array,
  // because they are by far the largest part.
  std::uint64_t sizes[2] = {bytes.size(), prepared.parameters.size()};
  group.broadcast(sizes, sizeof sizes, kSizesTag);
  bytes.resize(sizes[0]);
  prepared.parameters.resize(sizes[1]);
  group.broadcast(bytes.data(), bytes.size(), kFileTag);
  group.broadcast(prepared.parameters.data(), sizes[1] * sizeof(float), kParametersTag);
  if (group.rank() != 0) {
    Unpacker unpacker(bytes);
    visit(unpacker, prepared);
  }
}

}  // namespace dtl::trainer
