#pragma once
// Buckets: sums gradients over the ranks while backward still runs. Gradients become complete from
// the head to the embeddings, that is from the end of the flat array to its beginning. A bucket is
// sent when it has a few MiB. Of the word embeddings, only rows that the step uses are sent. Every
// rank knows the step's examples, so it knows which rank uses which rows. These rows are complete
// last, after backward. Rows that several ranks use are summed. The others are gathered while the
// optimizer updates all other tensors; a gather takes half the bytes of a sum.
//
// Squares for the gradient's norm are added bucket by bucket as sums arrive, while later sums still
// run. The layout fixes the order, so the norm has the same bits on all ranks with any number of
// threads.

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/layers/parameters.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

// Rows of the word embeddings that a step's examples use. Each list is sorted.
struct StepWords {
  StepWords() = default;
  // of_rank: the rows that each rank's share uses.
  explicit StepWords(const std::vector<std::vector<std::int32_t>>& of_rank);

  std::vector<std::int32_t> all;
  std::vector<std::int32_t> shared;              // used by several ranks
  std::vector<std::vector<std::int32_t>> alone;  // by rank: used by no other rank
};

class Buckets {
 public:
  // `wire`: format of gradients between hosts. Losses are always exact. Gradients before `first`
  // are of frozen parameters: nobody reads them, and a step's words must be none if first > 0.
  Buckets(const ParameterLayout& layout, Ranks& group, ThreadPool& pool, dt_wire wire,
          std::int64_t first = 0);

  void begin(float* gradients);
  // Gradients from `offset` on hold this rank's complete contribution. Offsets decrease to 0. Until
  // finish(), libdtring owns these gradients: do not read or write them.
  void done(std::int64_t offset);

  // What a step gives to the network, also if there is only one rank. In the order of sending.
  struct Sent {
    std::int64_t bytes;   // of floats, before gradient_wire halves them
    double before_end_s;  // from the time that the bucket was complete until the call of finish()
  };
  // Of the last step.
  const std::vector<Sent>& sent() const { return sent_buckets_; }

  struct Totals {
    double loss;
    double gradient_norm;  // L2, of the sums
  };
  // Also sums `loss`. Waits for all sums, but not for rows that only one rank uses; afterwards all
  // other gradients hold sums. Gradients of word embeddings must be zero except in the rows of this
  // rank's share. `words` must live until finish_words().
  Totals finish(const StepWords& words, double loss);
  // Waits for those rows too. Call it after finish(), even if the step fails.
  void finish_words(const StepWords& words);

 private:
  // [begin, end) of the flat array.
  struct Bucket {
    std::int64_t begin, end;
    dt_work work;
  };
  void send(std::int64_t begin, std::int64_t end);
  double age() const;  // seconds since begin()
  void add_squares(const Bucket& bucket);
  double sum_row_squares(std::span<const std::int32_t> words);
  float* row(std::int32_t word) const { return gradients_ + layout_.word + word * hidden_; }
  void pack(std::span<const std::int32_t> words, std::vector<float>& rows) const;
  const float* unpack(const float* rows, std::span<const std::int32_t> words);
  dt_work sum_rows(const std::vector<std::int32_t>& words);
  dt_work gather_rows(const std::vector<std::vector<std::int32_t>>& of_rank);

  const ParameterLayout& layout_;
  Ranks& group_;
  ThreadPool& pool_;
  dt_wire wire_;
  std::int64_t hidden_;
  std::int64_t first_;  // to be sent; the words' rows before it are sent by themselves
  float* gradients_ = nullptr;
  std::int64_t sent_ = 0;  // gradients from here on have been sent
  std::uint64_t tag_ = 0;
  std::vector<float> summed_;    // rows of words, sent as sums
  std::vector<float> own_;       // rows that only this rank uses
  std::vector<float> gathered_;  // such rows of all ranks
  dt_work gathering_ = 0;
  std::vector<std::uint64_t> alone_squares_;  // for each rank's own rows, doubles as bits
  std::vector<std::uint64_t> row_counts_;
  float loss_ = 0;
  std::vector<Sent> sent_buckets_;
  std::chrono::steady_clock::time_point began_;
  std::vector<Bucket> buckets_;  // being summed
  std::vector<double> squares_;  // per piece of a bucket, in sending order
  std::vector<double> row_squares_;
};

}  // namespace dtl::trainer
