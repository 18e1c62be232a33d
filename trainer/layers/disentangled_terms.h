#pragma once
// The terms of DeBERTa's disentangled attention (families/deberta_config.h): products of queries
// and keys with the table of distances, projected by the layer. Used through ScoreTerms, whose
// rules for threads hold. It cannot fail.

#include <cstdint>
#include <memory>

#include "trainer/layers/layer.h"
#include "trainer/layers/parameters.h"
#include "trainer/layers/score_terms.h"

namespace dtl::trainer {

// Projects the rows of the table that the batch's texts need. at.table must not be -1.
template <class S>
std::unique_ptr<ScoreTerms<S>> make_disentangled_terms(const Pass& pass, const DistanceOffsets& at,
                                                       int layer, const S* parameters);

// Floating-point operations of these terms in one layer's forward products, if `queries` of each
// text's tokens, from the first one on, ask; 0: all.
double disentangled_flops(const ModelConfig& config, const Batch& batch, std::int64_t queries);

}  // namespace dtl::trainer
