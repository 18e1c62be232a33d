#pragma once
// Runs a model on a data set, divided among the ranks. Collective: all ranks pass the same
// examples. batch_per_rank: examples per forward pass. Throws the ranks' errors (ranks.h).

#include <cstdint>
#include <vector>

#include "trainer/data/metrics.h"
#include "trainer/model/model.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

// Logits [N, C] of a classifier without dropout, equal on all ranks.
std::vector<float> predict(Model<float>& model, const std::vector<float>& parameters,
                           const Examples& examples, std::int64_t batch_per_rank, Ranks& group);

// Logits [T, 2] of a question-answering model, T = all tokens of the examples. Row t has the start
// and end logit of token examples.ids[t]. Equal on all ranks.
std::vector<float> predict_answers(Model<float>& model, const std::vector<float>& parameters,
                                   const Examples& examples, std::int64_t batch_per_rank,
                                   Ranks& group);

}  // namespace dtl::trainer
