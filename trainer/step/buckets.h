#pragma once
// Buckets: adds the ranks' gradients up while backward still runs. They become complete from the
// head to the embeddings, that is from the end of the flat array to its beginning; as soon as a few
// MiB have come together they are on their way. Of the word embeddings only the rows that the step
// uses travel; every rank knows whose share uses which, because every rank knows the step's
// examples. They are complete last, so no backward hides their way: rows that several ranks use
// travel as a sum, the others are gathered, which takes half of a sum's bytes, and while the
// optimizer has everything else to do.
//
// Squares for the gradient's norm are summed bucket by bucket as their sums arrive, while later
// ones are still under way. What is added to what, and in which order, follows from the layout
// alone: the norm has the same bits on all ranks, with any number of threads.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/maths/thread_pool.h"
#include "trainer/model/parameters.h"
#include "trainer/step/ranks.h"

namespace dtl::trainer {

// Rows of the word embeddings that a step's examples use. Each list is sorted.
struct StepWords {
  StepWords() = default;
  // Those that each rank's share uses.
  explicit StepWords(const std::vector<std::vector<std::int32_t>>& of_rank);

  std::vector<std::int32_t> all;
  std::vector<std::int32_t> shared;              // that several ranks use
  std::vector<std::vector<std::int32_t>> alone;  // by rank: that no other uses
};

class Buckets {
 public:
  // `wire`: how gradients travel between hosts (losses always travel as they are).
  Buckets(const ParameterLayout& layout, Ranks& group, ThreadPool& pool, dt_wire wire);

  void begin(float* gradients);
  // From `offset` on they hold this rank's whole contribution. Offsets fall, to 0. From then until
  // finish() the library owns the gradients from `offset` on: nobody may read or write them.
  void done(std::int64_t offset);

  struct Totals {
    double loss;
    double gradient_norm;  // L2, of the sums
  };
  // Adds `loss` up as well and waits for everything but the rows of words that one rank alone uses.
  // Afterwards gradients hold the sums except in those rows. Gradients of word embeddings must be
  // zero except in the rows that this rank's share uses. `words` must live until finish_words().
  Totals finish(const StepWords& words, double loss);
  // Waits for those rows, too; to be called after finish(), whatever becomes of the step.
  void finish_words(const StepWords& words);

 private:
  // [begin, end) of the flat array.
  struct Bucket {
    std::int64_t begin, end;
    dt_work work;
  };
  void send(std::int64_t begin, std::int64_t end);
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
  float* gradients_ = nullptr;
  std::int64_t sent_ = 0;  // from here on they are on their way
  std::uint64_t tag_ = 0;
  std::vector<float> summed_;    // rows of the words that travel as sums
  std::vector<float> own_;       // rows of words that this rank alone uses
  std::vector<float> gathered_;  // the same of all ranks
  dt_work gathering_ = 0;
  std::vector<std::uint64_t> alone_squares_;  // of each rank's, doubles as bits
  std::vector<std::uint64_t> row_counts_;
  float loss_ = 0;
  std::vector<Bucket> buckets_;  // under way
  std::vector<double> squares_;  // per piece of a bucket, in the order of sending
  std::vector<double> row_squares_;
};

}  // namespace dtl::trainer
