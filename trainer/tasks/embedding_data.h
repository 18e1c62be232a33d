#pragma once
// Loads the texts of --task embeddings: its prepare(), and what it keeps of each data set. Only
// rank 0 uses it, but for the loss's settings.

#include <string>
#include <vector>

#include "trainer/embeddings/retrieval.h"
#include "trainer/embeddings/text_groups.h"
#include "trainer/model/embedding_loss.h"
#include "trainer/settings/settings.h"
#include "trainer/tasks/prepared.h"

namespace dtl::trainer {

// How a data set is judged: scored pairs by correlation, triplets by the nearer text, others by
// searching the positives of all examples or a corpus. kTexts: only to predict for.
enum class EmbeddingSetKind { kScored, kTriplets, kRetrieval, kTexts };

struct EmbeddingSet : TaskMemo {
  EmbeddingSetKind kind = EmbeddingSetKind::kTexts;
  TextGroups groups;  // the first rows of the outputs are theirs, unless `by_id`
  bool by_id = false;
  std::string loss;                   // of training, else the one that the set's own data asks for
  RetrievalSet retrieval;             // kRetrieval
  std::vector<std::string> passages;  // kRetrieval: how they begin; empty: not shown
};

void prepare_embeddings(const Settings& settings, Prepared& prepared);

// The name of the loss: --loss, else by the data.
std::string embedding_loss_name(const Settings& settings, bool scored);
// On every rank. scored: whether the training examples have scores.
EmbeddingLossSettings embedding_loss_settings(const Settings& settings, bool scored);

}  // namespace dtl::trainer
