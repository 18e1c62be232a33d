// Sums the rows of a token's embeddings in `normed`, in place; the norm then turns them into what
// backward needs.
#include "trainer/layers/input_layer.h"

#include <algorithm>

#include "trainer/families/model_family.h"
#include "trainer/layers/affine.h"
#include "trainer/layers/row_norm.h"

namespace dtl::trainer {
namespace {

// The rows of the tables that a token's sum has. A part that the model does not have is -1.
struct InputRows {
  std::int64_t word, position, type;  // offsets in the parameters
};

template <class S>
InputRows rows_of(const Pass& pass, const ParameterLayout& layout, const InputState<S>& state,
                  std::int64_t token) {
  const std::int64_t E = embedding_width(pass.config);
  const auto i = static_cast<std::size_t>(token);
  const Batch& batch = pass.batch;
  return {layout.word + batch.ids[i] * E,
          layout.position >= 0 ? layout.position + state.positions[i] * E : -1,
          layout.type >= 0 ? layout.type + batch.types[i] * E : -1};
}

bool is_padding(const Pass& pass, std::int64_t token) {
  return pass.batch.ids[static_cast<std::size_t>(token)] == pass.config.pad_token_id;
}

// As the family numbers them (ModelFamily::first_position): fairseq's make_positions, or the place
// in the text.
std::vector<std::int32_t> positions_of(const Pass& pass) {
  const int first = first_position(pass.config);
  if (first == 0) return pass.batch.positions;
  std::vector<std::int32_t> positions;
  std::int32_t next = first;
  for (std::int64_t t = 0; t < pass.batch.tokens(); ++t) {
    if (pass.batch.positions[static_cast<std::size_t>(t)] == 0) next = first;
    positions.push_back(is_padding(pass, t) ? first - 1 : next++);
  }
  return positions;
}

}  // namespace

template <class S>
InputState<S> input_forward(const Pass& pass, const ParameterLayout& layout, const S* parameters) {
  const std::int64_t E = embedding_width(pass.config), H = pass.config.hidden_size;
  const std::int64_t T = pass.batch.tokens();
  InputState<S> state;
  state.positions = positions_of(pass);
  state.normed = pass.arena.take<S>(T * E);
  state.rstd = pass.arena.take<S>(T);
  S* output = pass.arena.take<S>(T * E);
  state.output = state.embedded = output;
  const S* beta = bias_or_zeros(pass, parameters, layout.embedding_norm_bias, E);
  const Dropout dropout(pass.config.hidden_dropout);
  state.mask = hidden_mask(pass, pass.config.hidden_dropout, kEmbeddingSite, pass.batch.starts, E);
  for_rows(pass.pool, T, E, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t t = first; t < first + count; ++t) {
      S* row = state.normed + t * E;
      const InputRows from = rows_of(pass, layout, state, t);
      std::copy_n(parameters + from.word, E, row);
      if (from.position >= 0) kernels<S>().add(E, parameters + from.position, row);
      if (from.type >= 0) kernels<S>().add(E, parameters + from.type, row);
    }
    const std::int64_t at = first * E;
    // No bias, no dropout before the norm, no residual branch.
    const NormInput<S> input{nullptr,
                             nullptr,
                             S(1),
                             nullptr,
                             parameters + layout.embedding_norm_weight,
                             beta,
                             static_cast<S>(pass.config.layer_norm_eps)};
    kernels<S>().norm(count, E, input, state.normed + at, output + at, state.rstd + first);
    if (state.mask) {
      kernels<S>().apply_mask(count * E, state.mask + at, static_cast<S>(dropout.scale()),
                              output + at, output + at);
    }
  });
  if (layout.project_weight < 0) return state;
  S* projected = pass.arena.take<S>(T * H);
  affine(pass, T, H, E, state.embedded, parameters + layout.project_weight,
         parameters + layout.project_bias, projected);
  state.output = projected;
  return state;
}

// Computes gradients of embedding rows on the calling thread, token by token: tokens may share a
// row, and the order of its sum must not depend on the number of threads.
template <class S>
void input_backward(const Pass& pass, const ParameterLayout& layout, const InputState<S>& state,
                    const S* parameters, const S* doutput, S* gradients) {
  const std::int64_t E = embedding_width(pass.config), H = pass.config.hidden_size;
  const std::int64_t T = pass.batch.tokens();
  const S scale = static_cast<S>(Dropout(pass.config.hidden_dropout).scale());
  if (layout.project_weight >= 0) {
    doutput = affine_backward<S>(
        pass, T, H, E, doutput, state.embedded, parameters + layout.project_weight,
        {gradients + layout.project_weight, gradients + layout.project_bias});
  }
  S* d = pass.arena.take<S>(T * E);
  S* sums = pass.arena.take<S>(3 * E);
  // The last third would be for a dense bias, which embeddings do not have: ignore it.
  std::fill(sums, sums + 3 * E, S(0));
  sum_over_rows<S>(pass, T, 3 * E, sums, [&](std::int64_t first, std::int64_t count, S* partial) {
    const std::int64_t at = first * E;
    const S* dy = doutput + at;
    if (state.mask) {
      kernels<S>().apply_mask(count * E, state.mask + at, scale, dy, d + at);
      dy = d + at;
    }
    const NormOutput<S> normed{dy,
                               state.normed + at,
                               state.rstd + first,
                               parameters + layout.embedding_norm_weight,
                               nullptr,
                               S(1)};
    kernels<S>().norm_backward(count, E, normed, d + at, d + at, partial);
  });
  kernels<S>().add(E, sums, gradients + layout.embedding_norm_weight);
  if (layout.embedding_norm_bias >= 0) {
    kernels<S>().add(E, sums + E, gradients + layout.embedding_norm_bias);
  }
  for (std::int64_t t = 0; t < T; ++t) {
    const S* row = d + t * E;
    const InputRows to = rows_of(pass, layout, state, t);
    // As nn.Embedding(padding_idx=...), which some families use for positions, too.
    const bool padding = is_padding(pass, t);
    const bool positioned = to.position >= 0 && !(padding && first_position(pass.config) > 0);
    if (!padding) kernels<S>().add(E, row, gradients + to.word);
    if (positioned) kernels<S>().add(E, row, gradients + to.position);
    if (to.type >= 0) kernels<S>().add(E, row, gradients + to.type);
  }
}

template InputState<float> input_forward<float>(const Pass&, const ParameterLayout&, const float*);
template InputState<double> input_forward<double>(const Pass&, const ParameterLayout&,
                                                  const double*);
template void input_backward<float>(const Pass&, const ParameterLayout&, const InputState<float>&,
                                    const float*, const float*, float*);
template void input_backward<double>(const Pass&, const ParameterLayout&, const InputState<double>&,
                                     const double*, const double*, double*);

}  // namespace dtl::trainer
