#pragma once
// config.json of an encoder with a head, in one set of words for all families.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/maths/activation.h"

namespace dtl::trainer {

enum class ModelType { kBert, kDistilBert };  // what each is: model_family.h

enum class Task { kClassification, kQuestionAnswering };
// Of a classifier: one of several labels, any of them, or a number.
enum class Problem { kSingleLabel, kMultiLabel, kRegression };

// Columns of a data set by name.
struct TextColumns {
  std::vector<std::string> first = {};  // joined, with `delimiter` between them; empty: not known
  std::string delimiter = " ";
  std::string second = {};  // of pairs
  std::string label = {};
  bool operator==(const TextColumns&) const = default;
};

struct ModelConfig {
  ModelType type = ModelType::kBert;
  int vocab_size = 30522;
  int hidden_size = 768;         // H; DistilBERT: dim
  int layers = 12;               // L; n_layers
  int heads = 12;                // A; n_heads
  int intermediate_size = 3072;  // I; hidden_dim
  int max_positions = 512;       // P
  int type_vocab_size = 2;       // BERT only
  Activation activation = Activation::kGelu;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double classifier_dropout =
      0.1;  // BERT: classifier_dropout or hidden; DistilBERT: seq_classif_dropout
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;
  int pad_token_id = 0;
  double qa_dropout = 0.1;               // DistilBERT only; BERT has none
  bool sinusoidal_positions = false;     // DistilBERT: how the table began; it is trained anyway
  std::vector<std::string> labels = {};  // id2label, in order of id
  Task task = Task::kClassification;     // which head: the caller's choice, not the folder's
  Problem problem = Problem::kSingleLabel;
  TextColumns columns = {};  // what it was trained on; rank 0 only
};

// O: the outputs of a model, for each example of a classifier (a label each) or for each token of a
// text that may hold an answer (start, end). A regression has one label, and so one output.
inline std::int64_t output_count(const ModelConfig& config) {
  return config.task == Task::kClassification ? static_cast<std::int64_t>(config.labels.size()) : 2;
}

// Throws Error(kBadInput) naming file and key for what cannot be run (relative positions, other
// model types).
ModelConfig read_model_config(const std::string& folder);
// config.json with architectures, id2label, label2id: as from_pretrained reads it.
void write_model_config(const std::string& folder, const ModelConfig& config);

}  // namespace dtl::trainer
