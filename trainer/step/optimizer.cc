#include "trainer/step/optimizer.h"

#include <algorithm>
#include <cmath>

#include "trainer/maths/kernels.h"

namespace dtl::trainer {
namespace {

constexpr std::int64_t kUpdatePiece = 1 << 15;  // 128 KiB of each array: a task of about 20 us

// As torch.nn.utils.clip_grad_norm_.
float clipping_factor(const OptimizerSettings& settings, double norm) {
  if (settings.max_grad_norm <= 0) return 1.0F;
  return static_cast<float>(std::min(1.0, settings.max_grad_norm / (norm + 1e-6)));
}

// The kernel computes p (1 - lr wd) - lr / c1 * m / (sqrt(v) / c2 + eps). That is torch's form with
// c1 = bc1 and c2 = sqrt(bc2), and transformers' with c1 = bc1 / sqrt(bc2) / (1 - lr wd) and c2
// = 1.
AdamStep kernel_step(const OptimizerSettings& settings, double rate, double weight_decay,
                     std::int64_t number) {
  const auto t = static_cast<double>(number);
  const double bc1 = 1.0 - std::pow(settings.beta1, t);
  const double sqrt_bc2 = std::sqrt(1.0 - std::pow(settings.beta2, t));
  AdamStep step{};
  step.learning_rate = static_cast<float>(rate);
  step.beta1 = static_cast<float>(settings.beta1);
  step.beta2 = static_cast<float>(settings.beta2);
  step.epsilon = static_cast<float>(settings.epsilon);
  step.weight_decay = static_cast<float>(weight_decay);
  switch (settings.form) {
    case AdamForm::kTorch:
      step.bias_correction1 = static_cast<float>(bc1);
      step.sqrt_bias_correction2 = static_cast<float>(sqrt_bc2);
      break;
    case AdamForm::kHuggingFace:
      step.bias_correction1 = static_cast<float>(bc1 / sqrt_bc2 / (1.0 - rate * weight_decay));
      step.sqrt_bias_correction2 = 1.0F;
      break;
  }
  return step;
}

}  // namespace

std::optional<AdamForm> adam_form_named(std::string_view name) {
  if (name == "adamw_torch" || name == "adamw_torch_fused") return AdamForm::kTorch;
  if (name == "adamw_hf") return AdamForm::kHuggingFace;
  return std::nullopt;
}

const char* adam_form_name(AdamForm form) {
  return form == AdamForm::kTorch ? "adamw_torch" : "adamw_hf";
}

double learning_rate(const OptimizerSettings& settings, std::int64_t step) {
  return settings.learning_rate *
         schedule_factor(settings.schedule, step, settings.warmup_steps, settings.total_steps);
}

AdamW::AdamW(const ParameterLayout& layout, const OptimizerSettings& settings, ThreadPool& pool)
    : settings_(settings), pool_(pool) {
  for (const ParameterInfo& tensor : layout.tensors) {
    auto& pieces = tensor.offset == layout.word ? word_pieces_ : pieces_;
    for (std::int64_t done = 0; done < tensor.count; done += kUpdatePiece) {
      pieces.push_back(
          {tensor.offset + done, std::min(kUpdatePiece, tensor.count - done), tensor.decay});
    }
  }
}

double AdamW::step(double gradient_norm, const float* gradients, TrainingState& state,
                   const std::function<void()>& before_words) const {
  const double rate = learning_rate(settings_, state.step);
  ++state.step;
  AdamStep plain = kernel_step(settings_, rate, 0.0, state.step);
  AdamStep decaying = kernel_step(settings_, rate, settings_.weight_decay, state.step);
  plain.gradient_scale = decaying.gradient_scale = clipping_factor(settings_, gradient_norm);
  float* parameters = state.parameters.data();
  float *m = state.m.data(), *v = state.v.data();
  const auto update = [&](const std::vector<Piece>& pieces) {
    const auto count = static_cast<std::int64_t>(pieces.size());
    pool_.run(count, 8 * count * kUpdatePiece, [&](std::int64_t index, int) {
      const Piece& piece = pieces[static_cast<std::size_t>(index)];
      optimizer_kernels().adamw(piece.count, piece.decay ? decaying : plain,
                                gradients + piece.begin, parameters + piece.begin, m + piece.begin,
                                v + piece.begin);
    });
  };
  update(pieces_);
  if (before_words) before_words();
  update(word_pieces_);
  return rate;
}

}  // namespace dtl::trainer
