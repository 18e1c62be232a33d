#include "trainer/buckets.h"

#include <algorithm>

namespace dtl::trainer {
namespace {

// 4 MiB: large enough that the latency of a ring does not count, small enough that the first leaves
// early and several are under way at once.
constexpr std::int64_t kBucket = 1 << 20;

}  // namespace

Buckets::Buckets(const ParameterLayout& layout, Group& group)
    : layout_(layout), group_(group), hidden_(layout.tensors.front().shape[1]) {}

void Buckets::begin(float* gradients) {
  gradients_ = gradients;
  ready_ = sent_ = layout_.total;
}

void Buckets::send(std::int64_t begin, std::int64_t end) {
  if (begin == end || group_.size() == 1) return;
  works_.push_back(
      group_.start_sum(gradients_ + begin, static_cast<std::uint64_t>(end - begin), ++tag_));
}

void Buckets::block_done(std::size_t block) {
  // The words' rows are the first tensor of block 0; they leave in finish().
  ready_ = block == 0 ? layout_.position : layout_.blocks[block].begin;
  while (sent_ - ready_ >= kBucket) {
    send(sent_ - kBucket, sent_);
    sent_ -= kBucket;
  }
  if (block == 0) {
    send(ready_, sent_);
    sent_ = ready_;
  }
}

double Buckets::finish(std::span<const std::int32_t> words, double loss) {
  if (group_.size() == 1) return loss;
  rows_.resize(words.size() * static_cast<std::size_t>(hidden_) + 1);
  float* row = rows_.data();
  for (const std::int32_t word : words) {
    row = std::copy_n(gradients_ + layout_.word + word * hidden_, hidden_, row);
  }
  *row = static_cast<float>(loss);
  works_.push_back(group_.start_sum(rows_.data(), rows_.size(), ++tag_));
  for (const dt_work work : works_) group_.wait(work);
  works_.clear();
  const float* sum = rows_.data();
  for (const std::int32_t word : words) {
    std::copy_n(sum, hidden_, gradients_ + layout_.word + word * hidden_);
    sum += hidden_;
  }
  return static_cast<double>(*sum);
}

}  // namespace dtl::trainer
