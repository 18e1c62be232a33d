#pragma once
// What the model answers to a data set, shared out over the ranks.
// All ranks call these together, with the same examples. batch_per_rank: examples of one pass of
// the model. Throws the ranks' errors (ranks.h).

#include <cstdint>
#include <vector>

#include "trainer/data/metrics.h"
#include "trainer/model/model.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

// Logits [N, C] of a classifier without dropout; equal on all ranks afterwards.
std::vector<float> predict(Model<float>& model, const std::vector<float>& parameters,
                           const Examples& examples, std::int64_t batch_per_rank, Ranks& group);

// Logits [T, 2] of a question-answering model, T = all tokens of the examples: row t has the start
// and the end logit of token examples.ids[t]. Equal on all ranks afterwards.
std::vector<float> predict_answers(Model<float>& model, const std::vector<float>& parameters,
                                   const Examples& examples, std::int64_t batch_per_rank,
                                   Ranks& group);

}  // namespace dtl::trainer
