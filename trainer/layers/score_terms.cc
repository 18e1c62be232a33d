// Chooses the terms of a family.
#include "trainer/layers/score_terms.h"

#include "trainer/layers/disentangled_terms.h"
#include "trainer/layers/layer.h"
#include "trainer/layers/relative_bias.h"

namespace dtl::trainer {

template <class S>
std::int64_t query_position(const LayerState<S>& state, const AttentionHead& head,
                            std::int64_t row) {
  if (!state.choice) return row;
  return state.choice->tokens[static_cast<std::size_t>(head.first_row + row)] - head.first_token;
}

template <class S>
std::unique_ptr<ScoreTerms<S>> make_score_terms(const Pass& pass, const LayerOffsets& at, int layer,
                                                const S* parameters) {
  if (at.relative_bias >= 0) return make_relative_bias(pass, at.relative_bias, parameters);
  const DistanceOffsets& distances = at.distances;
  if (distances.key_weight >= 0 || distances.query_weight >= 0) {
    return make_disentangled_terms(pass, distances, layer, parameters);
  }
  return nullptr;
}

template std::int64_t query_position<float>(const LayerState<float>&, const AttentionHead&,
                                            std::int64_t);
template std::int64_t query_position<double>(const LayerState<double>&, const AttentionHead&,
                                             std::int64_t);
template std::unique_ptr<ScoreTerms<float>> make_score_terms<float>(const Pass&,
                                                                    const LayerOffsets&, int,
                                                                    const float*);
template std::unique_ptr<ScoreTerms<double>> make_score_terms<double>(const Pass&,
                                                                      const LayerOffsets&, int,
                                                                      const double*);

}  // namespace dtl::trainer
