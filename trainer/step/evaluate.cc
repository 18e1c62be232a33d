// Divides a data set among the ranks and collects the logits. trainer/tasks computes metrics
// and makes files of them. The model does not change.
#include "trainer/step/evaluate.h"

#include <algorithm>
#include <span>

#include "trainer/families/task_head.h"
#include "trainer/model/masking.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kPredictionTag = 0xFFFF0002;

// Runs the model in batches on this rank's share: every size-th example from its rank on. Calls
// take(chosen, outputs) for each batch. It does not communicate, so ranks may have different
// numbers of batches.
template <class Take>
void for_own_batches(Model<float>& model, const std::vector<float>& parameters,
                     const Examples& examples, std::int64_t batch_per_rank, const Ranks& group,
                     const Take& take) {
  std::vector<std::int64_t> mine;
  // Every size-th example: shares differ by at most one example.
  for (std::int64_t i = group.rank(); i < examples.size(); i += group.size()) mine.push_back(i);
  const auto step = static_cast<std::size_t>(batch_per_rank);
  for (std::size_t begin = 0; begin < mine.size(); begin += step) {
    const std::span<const std::int64_t> chosen(mine.data() + begin,
                                               std::min(step, mine.size() - begin));
    Batch batch = make_batch(examples, chosen);
    mask_tokens({}, examples.masking, batch);  // the same tokens in every evaluation
    take(chosen, model.forward_only(parameters.data(), batch));
  }
}

}  // namespace

// Each rank fills the rows of its examples and leaves zeros elsewhere, so the sum over the ranks is
// exact: x + 0 does not round. This sum always uses exact floats, whatever wire format gradients
// use.
std::vector<float> predict(Model<float>& model, const std::vector<float>& parameters,
                           const Examples& examples, std::int64_t batch_per_rank, Ranks& group) {
  const std::int64_t outputs = output_count(model.config());
  const bool by_token = outputs_per_token(model.config());
  const auto first_row = [&](std::int64_t example) {
    return by_token ? examples.first_token(example) : example * examples.texts;
  };
  const std::int64_t rows = examples.size() == 0 ? 0 : first_row(examples.size());
  std::vector<float> all(static_cast<std::size_t>(rows * outputs));
  for_own_batches(model, parameters, examples, batch_per_rank, group,
                  [&](std::span<const std::int64_t> chosen, const float* values) {
                    for (const std::int64_t example : chosen) {
                      const std::int64_t begin = first_row(example) * outputs;
                      const std::int64_t count = first_row(example + 1) * outputs - begin;
                      std::copy_n(values, count, all.begin() + begin);
                      values += count;
                    }
                  });
  group.sum(all.data(), all.size(), kPredictionTag);
  return all;
}

}  // namespace dtl::trainer
