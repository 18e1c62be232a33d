#pragma once
// Optimizers, and clipping by the global norm. Same bits on every rank, independent of threads and
// the CPU's vector width.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "trainer/layers/parameters.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/step/schedule.h"
#include "trainer/step/training_state.h"

namespace dtl::trainer {

// With g the clipped gradient and bc = 1 - beta^t, both AdamWs keep m = beta1 m + (1 - beta1) g and
// v = beta2 v + (1 - beta2) g^2. They differ in where epsilon is added and when weights decay:
//   kAdamTorch (torch.optim.AdamW):    p *= 1 - lr wd;  p -= lr / bc1 * m / (sqrt(v / bc2) + eps)
//   kAdamHuggingFace (transformers.AdamW):
//                                      p -= lr sqrt(bc2) / bc1 * m / (sqrt(v) + eps);
//                                      p *= 1 - lr wd
//   kSgd (torch.optim.SGD):            g += wd p;  m = momentum m + (1 - dampening) g, at first g;
//                                      p -= lr m, with nesterov lr (g + momentum m)
//   kLion (Chen et al. 2023):          p = p (1 - lr wd) - lr sign(beta1 m + (1 - beta1) g);
//                                      m = beta2 m + (1 - beta2) g
//   kAdafactor:                        adafactor.h
enum class OptimizerKind { kAdamTorch, kAdamHuggingFace, kSgd, kAdafactor, kLion };

// transformers' names and "lion"; "adamw_torch_fused" and "lion_32bit" are aliases.
std::optional<OptimizerKind> optimizer_named(std::string_view name);
const char* optimizer_name(OptimizerKind kind);

struct OptimizerSettings {
  double learning_rate = 5e-5;
  double weight_decay = 0.0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double momentum = 0, dampening = 0;  // sgd
  bool nesterov = false;               // sgd
  double max_grad_norm = 1.0;          // 0: no clipping
  int frozen_layers = 0;               // these and the embeddings stay as they are; 0: nothing does
  double warmup_share = 0;             // of total_steps, if warmup_steps was computed from it
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
  Schedule schedule = Schedule::kLinear;
  ScheduleShape shape = {};
  OptimizerKind kind = OptimizerKind::kAdamTorch;
};

// For step number `step`, from 0.
double learning_rate(const OptimizerSettings& settings, std::int64_t step);

class Adafactor;

class Optimizer {
 public:
  Optimizer(const ParameterLayout& layout, const OptimizerSettings& settings, ThreadPool& pool);
  ~Optimizer();

  // Makes update number state.step + 1; optimizer_state() describes `state`. `gradient_norm` is the
  // L2 norm of all gradients; if it exceeds max_grad_norm, gradients are scaled down to that.
  // Updates word embeddings last, and calls `before_words` before it reads their gradients. Returns
  // the learning rate.
  double step(double gradient_norm, const float* gradients, TrainingState& state,
              const std::function<void()>& before_words = {}) const;

 private:
  struct Piece {  // part of one tensor
    std::int64_t begin, count;
    bool decay;
  };
  using Update = std::function<void(const Piece&)>;
  Update update_of_piece(double rate, double gradient_norm, const float* gradients,
                         TrainingState& state) const;
  void run(const std::vector<Piece>& pieces, const Update& update) const;

  OptimizerSettings settings_;
  std::int64_t first_;  // of the parameters that are trained
  ThreadPool& pool_;
  std::vector<Piece> pieces_, word_pieces_;
  std::unique_ptr<const Adafactor> adafactor_;  // only for kAdafactor
};

}  // namespace dtl::trainer
