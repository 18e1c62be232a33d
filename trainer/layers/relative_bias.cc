// All queries of a sequence have the same numbers at the same distances. So a head's numbers are
// one row by distance, of which each query adds a part; and backward sums the gradients by distance
// before it sums them by bucket.
#include "trainer/layers/relative_bias.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer/families/model_family.h"
#include "trainer/layers/layer.h"

namespace dtl::trainer {
namespace {

// Sequence s of the batch, with padding.
std::int64_t longest_sequence(const Batch& batch) {
  std::int64_t longest = 1;
  for (std::int64_t s = 0; s < batch.sequences(); ++s) {
    longest = std::max(longest, batch.length(s));
  }
  return longest;
}

template <class S>
class RelativeBias final : public ScoreTerms<S> {
 public:
  RelativeBias(const Pass& pass, std::int64_t offset, const S* parameters)
      : offset_(offset),
        heads_(pass.config.heads),
        longest_(longest_sequence(pass.batch)),
        // Attention multiplies the scores by the inverse, after this sum.
        factor_(static_cast<S>(std::sqrt(static_cast<double>(pass.config.hidden_size) /
                                         static_cast<double>(pass.config.heads)))) {
    for (std::int64_t distance = 1 - longest_; distance < longest_; ++distance) {
      buckets_.push_back(relative_bucket(distance));
    }
    for (std::int64_t head = 0; head < heads_; ++head) {
      for (const int bucket : buckets_) {
        rows_.push_back(factor_ * parameters[offset + bucket * heads_ + head]);
      }
    }
    sums_.resize(static_cast<std::size_t>(pass.batch.sequences() * heads_ * kRelativeBuckets));
  }

  void add(const Pass&, const LayerState<S>& state, const AttentionHead& head, S* scores) override {
    const S* row = rows_.data() + head.number * std::ssize(buckets_);
    for (std::int64_t query = 0; query < head.rows; ++query) {
      const std::int64_t first = longest_ - 1 - query_position(state, head, query);
      kernels<S>().add(head.length, row + first, scores + query * head.length);
    }
  }

  void backward(const Pass&, const LayerState<S>& state, const AttentionHead& head,
                const S* dscores, const typename ScoreTerms<S>::Gradients&) override {
    std::vector<S> by_distance(buckets_.size());
    for (std::int64_t query = 0; query < head.rows; ++query) {
      const std::int64_t first = longest_ - 1 - query_position(state, head, query);
      kernels<S>().add(head.length, dscores + query * head.length, by_distance.data() + first);
    }
    S* sums = sums_.data() + (head.sequence * heads_ + head.number) * kRelativeBuckets;
    for (std::size_t i = 0; i < buckets_.size(); ++i) sums[buckets_[i]] += by_distance[i];
  }

  // In the order of sequences, whichever thread summed each of them.
  void finish(const Pass& pass, const S*, S* gradients) override {
    const S* sums = sums_.data();
    for (std::int64_t s = 0; s < pass.batch.sequences(); ++s) {
      for (std::int64_t head = 0; head < heads_; ++head) {
        for (std::int64_t bucket = 0; bucket < kRelativeBuckets; ++bucket) {
          gradients[offset_ + bucket * heads_ + head] += factor_ * *sums++;
        }
      }
    }
  }

 private:
  std::int64_t offset_, heads_, longest_;
  S factor_;
  std::vector<int> buckets_;  // by distance, from 1 - longest to longest - 1
  std::vector<S> rows_;       // [A, distances], times factor
  std::vector<S> sums_;       // [B, A, buckets], of gradients
};

}  // namespace

// transformers computes 8 + 8 log(n / 8) / log(16) in float32 and cuts the fraction off. That is
// the largest k with n^2 >= 64 2^(k - 8), also where torch rounds: at n = 16, 32 and 64.
int relative_bucket(std::int64_t distance) {
  constexpr int kOneWay = kRelativeBuckets / 2, kSingle = kOneWay / 2;
  const int direction = distance > 0 ? kOneWay : 0;
  const std::int64_t n = std::abs(distance);
  if (n < kSingle) return direction + static_cast<int>(n);
  int bucket = kSingle;
  for (std::int64_t square = 128; bucket < kOneWay - 1 && n * n >= square; square *= 2) ++bucket;
  return direction + bucket;
}

template <class S>
std::unique_ptr<ScoreTerms<S>> make_relative_bias(const Pass& pass, std::int64_t offset,
                                                  const S* parameters) {
  return std::make_unique<RelativeBias<S>>(pass, offset, parameters);
}

template std::unique_ptr<ScoreTerms<float>> make_relative_bias<float>(const Pass&, std::int64_t,
                                                                      const float*);
template std::unique_ptr<ScoreTerms<double>> make_relative_bias<double>(const Pass&, std::int64_t,
                                                                        const double*);

}  // namespace dtl::trainer
