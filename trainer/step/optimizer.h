#pragma once
// AdamW and clipping by the global norm. The same bits on every rank: no dependence on threads or
// on the CPU's vectors.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "trainer/maths/thread_pool.h"
#include "trainer/model/parameters.h"
#include "trainer/step/schedule.h"
#include "trainer/step/training_state.h"

namespace dtl::trainer {

// With g the clipped gradient, bc = 1 - beta^t, both keep m = beta1 m + (1 - beta1) g and
// v = beta2 v + (1 - beta2) g^2. They differ in where epsilon stands and when weights decay:
//   kTorch (torch.optim.AdamW):        p *= 1 - lr wd;  p -= lr / bc1 * m / (sqrt(v / bc2) + eps)
//   kHuggingFace (transformers.AdamW): p -= lr sqrt(bc2) / bc1 * m / (sqrt(v) + eps);
//                                      p *= 1 - lr wd
enum class AdamForm { kTorch, kHuggingFace };

// Hugging Face's names: "adamw_torch", "adamw_torch_fused" (the same), "adamw_hf".
std::optional<AdamForm> adam_form_named(std::string_view name);
const char* adam_form_name(AdamForm form);

struct OptimizerSettings {
  double learning_rate = 5e-5;
  double weight_decay = 0.0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double max_grad_norm = 1.0;  // 0: no clipping
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
  Schedule schedule = Schedule::kLinear;
  AdamForm form = AdamForm::kTorch;
};

// Of step number `step`, from 0.
double learning_rate(const OptimizerSettings& settings, std::int64_t step);

class AdamW {
 public:
  AdamW(const ParameterLayout& layout, const OptimizerSettings& settings, ThreadPool& pool);

  // The update number state.step + 1. `gradient_norm` is the L2 norm of all gradients; where it is
  // more than max_grad_norm they count as scaled down to it. Word embeddings come last;
  // `before_words` is called before their gradients are read. Returns the learning rate used.
  double step(double gradient_norm, const float* gradients, TrainingState& state,
              const std::function<void()>& before_words = {}) const;

 private:
  struct Piece {  // of one tensor
    std::int64_t begin, count;
    bool decay;
  };
  OptimizerSettings settings_;
  ThreadPool& pool_;
  std::vector<Piece> pieces_, word_pieces_;
};

}  // namespace dtl::trainer
