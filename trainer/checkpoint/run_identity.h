#pragma once
// RunIdentity: what must be the same for a resumed run to compute what the interrupted one would
// have. The numbers of ranks, threads and micro-batches are not part of it: they change rounding
// only. A plain value.

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
  std::uint64_t data_hash = 0;  // of tokens and of what is to be learnt
  OptimizerSettings optimizer = {};
  std::optional<std::uint64_t> data_seed = {};  // none: seed
  // Unknown: not compared; checkpoints had none once.
  std::optional<Precision> precision = {};
  std::optional<dt_wire> gradient_wire = {};
};

RunIdentity identity_of(const TrainSettings& settings, const Examples& examples,
                        Precision precision);

// "fp32", "bf16", "bf16=emulate"; and back.
std::string_view precision_name(Precision precision);
std::optional<Precision> precision_named(std::string_view name);

// "f32", which is DT_WIRE_DEFAULT, "bf16", "f16"; and back.
std::string_view gradient_wire_name(dt_wire wire);
std::optional<dt_wire> gradient_wire_named(std::string_view name);

// "learning_rate was 0.001 and is 0.002" for everything that differs and matters. A run may become
// longer; shorter only where the learning rate is constant.
std::vector<std::string> differences(const RunIdentity& saved, const RunIdentity& now);

}  // namespace dtl::trainer
