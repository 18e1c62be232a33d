// Reads every token once.
#include "trainer/model/text_pooling.h"

#include <algorithm>
#include <cmath>

namespace dtl::trainer {
namespace {

// Calls task(text) for each, on the pool's threads.
template <class Task>
void for_texts(const Pass& pass, const Task& task) {
  const std::int64_t texts = pass.batch.sequences();
  pass.pool.run(texts, 2 * pass.batch.tokens() * pass.config.hidden_size,
                [&](std::int64_t text, int) { task(text); });
}

// The weight of token i of n, for the poolings that are sums.
double token_weight(TextPooling pooling, std::int64_t i, std::int64_t n) {
  const auto count = static_cast<double>(n);
  switch (pooling) {
    case TextPooling::kMean:
      return 1 / count;
    case TextPooling::kMeanSqrtLength:
      return 1 / std::sqrt(count);
    case TextPooling::kWeightedMean:
      return static_cast<double>(i + 1) / (count * (count + 1) / 2);
    case TextPooling::kLastToken:
      return i + 1 == n ? 1 : 0;
    case TextPooling::kCls:
      return i == 0 ? 1 : 0;
    case TextPooling::kMax:
      break;  // not a sum
  }
  __builtin_unreachable();
}

// The largest of each column of tokens [n, H], the first if several are.
template <class S>
void pool_highest(std::int64_t n, std::int64_t H, const S* tokens, S* row, std::int32_t* highest) {
  std::copy_n(tokens, H, row);
  std::fill_n(highest, H, 0);
  for (std::int64_t i = 1; i < n; ++i) {
    for (std::int64_t h = 0; h < H; ++h) {
      if (tokens[i * H + h] <= row[h]) continue;
      row[h] = tokens[i * H + h];
      highest[h] = static_cast<std::int32_t>(i);
    }
  }
}

}  // namespace

template <class S>
const S* pool_texts(const Pass& pass, TextPooling pooling, const S* hidden,
                    std::int32_t** highest) {
  const std::int64_t H = pass.config.hidden_size, B = pass.batch.sequences();
  // The head reads first tokens only, so these rows are the pooled ones already.
  if (pooling == TextPooling::kCls) return hidden;
  S* pooled = pass.arena.take<S>(B * H);
  if (pooling == TextPooling::kMax) *highest = pass.arena.take<std::int32_t>(B * H);
  for_texts(pass, [&](std::int64_t b) {
    const std::int64_t n = pass.batch.own_length(b);
    const S* tokens = hidden + pass.batch.starts[static_cast<std::size_t>(b)] * H;
    S* row = pooled + b * H;
    if (pooling == TextPooling::kMax) {
      return pool_highest(n, H, tokens, row, *highest + b * H);
    }
    std::fill_n(row, H, S(0));
    for (std::int64_t i = 0; i < n; ++i) {
      const auto weight = static_cast<S>(token_weight(pooling, i, n));
      for (std::int64_t h = 0; h < H; ++h) row[h] += weight * tokens[i * H + h];
    }
  });
  return pooled;
}

template <class S>
const S* pool_texts_backward(const Pass& pass, TextPooling pooling, const std::int32_t* highest,
                             const S* d) {
  const std::int64_t H = pass.config.hidden_size;
  if (pooling == TextPooling::kCls) return d;
  S* dtokens = pass.arena.take<S>(pass.batch.tokens() * H);
  for_texts(pass, [&](std::int64_t b) {
    const std::int64_t n = pass.batch.own_length(b);
    S* tokens = dtokens + pass.batch.starts[static_cast<std::size_t>(b)] * H;
    const S* row = d + b * H;
    // Padding too: it has no part in the pooled row, but the layers below read its gradient.
    std::fill_n(tokens, pass.batch.length(b) * H, S(0));
    if (pooling == TextPooling::kMax) {
      for (std::int64_t h = 0; h < H; ++h) tokens[highest[b * H + h] * H + h] = row[h];
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const auto weight = static_cast<S>(token_weight(pooling, i, n));
      for (std::int64_t h = 0; h < H; ++h) tokens[i * H + h] = weight * row[h];
    }
  });
  return dtokens;
}

template const float* pool_texts<float>(const Pass&, TextPooling, const float*, std::int32_t**);
template const double* pool_texts<double>(const Pass&, TextPooling, const double*, std::int32_t**);
template const float* pool_texts_backward<float>(const Pass&, TextPooling, const std::int32_t*,
                                                 const float*);
template const double* pool_texts_backward<double>(const Pass&, TextPooling, const std::int32_t*,
                                                   const double*);

}  // namespace dtl::trainer
