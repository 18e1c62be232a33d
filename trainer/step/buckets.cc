// Cuts gradients into buckets, starts their sums and collects squares. Trainer chooses the examples
// and uses the sums. All ranks must start the same operations in the same order, so every decision
// follows from the layout and the step's words, never from arrival.
#include "trainer/step/buckets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "trainer/maths/kernels.h"

namespace dtl::trainer {
namespace {

// 4 MiB: small enough that the first sum starts early and several run at once. A tensor's remainder
// is sent at once too, since the network may be idle until the next tensor, unless it is so small
// that ring latency would dominate.
constexpr std::int64_t kBucket = 1 << 20, kLeastBucket = 1 << 18;
// In floats. The norm sums per piece, not per thread, so threads do not change it.
constexpr std::int64_t kSquaresPiece =
    1 << 15;  // 128 KiB: a task of a few us, where squares are summed

}  // namespace

StepWords::StepWords(const std::vector<std::vector<std::int32_t>>& of_rank)
    : alone(of_rank.size()) {
  for (const auto& words : of_rank) all.insert(all.end(), words.begin(), words.end());
  std::sort(all.begin(), all.end());
  for (auto word = all.begin(); word != all.end();) {
    const auto next = std::upper_bound(word, all.end(), *word);
    if (next - word > 1) shared.push_back(*word);
    word = next;
  }
  // Only now: `shared` needed the duplicates. Each rank's list has no duplicates, so a word that
  // occurs twice in `all` belongs to two ranks.
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    std::set_difference(of_rank[rank].begin(), of_rank[rank].end(), shared.begin(), shared.end(),
                        std::back_inserter(alone[rank]));
  }
}

Buckets::Buckets(const ParameterLayout& layout, Ranks& group, ThreadPool& pool, dt_wire wire,
                 std::int64_t first)
    : layout_(layout),
      group_(group),
      pool_(pool),
      wire_(wire),
      // The first tensor is the word embeddings [V, E].
      hidden_(layout.tensors.front().shape[1]),
      // finish() sends the words' rows.
      first_(std::max(first, layout.after_words)) {}

void Buckets::begin(float* gradients) {
  gradients_ = gradients;
  sent_ = layout_.total;
  squares_.clear();
  sent_buckets_.clear();
  began_ = std::chrono::steady_clock::now();
}

double Buckets::age() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

// With one rank, a bucket is complete at once, and its gradients are still in the caches.
void Buckets::send(std::int64_t begin, std::int64_t end) {
  if (begin == end) return;
  sent_buckets_.push_back({(end - begin) * static_cast<std::int64_t>(sizeof(float)), age()});
  Bucket bucket{begin, end, 0};
  if (group_.size() == 1) return add_squares(bucket);
  bucket.work =
      group_.start_sum(gradients_ + begin, static_cast<std::uint64_t>(end - begin), ++tag_, wire_);
  buckets_.push_back(bucket);
}

void Buckets::done(std::int64_t offset) {
  const std::int64_t ready = std::max(offset, first_);
  while (sent_ - ready >= kBucket) {
    send(sent_ - kBucket, sent_);
    sent_ -= kBucket;
  }
  if (offset == 0 || sent_ - ready >= kLeastBucket) {
    send(ready, sent_);
    sent_ = ready;
  }
}

// Adds the squares of a bucket whose sum is complete, one double per piece, in sending order.
void Buckets::add_squares(const Bucket& bucket) {
  const std::int64_t pieces = (bucket.end - bucket.begin + kSquaresPiece - 1) / kSquaresPiece;
  const std::size_t first = squares_.size();
  squares_.resize(first + static_cast<std::size_t>(pieces));
  pool_.run(pieces, bucket.end - bucket.begin, [&](std::int64_t piece, int) {
    const std::int64_t begin = bucket.begin + piece * kSquaresPiece;
    squares_[first + static_cast<std::size_t>(piece)] = optimizer_kernels().sum_squares(
        std::min(kSquaresPiece, bucket.end - begin), gradients_ + begin);
  });
}

// One term per row, added in the order of the words.
double Buckets::sum_row_squares(std::span<const std::int32_t> words) {
  row_squares_.resize(words.size());
  const auto count = static_cast<std::int64_t>(words.size());
  pool_.run(count, count * hidden_, [&](std::int64_t index, int) {
    const auto r = static_cast<std::size_t>(index);
    row_squares_[r] = optimizer_kernels().sum_squares(hidden_, row(words[r]));
  });
  return std::accumulate(row_squares_.begin(), row_squares_.end(), 0.0);
}

void Buckets::pack(std::span<const std::int32_t> words, std::vector<float>& rows) const {
  rows.resize(words.size() * static_cast<std::size_t>(hidden_));
  float* to = rows.data();
  for (const std::int32_t word : words) to = std::copy_n(row(word), hidden_, to);
}

// Returns the end of the rows that it read.
const float* Buckets::unpack(const float* rows, std::span<const std::int32_t> words) {
  for (const std::int32_t word : words) {
    std::copy_n(rows, hidden_, row(word));
    rows += hidden_;
  }
  return rows;
}

dt_work Buckets::sum_rows(const std::vector<std::int32_t>& words) {
  pack(words, summed_);
  // All ranks know the words, so all of them skip this sum.
  if (words.empty()) return 0;
  return group_.start_sum(summed_.data(), summed_.size(), ++tag_, wire_);
}

dt_work Buckets::gather_rows(const std::vector<std::vector<std::int32_t>>& of_rank) {
  pack(of_rank[static_cast<std::size_t>(group_.rank())], own_);
  row_counts_.clear();
  std::uint64_t total = 0;
  for (const auto& words : of_rank) {
    row_counts_.push_back(words.size() * static_cast<std::uint64_t>(hidden_));
    total += row_counts_.back();
  }
  gathered_.resize(total);
  if (total == 0) return 0;
  return group_.start_gather(own_.data(), gathered_.data(), row_counts_, ++tag_);
}

Buckets::Totals Buckets::finish(const StepWords& words, double loss) {
  const double end = age();
  for (Sent& sent : sent_buckets_) sent.before_end_s = end - sent.before_end_s;
  double sum = 0;
  if (group_.size() == 1) {
    sum = sum_row_squares(words.all);
  } else {
    const dt_work sums = sum_rows(words.shared);
    const auto& own = words.alone[static_cast<std::size_t>(group_.rank())];
    // A row that only one rank uses needs no sum. So the norm is known before those rows are sent:
    // eight bytes per rank are enough. Send doubles as bits, since libdtring gathers integers here.
    const auto own_squares = std::bit_cast<std::uint64_t>(sum_row_squares(own));
    alone_squares_.resize(words.alone.size());
    const dt_work squares = group_.start_gather(&own_squares, alone_squares_.data(), ++tag_);
    // A member, because libdtring reads it until the wait.
    loss_ = static_cast<float>(loss);
    const dt_work losses = group_.start_sum(&loss_, 1, ++tag_);
    // The words' sums, started last, run while the first buckets' squares are added.
    for (const Bucket& bucket : buckets_) {
      group_.wait(bucket.work);
      add_squares(bucket);
    }
    buckets_.clear();
    group_.wait(sums);
    unpack(summed_.data(), words.shared);
    sum = sum_row_squares(words.shared);
    group_.wait(squares);
    for (const std::uint64_t of_rank : alone_squares_) sum += std::bit_cast<double>(of_rank);
    group_.wait(losses);
    loss = static_cast<double>(loss_);
    gathering_ = gather_rows(words.alone);  // not earlier: it would compete for the network
  }
  sum = std::accumulate(squares_.begin(), squares_.end(), sum);
  return {loss, std::sqrt(sum)};
}

// exchange: a second call, or a step without such words, waits for nothing.
void Buckets::finish_words(const StepWords& words) {
  group_.wait(std::exchange(gathering_, 0));
  if (group_.size() == 1) return;
  const float* rows = gathered_.data();
  for (const auto& of_rank : words.alone) rows = unpack(rows, of_rank);
}

}  // namespace dtl::trainer
