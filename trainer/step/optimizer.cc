// The formulas of optimizer.h, in the form of maths/kernels.h. Values that depend on the step
// number are computed here, once and in double; the kernels get them as floats.
#include "trainer/step/optimizer.h"

#include <algorithm>
#include <cmath>

#include "trainer/maths/kernels.h"
#include "trainer/step/adafactor.h"

namespace dtl::trainer {
namespace {

constexpr std::int64_t kUpdatePiece = 1 << 15;  // 128 KiB of each array: a task of about 20 us

struct NamedOptimizer {
  const char* name;
  OptimizerKind kind;
};
// Messages show the first name of a kind.
constexpr NamedOptimizer kOptimizers[] = {
    {"adamw_torch", OptimizerKind::kAdamTorch},    {"adamw_torch_fused", OptimizerKind::kAdamTorch},
    {"adamw_hf", OptimizerKind::kAdamHuggingFace}, {"sgd", OptimizerKind::kSgd},
    {"adafactor", OptimizerKind::kAdafactor},      {"lion", OptimizerKind::kLion},
    {"lion_32bit", OptimizerKind::kLion}};

// As torch.nn.utils.clip_grad_norm_, including the 1e-6.
float clipping_factor(const OptimizerSettings& settings, double norm) {
  if (settings.max_grad_norm <= 0) return 1.0F;
  return static_cast<float>(std::min(1.0, settings.max_grad_norm / (norm + 1e-6)));
}

// The kernel computes p keep - rate m / (sqrt(v) / c2 + eps), with keep = 1 - lr wd. That is
// torch's form with rate = lr / bc1 and c2 = sqrt(bc2), and transformers' with rate = lr sqrt(bc2)
// / bc1 keep and c2 = 1.
AdamStep adam_step(const OptimizerSettings& settings, double rate, double weight_decay,
                   std::int64_t number) {
  const auto t = static_cast<double>(number);
  const double bc1 = 1.0 - std::pow(settings.beta1, t);
  const double sqrt_bc2 = std::sqrt(1.0 - std::pow(settings.beta2, t));
  AdamStep step{};
  const double keep = 1.0 - rate * weight_decay;
  step.keep = static_cast<float>(keep);
  step.beta1 = static_cast<float>(settings.beta1);
  step.beta2 = static_cast<float>(settings.beta2);
  step.rest1 = static_cast<float>(1.0 - settings.beta1);
  step.rest2 = static_cast<float>(1.0 - settings.beta2);
  step.epsilon = static_cast<float>(settings.epsilon);
  if (settings.kind == OptimizerKind::kAdamTorch) {
    step.rate = static_cast<float>(rate / bc1);
    step.sqrt_bias_correction2 = static_cast<float>(sqrt_bc2);
  } else {
    step.rate = static_cast<float>(rate / bc1 * sqrt_bc2 * keep);
    step.sqrt_bias_correction2 = 1.0F;
  }
  return step;
}

// torch's first momentum is the first gradient, without dampening: so keep is 0 and rest is 1.
SgdStep sgd_step(const OptimizerSettings& settings, double rate, double weight_decay, bool first) {
  SgdStep step{};
  step.learning_rate = static_cast<float>(rate);
  step.weight_decay = static_cast<float>(weight_decay);
  step.momentum = static_cast<float>(settings.momentum);
  step.keep = first ? 0.0F : step.momentum;
  step.rest = first ? 1.0F : static_cast<float>(1.0 - settings.dampening);
  step.nesterov = settings.nesterov;
  return step;
}

LionStep lion_step(const OptimizerSettings& settings, double rate, double weight_decay) {
  LionStep step{};
  step.learning_rate = static_cast<float>(rate);
  step.keep = static_cast<float>(1.0 - rate * weight_decay);
  step.beta1 = static_cast<float>(settings.beta1);
  step.beta2 = static_cast<float>(settings.beta2);
  step.rest1 = static_cast<float>(1.0 - settings.beta1);
  step.rest2 = static_cast<float>(1.0 - settings.beta2);
  return step;
}

}  // namespace

std::optional<OptimizerKind> optimizer_named(std::string_view name) {
  for (const NamedOptimizer& known : kOptimizers) {
    if (name == known.name) return known.kind;
  }
  return std::nullopt;
}

const char* optimizer_name(OptimizerKind kind) {
  for (const NamedOptimizer& known : kOptimizers) {
    if (kind == known.kind) return known.name;
  }
  __builtin_unreachable();
}

double learning_rate(const OptimizerSettings& settings, std::int64_t step) {
  return settings.learning_rate * schedule_factor(settings.schedule, step, settings.warmup_steps,
                                                  settings.total_steps, settings.shape);
}

Optimizer::Optimizer(const ParameterLayout& layout, const OptimizerSettings& settings,
                     ThreadPool& pool)
    : settings_(settings), first_(trained_begin(layout, settings.frozen_layers)), pool_(pool) {
  if (settings.kind == OptimizerKind::kAdafactor) {
    adafactor_ = std::make_unique<const Adafactor>(layout, first_, pool);
    return;
  }
  for (const ParameterInfo& tensor : layout.tensors) {
    if (tensor.offset < first_) continue;
    // Word rows are updated last, because their gradients arrive last (buckets.h).
    auto& pieces = tensor.offset == layout.word ? word_pieces_ : pieces_;
    for (std::int64_t done = 0; done < tensor.count; done += kUpdatePiece) {
      pieces.push_back(
          {tensor.offset + done, std::min(kUpdatePiece, tensor.count - done), tensor.decay});
    }
  }
}

Optimizer::~Optimizer() = default;

// For the step that state.step already counts. The kernel's arguments exist with and without weight
// decay. A piece belongs to one tensor, so it uses one of the two.
Optimizer::Update Optimizer::update_of_piece(double rate, double gradient_norm,
                                             const float* gradients, TrainingState& state) const {
  const float scale = clipping_factor(settings_, gradient_norm);
  const double decay = settings_.weight_decay;
  float* parameters = state.parameters.data();
  float* m = state.m.data();
  const std::int64_t trained = first_;
  // Calls what(count, step, gradients, parameters, begin in m and v) for a piece.
  const auto with = [=](auto plain, auto decaying, auto what) -> Update {
    plain.gradient_scale = decaying.gradient_scale = scale;
    return [=](const Piece& piece) {
      what(piece.count, piece.decay ? decaying : plain, gradients + piece.begin,
           parameters + piece.begin, piece.begin - trained);
    };
  };
  if (settings_.kind == OptimizerKind::kSgd) {
    const bool first = state.step == 1;
    // Without momentum, optimizer_state() leaves m empty.
    float* buffer = state.m.empty() ? nullptr : m;
    return with(
        sgd_step(settings_, rate, 0, first), sgd_step(settings_, rate, decay, first),
        [=](std::int64_t count, const SgdStep& step, const float* g, float* p, std::int64_t begin) {
          optimizer_kernels().sgd(count, step, g, p, buffer ? buffer + begin : nullptr);
        });
  }
  if (settings_.kind == OptimizerKind::kLion) {
    return with(
        lion_step(settings_, rate, 0), lion_step(settings_, rate, decay),
        [=](std::int64_t count, const LionStep& step, const float* g, float* p,
            std::int64_t begin) { optimizer_kernels().lion(count, step, g, p, m + begin); });
  }
  float* v = state.v.data();
  return with(
      adam_step(settings_, rate, 0, state.step), adam_step(settings_, rate, decay, state.step),
      [=](std::int64_t count, const AdamStep& step, const float* g, float* p, std::int64_t begin) {
        optimizer_kernels().adamw(count, step, g, p, m + begin, v + begin);
      });
}

void Optimizer::run(const std::vector<Piece>& pieces, const Update& update) const {
  const auto count = static_cast<std::int64_t>(pieces.size());
  pool_.run(count, 8 * count * kUpdatePiece,
            [&](std::int64_t index, int) { update(pieces[static_cast<std::size_t>(index)]); });
}

// The learning rate uses the step number from 0, the bias corrections count from 1. So does
// transformers, where the scheduler steps after the optimizer.
double Optimizer::step(double gradient_norm, const float* gradients, TrainingState& state,
                       const std::function<void()>& before_words) const {
  const double rate = learning_rate(settings_, state.step);
  ++state.step;
  if (adafactor_) {
    // transformers' default. beta2 is 0 at the first step, so its squares replace the initial
    // zeros.
    constexpr double kDecayRate = -0.8;
    const double beta2 = 1.0 - std::pow(static_cast<double>(state.step), kDecayRate);
    const AdafactorStep step{rate, settings_.weight_decay, beta2,
                             clipping_factor(settings_, gradient_norm)};
    adafactor_->step_others(step, gradients, state);
    if (before_words) before_words();
    adafactor_->step_words(step, gradients, state);
    return rate;
  }
  const Update update = update_of_piece(rate, gradient_norm, gradients, state);
  run(pieces_, update);
  if (before_words) before_words();
  run(word_pieces_, update);
  return rate;
}

}  // namespace dtl::trainer
