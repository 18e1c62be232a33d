#include "trainer/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trainer/sampler.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kHashTag = 0xFFFF0001;

// The m-th of `parts` nearly equal pieces.
std::span<const std::int64_t> part_of(std::span<const std::int64_t> all, int m, int parts) {
  const std::size_t begin =
      all.size() * static_cast<std::size_t>(m) / static_cast<std::size_t>(parts);
  const std::size_t end =
      all.size() * static_cast<std::size_t>(m + 1) / static_cast<std::size_t>(parts);
  return all.subspan(begin, end - begin);
}

}  // namespace

std::int64_t steps_per_epoch(std::int64_t examples, std::int64_t global_batch) {
  return std::max<std::int64_t>(1, (examples + global_batch - 1) / global_batch);
}

Trainer::Trainer(Model<float>& model, const TrainSettings& settings, Group& group, ThreadPool& pool,
                 std::vector<float> parameters)
    : model_(model),
      settings_(settings),
      group_(group),
      buckets_(model.layout(), group),
      optimizer_(model.layout(), settings.optimizer, pool),
      parameters_(std::move(parameters)),
      gradients_(parameters_.size()) {}

std::vector<std::int64_t> Trainer::next_examples(const Examples& examples, std::int64_t step) {
  const std::int64_t per_epoch = steps_per_epoch(examples.size(), settings_.global_batch);
  const std::int64_t epoch = step / per_epoch;
  if (epoch != order_epoch_) {
    order_ = random_order(examples.size(), settings_.seed + static_cast<std::uint64_t>(epoch));
    order_epoch_ = epoch;
  }
  const std::int64_t begin = step % per_epoch * settings_.global_batch;
  const std::int64_t end = std::min(begin + settings_.global_batch, examples.size());
  return {order_.begin() + begin, order_.begin() + end};
}

// Word rows of the step before are cleared one by one, everything else at once.
void Trainer::clear_gradients() {
  const std::int64_t H = model_.config().hidden_size;
  for (const std::int32_t word : words_) {
    std::fill_n(gradients_.begin() + model_.layout().word + word * H, H, 0.0F);
  }
  std::fill(gradients_.begin() + model_.layout().position, gradients_.end(), 0.0F);
}

// Runs this rank's share, the sums leaving during the last micro-batch. Returns the global sum of
// losses.
double Trainer::accumulate(const Examples& examples, std::span<const std::int64_t> chosen) {
  const auto shares = deal(examples, chosen, group_.size());
  const std::span<const std::int64_t> mine = shares[static_cast<std::size_t>(group_.rank())];
  const float weight = 1.0F / static_cast<float>(chosen.size());
  const DropoutKey key{settings_.seed, static_cast<std::uint64_t>(steps_done())};
  buckets_.begin(gradients_.data());
  double loss = 0;
  for (int m = 0; m < settings_.accumulation; ++m) {
    const Batch batch = make_batch(examples, part_of(mine, m, settings_.accumulation));
    const bool last = m + 1 == settings_.accumulation;
    model_.forward(parameters_.data(), batch, &key);
    loss += model_.backward(parameters_.data(), batch, weight, gradients_.data(),
                            [&](std::size_t block) {
                              if (last) buckets_.block_done(block);
                            });
  }
  return buckets_.finish(words_, loss);
}

StepReport Trainer::step(const Examples& examples) {
  const std::vector<std::int64_t> chosen = next_examples(examples, steps_done());
  clear_gradients();
  words_ = words_of(examples, chosen, model_.config().pad_token_id);
  StepReport report;
  report.loss = accumulate(examples, chosen) / static_cast<double>(chosen.size());
  if (!std::isfinite(report.loss)) {
    group_.leave_it_to_first();
    throw Error(Exit::kBadInput, fmt::format("training step {}", steps_done() + 1),
                fmt::format("the loss is {}", report.loss), "a smaller --learning_rate");
  }
  const AdamW::Result result = optimizer_.step(words_, gradients_.data(), parameters_.data());
  report.step = steps_done();
  const std::int64_t per_epoch = steps_per_epoch(examples.size(), settings_.global_batch);
  report.epoch = static_cast<double>(report.step) / static_cast<double>(per_epoch);
  report.gradient_norm = result.gradient_norm;
  report.learning_rate = result.learning_rate;
  for (const std::int64_t example : chosen) {
    const auto e = static_cast<std::size_t>(example);
    report.tokens += examples.starts[e + 1] - examples.starts[e];
  }
  return report;
}

void Trainer::verify_parameters() {
  const std::vector<std::uint64_t> hashes = group_.gather(parameter_hash(parameters_), kHashTag);
  std::vector<std::size_t> different;
  for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0]) different.push_back(rank);
  }
  if (different.empty()) return;
  group_.leave_it_to_first();
  throw Error(
      Exit::kInternal, "after the last step",
      fmt::format("the parameters of rank {} differ from rank 0's", fmt::join(different, ", ")));
}

}  // namespace dtl::trainer
