#pragma once
// Evaluation, shared out over the ranks, and the figures it gives.

#include <cstdint>
#include <vector>

#include "trainer/group.h"
#include "trainer/model.h"

namespace dtl::trainer {

// Logits [N, C] without dropout; equal on all ranks afterwards.
std::vector<float> predict(Model<float>& model, const std::vector<float>& parameters,
                           const Examples& examples, std::int64_t batch_per_rank, Group& group);

struct Metrics {
  double loss = 0;
  double accuracy = 0;
  double f1 = 0;              // two classes: of class 1; more: the mean over classes
  double majority_share = 0;  // accuracy of always answering the most frequent label
};
Metrics measure(const Examples& examples, const std::vector<float>& logits);

// The index of the largest of `classes` logits.
std::int32_t best_label(const float* logits, std::size_t classes);

}  // namespace dtl::trainer
