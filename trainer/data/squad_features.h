#pragma once
// Turns questions into windows of tokens (run_qa's "features"): for training with the answer as
// token positions, for evaluation with offsets into the context.

#include <cstdint>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/data/squad.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {

struct SquadFeatures {
  Examples windows;                     // answer_starts and answer_ends for training only
  std::vector<Offset> offsets;          // [tokens], in the context; evaluation only
  std::vector<std::int64_t> questions;  // [windows], index of the question; ascending
};

// max_length: ids per window; stride: context tokens that adjacent windows share (--doc_stride).
// The result does not depend on the number of threads. Throws Error(kBadInput) naming a question
// that leaves no room for its context.
//
// The answer is answers[0], from the first token that overlaps it to the last. Windows without the
// complete answer, and questions without answers, have 0, 0 ([CLS]).
SquadFeatures training_features(const std::vector<SquadExample>& examples,
                                const Tokenizer& tokenizer, int max_length, int stride,
                                int threads);
SquadFeatures evaluation_features(const std::vector<SquadExample>& examples,
                                  const Tokenizer& tokenizer, int max_length, int stride,
                                  int threads);

// Keeps at most the first `count` windows of features for training.
void keep_first_windows(SquadFeatures& features, std::int64_t count);

}  // namespace dtl::trainer
