#pragma once
// config.json of an encoder with a head, with the same field names for all families.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/families/deberta_config.h"
#include "trainer/families/embedding_config.h"
#include "trainer/families/pre_norm_config.h"
#include "trainer/files/tensor.h"
#include "trainer/maths/activation.h"

namespace dtl::trainer {

// Described in model_family.h.
enum class ModelType {
  kBert,
  kDistilBert,
  kRoberta,
  kXlmRoberta,
  kCamembert,
  kElectra,
  kMPNet,
  kDebertaV2,
  kModernBert
};

// Their heads: task_head.h.
enum class Task {
  kClassification,
  kQuestionAnswering,
  kTokenClassification,
  kReranking,
  kMultipleChoice,
  kEmbeddings,
  kMaskedLm,
};
// What a classifier predicts: one of several labels, any number of labels, or a number.
enum class Problem { kSingleLabel, kMultiLabel, kRegression };

// Columns of a data set, by name.
struct TextColumns {
  std::vector<std::string> first = {};  // joined by `delimiter`; empty: unknown
  std::string delimiter = " ";
  std::string second = {};  // second text of a pair
  std::string label = {};
  bool operator==(const TextColumns&) const = default;
};

// The loss of a head that was trained, as far as options choose it: then a later evaluation has the
// figure of the training.
struct HeadLoss {
  double label_smoothing = 0;
  double focal_gamma = 0;                  // 0 with label smoothing
  std::vector<double> label_weights = {};  // of each label; empty: all are alike
  bool softmax = false;                    // of a reranker: over the passages of a row
  bool operator==(const HeadLoss&) const = default;
};

struct ModelConfig {
  ModelType type = ModelType::kBert;
  int vocab_size = 30522;
  int hidden_size = 768;         // H; DistilBERT: dim
  int embedding_size = 0;        // E, of the tables; 0: H
  int layers = 12;               // L; n_layers
  int heads = 12;                // A; n_heads
  int intermediate_size = 3072;  // I; hidden_dim
  int max_positions = 512;       // P
  int type_vocab_size = 2;       // 0: texts of a pair have no types
  Activation activation = Activation::kGelu;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double classifier_dropout = 0.1;  // classifier_dropout or hidden; DistilBERT: seq_classif_dropout
  double summary_dropout = 0.1;     // ELECTRA's, for multiple choice
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;
  int pad_token_id = 0;
  double qa_dropout = 0.1;               // DistilBERT only; BERT has none
  bool sinusoidal_positions = false;     // DistilBERT: initial table only; it is trained
  DebertaConfig deberta = {};            // DeBERTa-v2 only
  std::vector<std::string> labels = {};  // id2label, in order of id
  Task task = Task::kClassification;     // selects the head; the caller sets it, not the folder
  Problem problem = Problem::kSingleLabel;
  // What a classifier of texts reads: kCls or kMean.
  TextPooling classifier_pooling = TextPooling::kCls;
  PreNormConfig pre_norm = {};     // families with pre-norm layers
  TextColumns columns = {};        // columns that it was trained on; rank 0 only
  HeadLoss loss = {};              // that it was trained with; rank 0 only
  EmbeddingConfig embedding = {};  // models that make embeddings
  // A reranker's: the name of the torch class between logits and scores, as sentence-transformers
  // writes it. Empty: its default, the sigmoid. Rank 0 only.
  std::string score_activation = {};
  std::vector<std::string> architectures = {};  // of the folder, such as BertModel; rank 0 only
  // Tensors that a saved model gets back as they were read; rank 0 only. Shared by copies of the
  // config, since nobody changes them.
  std::shared_ptr<const TensorMap> kept = {};
};

inline int embedding_width(const ModelConfig& config) {
  return config.embedding_size > 0 ? config.embedding_size : config.hidden_size;
}

// Throws Error(kBadInput) naming file and key if dttrain cannot run the model (relative positions,
// other model types).
ModelConfig read_model_config(const std::string& folder);
// Writes config.json with architectures, id2label and label2id, as from_pretrained reads it.
void write_model_config(const std::string& folder, const ModelConfig& config);

}  // namespace dtl::trainer
