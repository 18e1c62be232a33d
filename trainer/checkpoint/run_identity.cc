// Lists the differences between two runs, with the names of their options. Reads no files.
#include "trainer/checkpoint/run_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trainer/embeddings/sentence_folder.h"

namespace dtl::trainer {
namespace {

// 64-bit FNV-1a over 32-bit words. Includes sizes, so moving an element from one vector to the next
// changes the hash.
class Hash {
 public:
  template <class T>
  void operator()(const std::vector<T>& values) {
    add(static_cast<std::uint32_t>(values.size()));
    for (const T value : values) {
      if constexpr (sizeof(T) == 4) {
        std::uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        add(bits);
      } else {
        add(static_cast<std::uint32_t>(value));
      }
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  void add(std::uint32_t bits) { value_ = (value_ ^ bits) * 0x100000001B3; }
  std::uint64_t value_ = 0xCBF29CE484222325;
};

// Checkpoints store this hash: changing the order of calls would refuse all older ones. So what
// older versions had not comes last, and only if it is used.
std::uint64_t hash_of(const Examples& examples) {
  Hash hash;
  hash(examples.ids);
  hash(examples.types);
  hash(examples.starts);
  hash(examples.labels);
  hash(examples.targets);
  hash(examples.answer_starts);
  hash(examples.answer_ends);
  if (examples.texts != 1)
    hash(std::vector<std::int32_t>{static_cast<std::int32_t>(examples.texts)});
  if (const MaskingRule& rule = examples.masking; rule.probability > 0) {
    const auto probability = static_cast<float>(rule.probability);
    hash(std::vector<float>{probability, rule.whole_words ? 1.0F : 0.0F});
  }
  if (!examples.token_labels.empty()) hash(examples.token_labels);
  return hash.value();
}

// The first few weights.
std::string shown(const std::vector<double>& weights) {
  if (weights.empty()) return "none";
  constexpr std::size_t kMost = 6;
  const auto end = weights.begin() + static_cast<std::ptrdiff_t>(std::min(weights.size(), kMost));
  return fmt::format("{:.6g}{}", fmt::join(weights.begin(), end, ", "),
                     weights.size() > kMost ? ", .." : "");
}

class Comparison {
 public:
  template <class T>
  void operator()(const char* name, const T& saved, const T& now) {
    if (saved != now) found_.push_back(fmt::format("{} was {} and is {}", name, saved, now));
  }
  void say(std::string text) { found_.push_back(std::move(text)); }
  bool any() const { return !found_.empty(); }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

// The same --warmup_ratio gives a longer run more steps. transformers rounds up, so compare the
// saved steps with the same rounding.
bool warms_up_alike(const OptimizerSettings& saved, const OptimizerSettings& now) {
  return now.warmup_share > 0 && now.total_steps > saved.total_steps &&
         std::ceil(now.warmup_share * static_cast<double>(saved.total_steps)) ==
             static_cast<double>(saved.warmup_steps);
}

void compare_optimizers(Comparison& compare, const OptimizerSettings& saved,
                        const OptimizerSettings& now) {
  compare("optim", std::string(optimizer_name(saved.kind)), std::string(optimizer_name(now.kind)));
  compare("learning_rate", saved.learning_rate, now.learning_rate);
  compare("weight_decay", saved.weight_decay, now.weight_decay);
  compare("adam_beta1", saved.beta1, now.beta1);
  compare("adam_beta2", saved.beta2, now.beta2);
  compare("adam_epsilon", saved.epsilon, now.epsilon);
  compare("the momentum (--optim_args)", saved.momentum, now.momentum);
  compare("the dampening (--optim_args)", saved.dampening, now.dampening);
  compare("nesterov (--optim_args)", saved.nesterov, now.nesterov);
  compare("max_grad_norm", saved.max_grad_norm, now.max_grad_norm);
  compare("freeze_layers", saved.frozen_layers, now.frozen_layers);
  compare("lr_scheduler_type", std::string(schedule_name(saved.schedule)),
          std::string(schedule_name(now.schedule)));
  if (now.schedule != Schedule::kConstant && !warms_up_alike(saved, now)) {
    compare("warmup_steps", saved.warmup_steps, now.warmup_steps);
  }
  // A longer run is allowed: resume_point.cc reports how the learning rate changes.
  if (depends_on_total(now.schedule) && now.total_steps < saved.total_steps) {
    compare("the number of steps", saved.total_steps, now.total_steps);
  }
  // The shapes of different schedules are not comparable.
  if (saved.schedule == now.schedule && saved.shape != now.shape) {
    compare.say("lr_scheduler_kwargs differ");
  }
}

std::string loss_name(const RunIdentity& run) {
  return run.task_loss.empty() ? "that of another task" : fmt::format("'{}'", run.task_loss);
}

// What the options of one task change; empty: nothing.
std::string task_loss(const Model<float>& model) {
  const ModelConfig& config = model.config();
  if (config.task == Task::kReranking) {
    return model.loss().candidates == CandidateLoss::kSoftmax ? "softmax" : "binary";
  }
  if (config.task != Task::kEmbeddings) return "";
  return fmt::format("{}, {} pooling{}", describe(model.loss().embedding),
                     pooling_name(config.embedding.pooling),
                     config.embedding.normalize ? ", normalized" : "");
}

}  // namespace

RunIdentity identity_of(const Model<float>& model, const TrainSettings& settings,
                        const Examples& examples, Precision precision) {
  RunIdentity identity;
  identity.seed = settings.seed;
  identity.data_seed = settings.data_seed;
  identity.global_batch = settings.global_batch;
  identity.examples = examples.size();
  identity.examples_per_epoch = examples_per_epoch(examples.size(), settings);
  identity.data_hash = hash_of(examples);
  identity.optimizer = settings.optimizer;
  identity.precision = precision;
  identity.gradient_wire = settings.gradient_wire;
  identity.task_loss = task_loss(model);
  identity.label_smoothing = model.loss().label_smoothing;
  identity.focal_gamma = model.loss().focal_gamma;
  identity.label_weights = model.loss().label_weights;
  return identity;
}

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "fp32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kBf16Emulated:
      return "bf16=emulate";
  }
  __builtin_unreachable();
}

std::optional<Precision> precision_named(std::string_view name) {
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBf16, Precision::kBf16Emulated}) {
    if (name == precision_name(precision)) return precision;
  }
  return std::nullopt;
}

std::string_view gradient_wire_name(dt_wire wire) {
  return wire == DT_WIRE_BF16 ? "bf16" : wire == DT_WIRE_F16 ? "f16" : "f32";
}

std::optional<dt_wire> gradient_wire_named(std::string_view name) {
  for (const dt_wire wire : {DT_WIRE_DEFAULT, DT_WIRE_BF16, DT_WIRE_F16}) {
    if (name == gradient_wire_name(wire)) return wire;
  }
  return std::nullopt;
}

std::vector<std::string> differences(const RunIdentity& saved, const RunIdentity& now) {
  Comparison compare;
  compare("seed", saved.seed, now.seed);
  // Without its own seed, the order of examples follows the run's seed.
  if (saved.data_seed || now.data_seed) {
    compare("data_seed", saved.data_seed.value_or(saved.seed), now.data_seed.value_or(now.seed));
  }
  compare("the global batch", saved.global_batch, now.global_batch);
  compare("the number of examples", saved.examples, now.examples);
  // Other differences per epoch follow from those above.
  if (!compare.any()) {
    compare("the number of examples of an epoch", saved.examples_per_epoch, now.examples_per_epoch);
  }
  // A different number of examples is reported above and explains a different hash.
  if (saved.examples == now.examples && saved.data_hash != now.data_hash) {
    compare.say("the training data or its tokenization differs");
  }
  // Old checkpoints do not record these two, so runs from them accept any value.
  if (saved.precision && now.precision) {
    compare("the precision (--bf16)", precision_name(*saved.precision),
            precision_name(*now.precision));
  }
  if (saved.gradient_wire && now.gradient_wire) {
    compare("gradient_wire", gradient_wire_name(*saved.gradient_wire),
            gradient_wire_name(*now.gradient_wire));
  }
  if (saved.task_loss != now.task_loss) {
    compare.say(fmt::format("the loss was {} and is {}", loss_name(saved), loss_name(now)));
  }
  if (saved.label_smoothing && now.label_smoothing) {
    compare("label_smoothing_factor", *saved.label_smoothing, *now.label_smoothing);
  }
  compare("focal_gamma", saved.focal_gamma, now.focal_gamma);
  if (saved.label_weights != now.label_weights) {
    compare.say(fmt::format("label_weights were {} and are {}", shown(saved.label_weights),
                            shown(now.label_weights)));
  }
  compare_optimizers(compare, saved.optimizer, now.optimizer);
  return compare.take();
}

}  // namespace dtl::trainer
