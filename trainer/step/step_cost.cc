// Counts operations; measures only the GEMM peak. Must match layer.cc: another product there needs
// another term here.
#include "trainer/step/step_cost.h"

#include <algorithm>
#include <vector>

#include "trainer/families/model_family.h"
#include "trainer/families/task_head.h"
#include "trainer/layers/disentangled_terms.h"
#include "trainer/layers/window_attention.h"

namespace dtl::trainer {
namespace {

// Forward products of one layer that computes `rows` of `tokens` rows. scores: queries times keys,
// summed over sequences.
double layer_flops(const ModelConfig& config, double tokens, double rows, double scores) {
  const double hidden = config.hidden_size, inner = config.intermediate_size;
  const double key_value = 2 * tokens * 2 * hidden * hidden;
  const double query_output = 2 * rows * 2 * hidden * hidden;
  const double attention = 2 * scores * 2 * hidden;
  // Up and down; a gated layer's up is twice as wide.
  const double parts = is_pre_norm(config) ? 3 : 2;
  const double feed_forward = parts * rows * 2 * hidden * inner;
  return key_value + query_output + attention + feed_forward;
}

struct Scores {
  double all = 0, first = 0;  // of all rows of a layer, of first tokens only
};

// Padding has queries but no keys: length * own_length scores without a window.
Scores layer_scores(const ModelConfig& config, const Batch& batch, int layer) {
  const bool local = is_pre_norm(config) && config.pre_norm.is_local(layer);
  const std::int64_t window = local ? config.pre_norm.local_window() : kWholeText;
  Scores scores;
  for (std::int64_t s = 0; s < batch.sequences(); ++s) {
    scores.all += window_pairs(batch.length(s), batch.own_length(s), window);
    scores.first += static_cast<double>(std::min(batch.own_length(s), window + 1));
  }
  return scores;
}

}  // namespace

double product_flops(const ModelConfig& config, const Batch& batch, int frozen_layers) {
  const auto tokens = static_cast<double>(batch.tokens());
  double sum = 0, frozen = 0;
  for (int layer = 0; layer + 1 < config.layers; ++layer) {
    const double own = layer_flops(config, tokens, tokens, layer_scores(config, batch, layer).all);
    sum += own;
    if (layer < frozen_layers) frozen += own + disentangled_flops(config, batch, 0);
  }
  const double hidden = config.hidden_size, embedded = embedding_width(config);
  sum += (config.layers - 1) * disentangled_flops(config, batch, 0);
  const Scores last = layer_scores(config, batch, config.layers - 1);
  if (config.task == Task::kMaskedLm) {
    const auto masked = static_cast<double>(batch.masked.size());
    sum += layer_flops(config, tokens, masked, last.all * masked / std::max(1.0, tokens));
    sum += disentangled_flops(config, batch, 0);  // close to all of its rows are needed
    sum += 2 * masked * embedded * (hidden + config.vocab_size);
  } else if (!reads_all_tokens(config)) {
    // The last layer has one query per sequence.
    const auto sequences = static_cast<double>(batch.sequences());
    sum += layer_flops(config, tokens, sequences, last.first);
    sum += disentangled_flops(config, batch, 1);
  } else {
    sum += layer_flops(config, tokens, tokens, last.all);
    sum += disentangled_flops(config, batch, 0);
  }
  if (embedded != hidden) sum += 2 * tokens * embedded * hidden;
  // Backward has two products for each: one for the gradient of either operand.
  return 3 * sum - 2 * frozen;
}

double measure_gemm_peak(ThreadPool& pool, Precision precision) {
  // A tile of matmul (gemm.cc), so the peak is that of training's own products.
  constexpr std::int64_t kRows = 192, kCols = 384, kDepth = 384;
  constexpr double kLimit = 0.045;  // seconds; the last round may take as long as the one before
  const std::int64_t threads = pool.size();
  const std::vector<float> a(kRows * kDepth, 0.5F), b(kDepth * kCols, 0.25F);
  std::vector<float> c(static_cast<std::size_t>(threads * kRows * kCols));
  const std::int64_t operations = 2 * kRows * kCols * kDepth * threads;
  double best = 0, used = 0, last = 0;
  do {
    Stopwatch watch;
    pool.run(threads, operations, [&](std::int64_t index, int) {
      gemm<float>({kRows, kCols, kDepth}, 1.0F, {a.data(), kDepth}, {b.data(), kCols}, 0.0F,
                  {c.data() + index * kRows * kCols, kCols}, precision);
    });
    last = watch.lap();
    used += last;
    best = std::max(best, static_cast<double>(operations) / last);
  } while (used + last < kLimit);
  return best;
}

}  // namespace dtl::trainer
