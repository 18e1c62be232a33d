// The last two lines are dttrain's own: model, ranks, threads and kernels, which decide the speed.
#include "trainer/job/training_lines.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/text.h"
#include "trainer/families/model_family.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"
#include "trainer/report/progress.h"

namespace dtl::trainer {

void say_banner(const Run& run, const TrainSettings& settings) {
  const ModelConfig& c = run.prepared.config;
  const std::int64_t examples = run.prepared.train.size();
  const auto per_epoch = static_cast<double>(steps_per_epoch(examples, settings));
  say("***** Running training *****");
  say(fmt::format("  Num examples = {}", examples));
  say(fmt::format("  Num Epochs = {:.4g}", static_cast<double>(settings.total_steps) / per_epoch));
  say(fmt::format("  Total train batch size (all ranks, with accumulation) = {}",
                  settings.global_batch));
  say(fmt::format("  Gradient Accumulation steps = {}", settings.accumulation));
  say(fmt::format("  Total optimization steps = {}", settings.total_steps));
  say(fmt::format("  Number of trainable parameters = {}",
                  parameter_count(run.model.layout(), run.settings.freeze_layers)));
  say(fmt::format("  Model = {}, {} layers, hidden {}, {} heads, {}", family_of(c).name, c.layers,
                  c.hidden_size, c.heads, task_kind(run.settings.task).outputs(c)));
  say(fmt::format("  Ranks = {}, threads of each = {}, kernels = {} and OpenBLAS {}",
                  run.group.size(), run.pool.size(), kernel_level(), gemm_kernel_name()));
}

}  // namespace dtl::trainer
