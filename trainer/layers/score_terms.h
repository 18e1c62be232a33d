#pragma once
// What some families add to attention's scores: terms that depend on the distance of two tokens.
// One object per layer and pass; the layer's state owns it. Heads run on several threads at once,
// so an object keeps sums of different heads apart until finish(). It cannot fail.

#include <cstdint>
#include <memory>

namespace dtl::trainer {

struct Pass;
struct LayerOffsets;
template <class S>
struct LayerState;

// The parts of the matrices for one (sequence, head).
struct AttentionHead {
  std::int64_t first_row, rows;      // queries
  std::int64_t first_token, length;  // keys and values, without padding
  std::int64_t padding;              // padding tokens after them, which no query attends to
  std::int64_t column, width;        // of H
  std::int64_t scores;               // offset in probabilities
  std::int64_t sequence;
  std::uint32_t example;
  std::uint32_t number;
};

// Where a query stands in its sequence: with a choice of rows, not at its own number.
template <class S>
std::int64_t query_position(const LayerState<S>& state, const AttentionHead& head,
                            std::int64_t row);

template <class S>
class ScoreTerms {
 public:
  virtual ~ScoreTerms() = default;
  // scores [rows, length] = q k^T, to which it adds; the factor of attention and the softmax
  // follow.
  virtual void add(const Pass& pass, const LayerState<S>& state, const AttentionHead& head,
                   S* scores) = 0;
  // Before backward() of the heads, on the calling thread: takes memory that they need.
  virtual void start_backward(const Pass&, const LayerState<S>&) {}
  // dscores [rows, length]: the gradient at those sums. dq and dk: the gradients at the first query
  // and key of the head, to which it adds.
  struct Gradients {
    S* dq;
    std::int64_t dq_stride;
    S* dk;
    std::int64_t dk_stride;
  };
  virtual void backward(const Pass& pass, const LayerState<S>& state, const AttentionHead& head,
                        const S* dscores, const Gradients& to) = 0;
  // After backward() of all heads, on the calling thread: adds the gradients of its parameters.
  // Those of the layer's query, key and value are not reported as complete before.
  virtual void finish(const Pass& pass, const S* parameters, S* gradients) = 0;
};

// Null if the family adds nothing.
template <class S>
std::unique_ptr<ScoreTerms<S>> make_score_terms(const Pass& pass, const LayerOffsets& at, int layer,
                                                const S* parameters);

}  // namespace dtl::trainer
