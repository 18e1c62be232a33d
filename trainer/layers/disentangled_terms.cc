// For one head, with K' and Q' the projected rows of the table [N, D] and n(i, j) the row of the
// distance i - j:
//   score_ij += q_i K'_n(i,j) + k_j Q'_n(i,j)
// Two products, q K'^T and k Q'^T, hold all terms, and loops pick one of each for a score. Backward
// adds each score's gradient to the elements of these products' gradients that it came from; then
// products again. Rows that no distance of the texts needs are never computed.
#include "trainer/layers/disentangled_terms.h"

#include <algorithm>

#include "trainer/layers/distance_rows.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"

namespace dtl::trainer {
namespace {

// Keys whose elements in k Q'^T stay in the first cache while loops go through the queries.
constexpr std::int64_t kKeysAtOnce = 32;

// A thread's memory for one head's products; heads run in the pool, which has no arena.
template <class S>
S* thread_scratch(std::int64_t count) {
  thread_local std::vector<S> memory;
  if (memory.size() < static_cast<std::size_t>(count)) {
    memory.resize(static_cast<std::size_t>(count));
  }
  return memory.data();
}

// Rows of the projected table that one sequence's distances need.
struct RowRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t first = 0;  // of the sequence's part in the sums of backward
  std::int64_t count() const { return end - begin; }
};

template <class S>
class DisentangledTerms final : public ScoreTerms<S> {
 public:
  DisentangledTerms(const Pass& pass, const DistanceOffsets& at, int layer, const S* parameters)
      : at_(at), hidden_(pass.config.hidden_size) {
    std::int64_t longest = 0;
    for (std::int64_t s = 0; s < pass.batch.sequences(); ++s) {
      longest = std::max(longest, pass.batch.length(s));
    }
    table_ = distance_rows(pass.config, longest);
    if (table_.count == 0) return;
    prepare_rows(pass, layer, parameters);
    if (at.key_weight >= 0) keys_ = project(pass, parameters, at.key_weight, at.key_bias);
    if (at.query_weight >= 0) queries_ = project(pass, parameters, at.query_weight, at.query_bias);
  }

  void add(const Pass& pass, const LayerState<S>& state, const AttentionHead& h,
           S* scores) override {
    if (h.rows == 0) return;
    const RowRange range = range_of(state, h);
    const std::int64_t n = range.count();
    if (keys_) {
      S* products = thread_scratch<S>(h.rows * n);
      gemm<S>({h.rows, n, h.width}, S(1), query(state, h),
              {rows_of(keys_, range, h), hidden_, Op::kTranspose}, S(0), {products, n},
              pass.precision);
      for (std::int64_t i = 0; i < h.rows; ++i) {
        const std::int32_t* row = table_.of_query(query_position(state, h, i));
        const S* from = products + i * n - range.begin;
        S* to = scores + i * h.length;
        for (std::int64_t j = 0; j < h.length; ++j) to[j] += from[row[j]];
      }
    }
    if (queries_) {
      S* products = thread_scratch<S>(h.length * n);
      gemm<S>({h.length, n, h.width}, S(1), key(state, h),
              {rows_of(queries_, range, h), hidden_, Op::kTranspose}, S(0), {products, n},
              pass.precision);
      for_tiles(state, h,
                [&](std::int64_t i, std::int64_t j, std::int64_t end, const std::int32_t* row) {
                  S* to = scores + i * h.length;
                  for (; j < end; ++j) to[j] += products[j * n - range.begin + row[j]];
                });
    }
  }

  void start_backward(const Pass& pass, const LayerState<S>& state) override {
    ranges_.clear();
    std::int64_t rows = 0;
    for (std::int64_t s = 0; s < pass.batch.sequences(); ++s) {
      const auto i = static_cast<std::size_t>(s);
      AttentionHead h{};
      h.first_row = state.starts[i];
      h.rows = state.starts[i + 1] - state.starts[i];
      h.first_token = pass.batch.starts[i];
      h.length = pass.batch.own_length(s);
      RowRange range = h.rows == 0 ? RowRange{} : range_of(state, h);
      range.first = rows;
      rows += range.count();
      ranges_.push_back(range);
    }
    if (keys_) key_sums_ = pass.arena.take<S>(rows * hidden_);
    if (queries_) query_sums_ = pass.arena.take<S>(rows * hidden_);
  }

  void backward(const Pass& pass, const LayerState<S>& state, const AttentionHead& h,
                const S* dscores, const typename ScoreTerms<S>::Gradients& to) override {
    if (h.rows == 0) return;
    const RowRange& range = ranges_[static_cast<std::size_t>(h.sequence)];
    const std::int64_t n = range.count();
    if (keys_) {
      S* d = thread_scratch<S>(h.rows * n);
      std::fill_n(d, h.rows * n, S(0));
      for (std::int64_t i = 0; i < h.rows; ++i) {
        const std::int32_t* row = table_.of_query(query_position(state, h, i));
        const S* from = dscores + i * h.length;
        S* sums = d + i * n - range.begin;
        for (std::int64_t j = 0; j < h.length; ++j) sums[row[j]] += from[j];
      }
      gemm<S>({h.rows, h.width, n}, S(1), {d, n}, {rows_of(keys_, range, h), hidden_}, S(1),
              {to.dq, to.dq_stride}, pass.precision);
      gemm<S>({n, h.width, h.rows}, S(1), {d, n, Op::kTranspose}, query(state, h), S(0),
              {key_sums_ + range.first * hidden_ + h.column, hidden_}, pass.precision);
    }
    if (queries_) {
      S* d = thread_scratch<S>(h.length * n);
      std::fill_n(d, h.length * n, S(0));
      for_tiles(state, h,
                [&](std::int64_t i, std::int64_t j, std::int64_t end, const std::int32_t* row) {
                  const S* from = dscores + i * h.length;
                  for (; j < end; ++j) d[j * n - range.begin + row[j]] += from[j];
                });
      gemm<S>({h.length, h.width, n}, S(1), {d, n}, {rows_of(queries_, range, h), hidden_}, S(1),
              {to.dk, to.dk_stride}, pass.precision);
      gemm<S>({n, h.width, h.length}, S(1), {d, n, Op::kTranspose}, key(state, h), S(0),
              {query_sums_ + range.first * hidden_ + h.column, hidden_}, pass.precision);
    }
  }

  void finish(const Pass& pass, const S* parameters, S* gradients) override {
    const std::int64_t N = table_.count, H = hidden_;
    if (N == 0) return;
    S* drows = pass.arena.take<S>(N * H);
    std::fill_n(drows, N * H, S(0));
    if (keys_) {
      project_backward(pass, key_sums_, parameters + at_.key_weight, drows,
                       gradients + at_.key_weight, gradients + at_.key_bias);
    }
    if (queries_) {
      project_backward(pass, query_sums_, parameters + at_.query_weight, drows,
                       gradients + at_.query_weight, gradients + at_.query_bias);
    }
    rows_backward(pass, parameters, drows, gradients);
    for (std::int64_t row = 0; row < N; ++row) {
      kernels<S>().add(H, drows + row * H, gradients + at_.table + (table_.highest - row) * H);
    }
  }

 private:
  // rows_ [N, H] = dropout(norm(table)), in the order of table_.
  void prepare_rows(const Pass& pass, int layer, const S* parameters) {
    const std::int64_t N = table_.count, H = hidden_;
    normed_ = pass.arena.take<S>(N * H);
    rstd_ = pass.arena.take<S>(N);
    rows_ = at_.norm_weight >= 0 ? pass.arena.take<S>(N * H) : normed_;
    const Dropout dropout(pass.config.hidden_dropout);
    scale_ = static_cast<S>(dropout.scale());
    if (pass.dropout && dropout.active()) mask_ = pass.arena.take<std::uint8_t>(N * H);
    for_rows(pass.pool, N, H, [&](std::int64_t first, std::int64_t count) {
      const std::int64_t at = first * H;
      for (std::int64_t row = first; row < first + count; ++row) {
        std::copy_n(parameters + at_.table + (table_.highest - row) * H, H, normed_ + row * H);
      }
      if (at_.norm_weight >= 0) {
        const NormInput<S> input{nullptr,
                                 nullptr,
                                 S(1),
                                 nullptr,
                                 parameters + at_.norm_weight,
                                 parameters + at_.norm_bias,
                                 static_cast<S>(pass.config.layer_norm_eps)};
        kernels<S>().norm(count, H, input, normed_ + at, rows_ + at, rstd_ + first);
      }
      if (!mask_) return;
      // By the table's row, whatever the texts of this batch or rank.
      for (std::int64_t row = first; row < first + count; ++row) {
        dropout.mask(*pass.dropout, distance_site(layer), 0,
                     static_cast<std::uint32_t>(table_.highest - row), H, mask_ + row * H);
      }
      kernels<S>().apply_mask(count * H, mask_ + at, scale_, rows_ + at, rows_ + at);
    });
  }

  // drows becomes the gradient at the table's rows.
  void rows_backward(const Pass& pass, const S* parameters, S* drows, S* gradients) {
    const std::int64_t N = table_.count, H = hidden_;
    S* sums = pass.arena.take<S>(3 * H);
    std::fill_n(sums, 3 * H, S(0));  // the last third would be for a bias before the norm
    sum_over_rows<S>(pass, N, 3 * H, sums, [&](std::int64_t first, std::int64_t count, S* partial) {
      S* d = drows + first * H;
      if (mask_) kernels<S>().apply_mask(count * H, mask_ + first * H, scale_, d, d);
      if (at_.norm_weight < 0) return;
      const NormOutput<S> normed{
          d, normed_ + first * H, rstd_ + first, parameters + at_.norm_weight, nullptr, S(1)};
      kernels<S>().norm_backward(count, H, normed, d, d, partial);
    });
    if (at_.norm_weight < 0) return;
    kernels<S>().add(H, sums, gradients + at_.norm_weight);
    kernels<S>().add(H, sums + H, gradients + at_.norm_bias);
  }

  // rows_ W^T + b, [N, H].
  S* project(const Pass& pass, const S* parameters, std::int64_t weight, std::int64_t bias) const {
    const std::int64_t N = table_.count, H = hidden_;
    S* projected = pass.arena.take<S>(N * H);
    matmul<S>(pass.pool, {N, H, H}, {rows_, H}, {parameters + weight, H, Op::kTranspose}, S(0),
              {projected, H}, pass.precision);
    kernels<S>().add_bias(N, H, projected, parameters + bias);
    return projected;
  }

  // Adds the sequences' sums in their order; then the gradients of the projection, and to drows.
  void project_backward(const Pass& pass, const S* sums, const S* weight, S* drows, S* dweight,
                        S* dbias) const {
    const std::int64_t N = table_.count, H = hidden_;
    S* d = pass.arena.take<S>(N * H);
    const auto sequences = static_cast<std::int64_t>(ranges_.size());
    pass.pool.run(N, N * H * sequences, [&](std::int64_t row, int) {
      S* to = d + row * H;
      std::fill_n(to, H, S(0));
      for (const RowRange& range : ranges_) {
        if (row < range.begin || row >= range.end) continue;
        kernels<S>().add(H, sums + (range.first + row - range.begin) * H, to);
      }
    });
    matmul<S>(pass.pool, {H, H, N}, {d, H, Op::kTranspose}, {rows_, H}, S(1), {dweight, H},
              pass.precision);
    kernels<S>().column_sums(N, H, d, dbias);
    matmul<S>(pass.pool, {N, H, H}, {d, H}, {weight, H}, S(1), {drows, H}, pass.precision);
  }

  // Queries are in the order of their positions.
  RowRange range_of(const LayerState<S>& state, const AttentionHead& h) const {
    const std::int64_t first = query_position(state, h, 0);
    const std::int64_t last = query_position(state, h, h.rows - 1);
    return {table_.of_query(last)[0], table_.of_query(first)[h.length - 1] + 1};
  }

  // Calls work(query, first key, end of keys, the query's rows) for all scores, a few keys at a
  // time.
  template <class Work>
  void for_tiles(const LayerState<S>& state, const AttentionHead& h, const Work& work) const {
    for (std::int64_t key = 0; key < h.length; key += kKeysAtOnce) {
      const std::int64_t end = std::min(key + kKeysAtOnce, h.length);
      for (std::int64_t i = 0; i < h.rows; ++i) {
        work(i, key, end, table_.of_query(query_position(state, h, i)));
      }
    }
  }

  const S* rows_of(const S* projected, const RowRange& range, const AttentionHead& h) const {
    return projected + range.begin * hidden_ + h.column;
  }
  static Matrix<S> query(const LayerState<S>& state, const AttentionHead& h) {
    return {state.q + h.first_row * state.q_stride + h.column, state.q_stride};
  }
  static Matrix<S> key(const LayerState<S>& state, const AttentionHead& h) {
    return {state.k + h.first_token * state.kv_stride + h.column, state.kv_stride};
  }

  DistanceOffsets at_;
  std::int64_t hidden_;  // H
  DistanceRows table_;
  // From forward, in the arena; N = table_.count.
  S *normed_ = nullptr, *rstd_ = nullptr;   // [N, H], [N]
  S* rows_ = nullptr;                       // [N, H]
  std::uint8_t* mask_ = nullptr;            // [N, H] or null
  S scale_ = 1;                             // of dropout
  S *keys_ = nullptr, *queries_ = nullptr;  // K' and Q' of all heads, [N, H], or null
  // Of backward: each sequence's gradients at its rows of K' and Q', [its rows, H].
  std::vector<RowRange> ranges_;  // by sequence
  S *key_sums_ = nullptr, *query_sums_ = nullptr;
};

}  // namespace

template <class S>
std::unique_ptr<ScoreTerms<S>> make_disentangled_terms(const Pass& pass, const DistanceOffsets& at,
                                                       int layer, const S* parameters) {
  return std::make_unique<DisentangledTerms<S>>(pass, at, layer, parameters);
}

double disentangled_flops(const ModelConfig& config, const Batch& batch, std::int64_t queries) {
  const DebertaConfig& deberta = config.deberta;
  if (!deberta.relative || score_products(deberta) == 1) return 0;
  const double hidden = config.hidden_size;
  double rows = 0, products = 0;
  for (std::int64_t s = 0; s < batch.sequences(); ++s) {
    const std::int64_t own = batch.own_length(s);
    const std::int64_t asking = queries == 0 ? batch.length(s) : std::min(queries, own);
    const std::int64_t highest = distance_row(config, asking - 1);
    const auto needed = static_cast<double>(highest - distance_row(config, 1 - own) + 1);
    if (deberta.content_to_position) products += static_cast<double>(asking) * needed;
    if (deberta.position_to_content) products += static_cast<double>(own) * needed;
    const std::int64_t all = batch.length(s);
    rows = std::max(rows, static_cast<double>(distance_row(config, all - 1) -
                                              distance_row(config, 1 - all) + 1));
  }
  return 2 * products * hidden + 2 * rows * hidden * hidden * (score_products(deberta) - 1);
}

template std::unique_ptr<ScoreTerms<float>> make_disentangled_terms<float>(const Pass&,
                                                                           const DistanceOffsets&,
                                                                           int, const float*);
template std::unique_ptr<ScoreTerms<double>> make_disentangled_terms<double>(const Pass&,
                                                                             const DistanceOffsets&,
                                                                             int, const double*);

}  // namespace dtl::trainer
