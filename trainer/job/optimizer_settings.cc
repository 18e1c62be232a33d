// Only translates. parse_settings() has checked the names, so the look-ups here cannot fail.
#include "trainer/job/optimizer_settings.h"

#include "trainer/settings/optim_args.h"
#include "trainer/settings/schedule_options.h"

namespace dtl::trainer {
namespace {

ScheduleShape schedule_shape(const Settings& s) {
  const ScheduleOptions options = schedule_options(s);
  ScheduleShape shape;
  shape.cycles = options.num_cycles;
  shape.power = options.power;
  shape.end_rate = options.end_rate;
  shape.timescale = options.timescale;
  shape.least_rate = options.min_rate;
  shape.first_rate = options.warmup_rate;
  shape.decay_steps = options.num_decay_steps;
  shape.stable_steps = options.num_stable_steps;
  shape.warmup_curve = *curve_named(options.warmup_type);  // valid names only
  shape.decay_curve = *curve_named(options.decay_type);
  return shape;
}

}  // namespace

OptimizerSettings optimizer_settings(const Settings& s, std::int64_t total_steps) {
  const OptimArgs args = optim_args(s);
  OptimizerSettings o;
  o.learning_rate = s.learning_rate;
  o.weight_decay = s.weight_decay;
  o.beta1 = s.adam_beta1;
  o.beta2 = s.adam_beta2;
  o.epsilon = s.adam_epsilon;
  o.momentum = args.momentum;
  o.dampening = args.dampening;
  o.nesterov = args.nesterov;
  o.max_grad_norm = s.max_grad_norm;
  o.frozen_layers = s.freeze_layers;
  o.total_steps = total_steps;
  // As in transformers, a --warmup_steps below 1 is a share of all steps.
  if (s.warmup_steps < 1) o.warmup_share = s.warmup_steps > 0 ? s.warmup_steps : s.warmup_ratio;
  o.warmup_steps = resolve_warmup(s, total_steps);
  o.schedule = *schedule_named(s.scheduler);  // a valid name
  o.shape = schedule_shape(s);
  o.kind = *optimizer_named(s.optimizer);
  return o;
}

}  // namespace dtl::trainer
