#pragma once
// From questions to what the model reads: windows of tokens (run_qa's "features"), with the answer
// as token positions for training, and with offsets into the context for evaluation.

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

// max_length: ids of a window; stride: context tokens that neighbours share (--doc_stride). The
// result does not depend on the number of threads. Throws Error(kBadInput) naming the question that
// leaves no room for its context.
//
// The answer is answers[0]: the first token that reaches into it to the last one that does. Windows
// that do not hold all of it, and questions without answers, have 0, 0 ([CLS]).
SquadFeatures training_features(const std::vector<SquadExample>& examples,
                                const Tokenizer& tokenizer, int max_length, int stride,
                                int threads);
SquadFeatures evaluation_features(const std::vector<SquadExample>& examples,
                                  const Tokenizer& tokenizer, int max_length, int stride,
                                  int threads);

// Leaves the first `count` windows at most, of features made for training.
void keep_first_windows(SquadFeatures& features, std::int64_t count);

}  // namespace dtl::trainer
