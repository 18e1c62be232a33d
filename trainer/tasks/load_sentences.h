#pragma once
// Loads the tagged sentences of token classification: its prepare(). Only rank 0 uses it.

#include <cstdint>
#include <vector>

#include "trainer/data/tagged_sentences.h"
#include "trainer/settings/settings.h"
#include "trainer/tasks/prepared.h"

namespace dtl::trainer {

// Kept to score a set and to write its predictions.
struct TaggedSet : TaskMemo {
  std::vector<TaggedSentence> sentences;  // one per example; without tags
  std::vector<std::int32_t> words;        // [tokens], as in WordEncoding
};

// Reads CoNLL files or columns, sets the examples, and labels and columns of prepared.config.
void prepare_token_classification(const Settings& settings, Prepared& prepared);

}  // namespace dtl::trainer
