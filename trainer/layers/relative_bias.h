#pragma once
// A number for each head and bucket of distances, added to the scores of all layers, as in T5 and
// MPNet. Thread rule: that of ScoreTerms. It cannot fail.

#include <cstdint>
#include <memory>

#include "trainer/layers/score_terms.h"

namespace dtl::trainer {

// The bucket of a key that is `distance` tokens after the query; keys before it have a negative
// distance. As relative_position_bucket of transformers' MPNetEncoder: 16 buckets for each
// direction, 8 of them for single distances, the others for ranges that grow up to 128.
int relative_bucket(std::int64_t distance);

// offset: of the table [kRelativeBuckets, A] in the parameters.
template <class S>
std::unique_ptr<ScoreTerms<S>> make_relative_bias(const Pass& pass, std::int64_t offset,
                                                  const S* parameters);

}  // namespace dtl::trainer
