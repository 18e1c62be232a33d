#include "trainer/optimizer.h"

#include <algorithm>
#include <cmath>

#include "trainer/kernels.h"

namespace dtl::trainer {
namespace {

constexpr std::int64_t kPiece = 1 << 15;  // 128 KiB of each array: a task of about 20 us

}  // namespace

double linear_schedule(const OptimizerSettings& settings, std::int64_t step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(settings.warmup_steps);
  const auto total = static_cast<double>(settings.total_steps);
  if (step < settings.warmup_steps) return settings.learning_rate * at / std::max(1.0, warmup);
  return settings.learning_rate * std::max(0.0, (total - at) / std::max(1.0, total - warmup));
}

AdamW::AdamW(const ParameterLayout& layout, const OptimizerSettings& settings, ThreadPool& pool)
    : settings_(settings), pool_(pool) {
  const ParameterInfo& words = layout.tensors.front();
  word_begin_ = words.offset;
  word_end_ = words.offset + words.count;
  hidden_ = words.shape[1];
  for (const ParameterInfo& tensor : layout.tensors) {
    for (std::int64_t done = 0; done < tensor.count; done += kPiece) {
      pieces_.push_back(
          {tensor.offset + done, std::min(kPiece, tensor.count - done), tensor.decay});
    }
  }
  squares_.resize(pieces_.size());
  m_.resize(static_cast<std::size_t>(layout.total));
  v_.resize(static_cast<std::size_t>(layout.total));
}

double AdamW::gradient_norm(std::span<const std::int32_t> words, const float* gradients) {
  pool_.run(static_cast<std::int64_t>(pieces_.size()), 8 * static_cast<std::int64_t>(m_.size()),
            [&](std::int64_t index, int) {
              const Piece& piece = pieces_[static_cast<std::size_t>(index)];
              const bool dense = piece.begin >= word_end_;
              squares_[static_cast<std::size_t>(index)] =
                  dense ? optimizer_kernels().sum_squares(piece.count, gradients + piece.begin)
                        : 0.0;
            });
  double sum = 0;
  for (const double squares : squares_) sum += squares;
  for (const std::int32_t word : words) {
    sum += optimizer_kernels().sum_squares(hidden_, gradients + word_begin_ + word * hidden_);
  }
  return std::sqrt(sum);
}

AdamW::Result AdamW::step(std::span<const std::int32_t> words, const float* gradients,
                          float* parameters) {
  const double norm = gradient_norm(words, gradients);
  const double rate = linear_schedule(settings_, done_);
  ++done_;
  const auto t = static_cast<double>(done_);
  AdamStep step{};
  step.learning_rate = static_cast<float>(rate);
  step.beta1 = static_cast<float>(settings_.beta1);
  step.beta2 = static_cast<float>(settings_.beta2);
  step.epsilon = static_cast<float>(settings_.epsilon);
  step.bias_correction1 = static_cast<float>(1.0 - std::pow(settings_.beta1, t));
  step.sqrt_bias_correction2 = static_cast<float>(std::sqrt(1.0 - std::pow(settings_.beta2, t)));
  step.gradient_scale = 1.0F;
  if (settings_.max_grad_norm > 0) {  // as torch.nn.utils.clip_grad_norm_
    step.gradient_scale =
        static_cast<float>(std::min(1.0, settings_.max_grad_norm / (norm + 1e-6)));
  }
  pool_.run(static_cast<std::int64_t>(pieces_.size()), 8 * static_cast<std::int64_t>(m_.size()),
            [&](std::int64_t index, int) {
              const Piece& piece = pieces_[static_cast<std::size_t>(index)];
              AdamStep own = step;
              own.weight_decay = piece.decay ? static_cast<float>(settings_.weight_decay) : 0.0F;
              optimizer_kernels().adamw(piece.count, own, gradients + piece.begin,
                                        parameters + piece.begin, m_.data() + piece.begin,
                                        v_.data() + piece.begin);
            });
  return {norm, rate};
}

}  // namespace dtl::trainer
