#pragma once
// Runs a model on a data set, divided among the ranks. Collective: all ranks pass the same
// examples. batch_per_rank: examples per forward pass. Throws the ranks' errors (ranks.h).

#include <cstdint>
#include <vector>

#include "trainer/data/metrics.h"
#include "trainer/model/model.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

// The model's outputs without dropout, equal on all ranks: [texts, O], or if its head gives rows
// of tokens [T, O], where row t is that of token examples.ids[t].
std::vector<float> predict(Model<float>& model, const std::vector<float>& parameters,
                           const Examples& examples, std::int64_t batch_per_rank, Ranks& group);

}  // namespace dtl::trainer
