#pragma once
// Buckets: adds the ranks' gradients up while backward still runs. Blocks become ready from the
// head to the embeddings, that is from the end of the flat array to its beginning; as soon as a few
// MiB have come together they are on their way. Of the word embeddings only the rows that the step
// uses travel; every rank knows them, because every rank knows the step's examples.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/group.h"
#include "trainer/parameters.h"

namespace dtl::trainer {

class Buckets {
 public:
  Buckets(const ParameterLayout& layout, Group& group);

  void begin(float* gradients);
  // Block `block` of the layout holds this rank's whole contribution.
  void block_done(std::size_t block);
  // Adds `loss` up as well, waits for everything and returns the sum of the losses. Afterwards
  // gradients hold the sums.
  double finish(std::span<const std::int32_t> words, double loss);

 private:
  void send(std::int64_t begin, std::int64_t end);

  const ParameterLayout& layout_;
  Group& group_;
  std::int64_t hidden_;
  float* gradients_ = nullptr;
  std::int64_t ready_ = 0;  // [ready_, sent_) is complete here and not sent
  std::int64_t sent_ = 0;
  std::uint64_t tag_ = 0;
  std::vector<float> rows_;  // the words' rows, then the loss
  std::vector<dt_work> works_;
};

}  // namespace dtl::trainer
