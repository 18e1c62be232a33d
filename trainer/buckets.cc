#include "trainer/buckets.h"

#include <algorithm>
#include <cmath>

#include "trainer/kernels.h"

namespace dtl::trainer {
namespace {

// 4 MiB: large enough that the latency of a ring does not count, small enough that the first leaves
// early and several are under way at once.
constexpr std::int64_t kBucket = 1 << 20;
constexpr std::int64_t kPiece = 1 << 15;  // 128 KiB: a task of a few us, where squares are summed

}  // namespace

Buckets::Buckets(const ParameterLayout& layout, Group& group, ThreadPool& pool, dt_wire wire)
    : layout_(layout),
      group_(group),
      pool_(pool),
      wire_(wire),
      hidden_(layout.tensors.front().shape[1]) {}

void Buckets::begin(float* gradients) {
  gradients_ = gradients;
  sent_ = layout_.total;
  squares_.clear();
}

// Alone, a bucket has arrived as soon as it is sent, and its squares find it in the caches.
void Buckets::send(std::int64_t begin, std::int64_t end) {
  if (begin == end) return;
  Bucket bucket{begin, end, 0};
  if (group_.size() == 1) return add_squares(bucket);
  bucket.work =
      group_.start_sum(gradients_ + begin, static_cast<std::uint64_t>(end - begin), ++tag_, wire_);
  buckets_.push_back(bucket);
}

void Buckets::done(std::int64_t offset) {
  // The words' rows are the first tensor; they leave in finish().
  const std::int64_t ready = std::max(offset, layout_.position);
  while (sent_ - ready >= kBucket) {
    send(sent_ - kBucket, sent_);
    sent_ -= kBucket;
  }
  if (offset == 0) {
    send(ready, sent_);
    sent_ = ready;
  }
}

void Buckets::add_squares(const Bucket& bucket) {
  const std::int64_t pieces = (bucket.end - bucket.begin + kPiece - 1) / kPiece;
  const std::size_t first = squares_.size();
  squares_.resize(first + static_cast<std::size_t>(pieces));
  pool_.run(pieces, bucket.end - bucket.begin, [&](std::int64_t piece, int) {
    const std::int64_t begin = bucket.begin + piece * kPiece;
    squares_[first + static_cast<std::size_t>(piece)] =
        optimizer_kernels().sum_squares(std::min(kPiece, bucket.end - begin), gradients_ + begin);
  });
}

void Buckets::add_row_squares(std::span<const std::int32_t> words) {
  const std::size_t first = squares_.size();
  squares_.resize(first + words.size());
  const auto count = static_cast<std::int64_t>(words.size());
  pool_.run(count, count * hidden_, [&](std::int64_t index, int) {
    const auto r = static_cast<std::size_t>(index);
    squares_[first + r] = optimizer_kernels().sum_squares(hidden_, row(words[r]));
  });
}

// A rank sends a sum's 2 (n-1) / n times as often as the rows of all words, and its own rows n-1
// times. Rounding for the wire is for sums.
bool Buckets::gathers_rows(const StepWords& words) const {
  std::size_t total = 0;
  for (const auto& own : words.of_rank) total += own.size();
  const bool is_exact = wire_ == DT_WIRE_EXACT || wire_ == DT_WIRE_DEFAULT;
  return is_exact && total < 2 * words.all.size();
}

void Buckets::pack(const std::vector<std::int32_t>& words) {
  rows_.resize(words.size() * static_cast<std::size_t>(hidden_));
  float* to = rows_.data();
  for (const std::int32_t word : words) to = std::copy_n(row(word), hidden_, to);
}

dt_work Buckets::send_rows(const StepWords& words) {
  if (words.all.empty()) return 0;
  if (!gathers_rows(words)) {
    pack(words.all);
    return group_.start_sum(rows_.data(), rows_.size(), ++tag_, wire_);
  }
  pack(words.of_rank[static_cast<std::size_t>(group_.rank())]);
  row_counts_.clear();
  std::uint64_t total = 0;
  for (const auto& own : words.of_rank) {
    row_counts_.push_back(own.size() * static_cast<std::uint64_t>(hidden_));
    total += row_counts_.back();
  }
  gathered_.resize(total);
  return group_.start_gather(rows_.data(), gathered_.data(), row_counts_, ++tag_);
}

// What was gathered is added in the order of the ranks, by all of them.
void Buckets::receive_rows(const StepWords& words, dt_work work) {
  group_.wait(work);
  if (!gathers_rows(words)) {
    const float* from = rows_.data();
    for (const std::int32_t word : words.all) {
      std::copy_n(from, hidden_, row(word));
      from += hidden_;
    }
    return;
  }
  for (const std::int32_t word : words.all) std::fill_n(row(word), hidden_, 0.0F);
  const float* from = gathered_.data();
  for (const auto& own : words.of_rank) {
    for (const std::int32_t word : own) {
      kernels<float>().add(hidden_, from, row(word));
      from += hidden_;
    }
  }
}

Buckets::Totals Buckets::finish(const StepWords& words, double loss) {
  if (group_.size() > 1) {
    const dt_work rows = send_rows(words);
    loss_ = static_cast<float>(loss);
    const dt_work losses = group_.start_sum(&loss_, 1, ++tag_);
    for (const Bucket& bucket : buckets_) {
      group_.wait(bucket.work);
      add_squares(bucket);
    }
    buckets_.clear();
    receive_rows(words, rows);
    group_.wait(losses);
    loss = static_cast<double>(loss_);
  }
  add_row_squares(words.all);
  double sum = 0;
  for (const double squares : squares_) sum += squares;
  return {loss, std::sqrt(sum)};
}

}  // namespace dtl::trainer
