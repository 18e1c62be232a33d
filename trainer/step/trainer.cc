// One optimizer step: choose examples, divide them, run, sum, update. trainer/job handles files,
// evaluation and signals. Results depend on settings, seed and step number, and on the number of
// ranks only through rounding in sums.
#include "trainer/step/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "trainer/model/masking.h"
#include "trainer/step/joint_loss.h"
#include "trainer/step/optimizer_state.h"
#include "trainer/step/sampler.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kHashTag = 0xFFFF0001;

// Examples per micro-batch, over all ranks.
std::int64_t micro_batch(const TrainSettings& settings) {
  return (settings.global_batch + settings.accumulation - 1) / settings.accumulation;
}

// Micro-batches per step. The last step of an epoch may need fewer.
int micro_batches(const TrainSettings& settings, std::int64_t examples) {
  const std::int64_t micro = micro_batch(settings);
  const std::int64_t needed = (examples + micro - 1) / micro;
  return static_cast<int>(std::clamp<std::int64_t>(needed, 1, settings.accumulation));
}

// Suggests a remedy for an infinite or NaN loss: first clipping, if nothing is clipped.
std::string remedy(const OptimizerSettings& settings) {
  const double norm = settings.max_grad_norm;
  const double rate = settings.learning_rate / 10;
  return norm > 0 ? fmt::format("--learning_rate {:g}", rate)
                  : fmt::format("--max_grad_norm 1 --learning_rate {:g}", rate);
}

}  // namespace

// As torch's DataLoader(drop_last=True): keeps whole micro-batches, not whole steps.
std::int64_t examples_per_epoch(std::int64_t examples, const TrainSettings& settings) {
  if (!settings.drop_last) return examples;
  const std::int64_t micro = micro_batch(settings);
  if (examples < micro) {
    throw Error(Exit::kBadInput, "--dataloader_drop_last",
                fmt::format("the {} examples do not fill one batch of {}", examples, micro),
                "--dataloader_drop_last false");
  }
  return examples / micro * micro;
}

std::int64_t steps_per_epoch(std::int64_t examples, std::int64_t global_batch) {
  return std::max<std::int64_t>(1, (examples + global_batch - 1) / global_batch);
}

std::int64_t steps_per_epoch(std::int64_t examples, const TrainSettings& settings) {
  return steps_per_epoch(examples_per_epoch(examples, settings), settings.global_batch);
}

double epoch_after(std::int64_t steps, std::int64_t examples, const TrainSettings& settings) {
  const std::int64_t usable = examples_per_epoch(examples, settings);
  const std::int64_t per_epoch = steps_per_epoch(usable, settings.global_batch);
  // The last step's examples, which may make fewer micro-batches.
  const std::int64_t last = usable - (per_epoch - 1) * settings.global_batch;
  const std::int64_t whole = micro_batches(settings, settings.global_batch);
  const std::int64_t all = (per_epoch - 1) * whole + micro_batches(settings, last);
  const std::int64_t passes = steps / per_epoch;
  return static_cast<double>(passes) +
         static_cast<double>(steps % per_epoch * whole) / static_cast<double>(all);
}

std::int64_t examples_after(std::int64_t steps, std::int64_t examples,
                            const TrainSettings& settings) {
  const std::int64_t usable = examples_per_epoch(examples, settings);
  const std::int64_t per_epoch = steps_per_epoch(usable, settings.global_batch);
  return steps / per_epoch * usable + std::min(steps % per_epoch * settings.global_batch, usable);
}

Trainer::Trainer(Model<float>& model, const TrainSettings& settings, Ranks& group, ThreadPool& pool,
                 std::vector<float> parameters)
    : Trainer(model, settings, group, pool,
              state_at_start(std::move(parameters),
                             optimizer_state(model.layout(), settings.optimizer))) {}

Trainer::Trainer(Model<float>& model, const TrainSettings& settings, Ranks& group, ThreadPool& pool,
                 TrainingState state)
    : model_(model),
      settings_(settings),
      group_(group),
      buckets_(model.layout(), group, pool, settings.gradient_wire,
               trained_begin(model.layout(), settings.optimizer.frozen_layers)),
      optimizer_(model.layout(), settings.optimizer, pool),
      state_(std::move(state)),
      gradients_(state_.parameters.size()),
      word_uses_(static_cast<std::size_t>(model.layout().tensors.front().shape[0])) {
  model.freeze(settings.optimizer.frozen_layers);
}

// The order of an epoch follows from its number, so a resumed run needs no random generator state.
std::vector<std::int64_t> Trainer::next_examples(const Examples& examples, std::int64_t step) {
  const std::int64_t usable = examples_per_epoch(examples.size(), settings_);
  const std::int64_t per_epoch = steps_per_epoch(usable, settings_.global_batch);
  const std::int64_t epoch = step / per_epoch;
  // Shuffle once per epoch. All ranks get the same order, so it is not sent.
  if (epoch != order_epoch_) {
    order_ = random_order(examples.size(), settings_.data_seed.value_or(settings_.seed) +
                                               static_cast<std::uint64_t>(epoch));
    order_epoch_ = epoch;
  }
  const std::int64_t begin = step % per_epoch * settings_.global_batch;
  const std::int64_t end = std::min(begin + settings_.global_batch, usable);
  return {order_.begin() + begin, order_.begin() + end};
}

// Clears the word rows of the previous step one by one, and everything else. The other word rows
// are 0 already, as Buckets requires.
void Trainer::clear_gradients() {
  const std::int64_t E = embedding_width(model_.config());
  for (const std::int32_t word : words_.all) {
    std::fill_n(gradients_.begin() + model_.layout().word + word * E, E, 0.0F);
  }
  std::fill(gradients_.begin() + model_.layout().after_words, gradients_.end(), 0.0F);
}

void Trainer::set_words(const StepShare& share) {
  std::vector<std::vector<std::int32_t>> of_rank;
  if (settings_.optimizer.frozen_layers > 0) {  // and the embeddings
    of_rank.resize(share.of_rank.size());
    words_ = StepWords(of_rank);
    return;
  }
  // All rows get a gradient from the output layer that has the same weights.
  std::vector<std::int32_t> all;
  if (model_.config().task == Task::kMaskedLm) {
    all.resize(static_cast<std::size_t>(model_.config().vocab_size));
    std::iota(all.begin(), all.end(), 0);
  }
  for (const auto& examples : share.of_rank) {
    of_rank.push_back(
        !all.empty() ? all : words_of(share.examples, examples, model_.config().pad_token_id));
  }
  for (const std::int32_t word : of_rank[static_cast<std::size_t>(group_.rank())]) {
    ++word_uses_[static_cast<std::size_t>(word)];
  }
  words_ = StepWords(of_rank);
}

// The divisor of the step's mean loss, over all ranks; 1 without any term.
double Trainer::terms_of(const Examples& examples, std::span<const std::int64_t> chosen) const {
  const double terms = loss_terms(model_.config(), model_.loss(), examples, chosen, dropout_key());
  return terms > 0 ? terms : 1;
}

// Runs this rank's share with a loss of terms, and returns the sum of its own. weight scales
// gradients to the mean loss. A rank without examples in a micro-batch still takes part in the
// sums.
double Trainer::run_terms(const StepShare& share, const DropoutKey& key, StepWork& work) {
  const double terms = terms_of(share.examples, share.chosen);
  const float weight = 1.0F / static_cast<float>(terms);
  const float* parameters = state_.parameters.data();
  double loss = 0;
  for (int m = 0; m < share.micro_batches; ++m) {
    Batch batch = share.batch(m);
    mask_tokens(key, share.examples.masking, batch);
    Stopwatch watch;
    work.flops += product_flops(model_.config(), batch, settings_.optimizer.frozen_layers);
    model_.forward(parameters, batch, &key);
    work.forward_s += watch.lap();
    loss += model_.backward(parameters, batch, weight, gradients_.data(), [&](std::int64_t offset) {
      if (m + 1 == share.micro_batches) buckets_.done(offset);
    });
    work.backward_s += watch.lap();
  }
  return loss;
}

// Sums start during the last micro-batch, when gradients are complete. Every rank computes all
// shares, so it knows without communication which word rows the others will send.
Buckets::Totals Trainer::accumulate(const Examples& examples, std::span<const std::int64_t> chosen,
                                    StepWork& work) {
  const StepShare share{examples,
                        chosen,
                        deal(examples, chosen, group_.size()),
                        group_.rank(),
                        micro_batches(settings_, std::ssize(chosen)),
                        settings_.padding};
  set_words(share);
  const DropoutKey key = dropout_key();
  buckets_.begin(gradients_.data());
  const double loss =
      joins_examples(model_.config())
          ? run_joint_step(
                {model_, group_, state_.parameters.data(), key}, share, gradients_.data(),
                [&](std::int64_t offset) { buckets_.done(offset); }, work)
          : run_terms(share, key, work);
  Stopwatch watch;
  const Buckets::Totals totals = buckets_.finish(words_, loss);
  work.network_s += watch.lap();
  return totals;
}

StepReport Trainer::step(const Examples& examples) {
  Stopwatch whole;
  const std::vector<std::int64_t> chosen = next_examples(examples, steps_done());
  clear_gradients();
  StepReport report;
  const Buckets::Totals totals = accumulate(examples, chosen, report.work);
  report.loss = totals.loss / terms_of(examples, chosen);
  // All ranks have the same loss, so all of them come here. The gather of rows must end before its
  // buffers are destroyed.
  if (!std::isfinite(report.loss)) {
    buckets_.finish_words(words_);
    group_.leave_it_to_first();
    throw Error(Exit::kBadInput, fmt::format("training step {}", steps_done() + 1),
                fmt::format("the loss is {}", report.loss), remedy(settings_.optimizer));
  }
  Stopwatch watch;
  // The time before the word rows counts for the optimizer, the wait for them for the network.
  const auto before_words = [&] {
    report.work.optimizer_s = report.work.early_optimizer_s = watch.lap();
    buckets_.finish_words(words_);
    report.work.network_s += watch.lap();
  };
  report.learning_rate =
      optimizer_.step(totals.gradient_norm, gradients_.data(), state_, before_words);
  report.work.optimizer_s += watch.lap();
  report.gradient_norm = totals.gradient_norm;
  report.step = steps_done();
  report.epoch = epoch_after(report.step, examples.size(), settings_);
  // Counts all ranks' tokens: tokens/s is for the job.
  for (const std::int64_t example : chosen) report.tokens += examples.tokens_of(example);
  report.work.step_s = whole.lap();
  return report;
}

// Sends 8 bytes per rank, not all parameters. A difference means a bug or a broken machine.
void Trainer::verify_parameters() {
  const std::vector<std::uint64_t> hashes = group_.gather(parameter_hash(parameters()), kHashTag);
  std::vector<std::size_t> different;
  for (std::size_t rank = 0; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0]) different.push_back(rank);
  }
  if (different.empty()) return;
  group_.leave_it_to_first();
  throw Error(Exit::kInternal, fmt::format("rank {}", fmt::join(different, ", ")),
              "the parameters differ from rank 0's after the last step");
}

}  // namespace dtl::trainer
