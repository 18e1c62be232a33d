// Divides a data set among the ranks and collects the logits. trainer/data/metrics.h and
// trainer/job compute metrics and write files. The model does not change.
#include "trainer/step/evaluate.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kPredictionTag = 0xFFFF0002;
constexpr std::uint64_t kAnswerTag = 0xFFFF0003;

// Runs the model in batches on this rank's share: every size-th example from its rank on. Calls
// take(chosen, logits) for each batch. It does not communicate, so ranks may have different numbers
// of batches.
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
    take(chosen, model.forward_only(parameters.data(), make_batch(examples, chosen)));
  }
}

}  // namespace

// Each rank fills the rows of its examples and leaves zeros elsewhere, so the sum over the ranks is
// exact: x + 0 does not round. This sum always uses exact floats, whatever wire format gradients
// use.
std::vector<float> predict(Model<float>& model, const std::vector<float>& parameters,
                           const Examples& examples, std::int64_t batch_per_rank, Ranks& group) {
  assert(model.config().task == Task::kClassification);
  const auto outputs = static_cast<std::int64_t>(model.config().labels.size());
  std::vector<float> all(static_cast<std::size_t>(examples.size() * outputs));
  for_own_batches(model, parameters, examples, batch_per_rank, group,
                  [&](std::span<const std::int64_t> chosen, const float* logits) {
                    for (const std::int64_t example : chosen) {
                      std::copy_n(logits, outputs, all.begin() + example * outputs);
                      logits += outputs;
                    }
                  });
  group.sum(all.data(), all.size(), kPredictionTag);
  return all;
}

std::vector<float> predict_answers(Model<float>& model, const std::vector<float>& parameters,
                                   const Examples& examples, std::int64_t batch_per_rank,
                                   Ranks& group) {
  assert(model.config().task == Task::kQuestionAnswering);
  std::vector<float> all(examples.ids.size() * 2);
  for_own_batches(model, parameters, examples, batch_per_rank, group,
                  [&](std::span<const std::int64_t> chosen, const float* logits) {
                    for (const std::int64_t example : chosen) {
                      const auto e = static_cast<std::size_t>(example);
                      // Two logits per token.
                      const std::int64_t begin = 2 * examples.starts[e];
                      const std::int64_t count = 2 * examples.starts[e + 1] - begin;
                      std::copy_n(logits, count, all.begin() + begin);
                      logits += count;
                    }
                  });
  group.sum(all.data(), all.size(), kAnswerTag);
  return all;
}

}  // namespace dtl::trainer
