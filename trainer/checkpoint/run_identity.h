#pragma once
// RunIdentity: the settings that must be equal for a resumed run to compute what the interrupted
// run would have. Numbers of ranks, threads and micro-batches are not included: they only change
// rounding. A plain value.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/maths/gemm.h"
#include "trainer/step/trainer.h"

namespace dtl::trainer {

struct RunIdentity {
  std::uint64_t seed = 0;
  std::int64_t global_batch = 0;
  std::int64_t examples = 0, examples_per_epoch = 0;
  std::uint64_t data_hash = 0;  // of tokens and labels
  OptimizerSettings optimizer = {};
  std::optional<std::uint64_t> data_seed = {};  // none: same as seed
  // Unknown: not compared; old checkpoints lack them.
  std::optional<Precision> precision = {};
  std::optional<dt_wire> gradient_wire = {};
  // Of embeddings and reranking, with what else of their options the loss follows from. Empty:
  // another task.
  std::string task_loss = {};
  std::optional<double> label_smoothing = {};
  // Older programs had neither.
  double focal_gamma = 0;
  std::vector<double> label_weights = {};
};

RunIdentity identity_of(const Model<float>& model, const TrainSettings& settings,
                        const Examples& examples, Precision precision);

// "fp32", "bf16", "bf16=emulate"; precision_named() is the inverse.
std::string_view precision_name(Precision precision);
std::optional<Precision> precision_named(std::string_view name);

// "f32" (DT_WIRE_DEFAULT), "bf16", "f16"; gradient_wire_named() is the inverse.
std::string_view gradient_wire_name(dt_wire wire);
std::optional<dt_wire> gradient_wire_named(std::string_view name);

// "learning_rate was 0.001 and is 0.002" for each relevant difference. A run may become longer; it
// may become shorter only with a constant learning rate.
std::vector<std::string> differences(const RunIdentity& saved, const RunIdentity& now);

}  // namespace dtl::trainer
