// Counts operations; measures only the GEMM peak. Must match layer.cc: another product there needs
// another term here.
#include "trainer/step/step_cost.h"

#include <algorithm>
#include <vector>

#include "trainer/families/task_head.h"
#include "trainer/layers/disentangled_terms.h"

namespace dtl::trainer {
namespace {

// Forward products of one layer that computes `rows` of `tokens` rows. scores: queries times keys,
// summed over sequences.
double layer_flops(const ModelConfig& config, double tokens, double rows, double scores) {
  const double hidden = config.hidden_size, inner = config.intermediate_size;
  const double key_value = 2 * tokens * 2 * hidden * hidden;
  const double query_output = 2 * rows * 2 * hidden * hidden;
  const double attention = 2 * scores * 2 * hidden;
  const double feed_forward = 2 * rows * 2 * hidden * inner;
  return key_value + query_output + attention + feed_forward;
}

}  // namespace

double product_flops(const ModelConfig& config, const Batch& batch) {
  const auto tokens = static_cast<double>(batch.tokens());
  const auto sequences = static_cast<double>(batch.sequences());
  double scores = 0;  // padding is seen by nobody
  // Padding has queries but no keys: length * own_length scores.
  for (std::int64_t s = 0; s < batch.sequences(); ++s) {
    scores += static_cast<double>(batch.length(s)) * static_cast<double>(batch.own_length(s));
  }
  const double full =
      layer_flops(config, tokens, tokens, scores) + disentangled_flops(config, batch, 0);
  const double hidden = config.hidden_size, embedded = embedding_width(config);
  double last = full, head = 0;
  if (config.task == Task::kMaskedLm) {
    const auto masked = static_cast<double>(batch.masked.size());
    last = layer_flops(config, tokens, masked, masked * tokens / std::max(1.0, sequences)) +
           disentangled_flops(config, batch, 0);  // close to all of its rows are needed
    head = 2 * masked * embedded * (hidden + config.vocab_size);
  } else if (!reads_all_tokens(config)) {
    // The last layer has one query per sequence, so one score per token.
    last = layer_flops(config, tokens, sequences, tokens) + disentangled_flops(config, batch, 1);
  }
  // Backward has two products for each: one for the gradient of either operand.
  const double project = embedded == hidden ? 0 : 2 * tokens * embedded * hidden;
  return 3 * (project + (config.layers - 1) * full + last + head);
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
