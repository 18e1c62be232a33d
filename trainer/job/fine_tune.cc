#include "trainer/job/fine_tune.h"

#include <fmt/format.h>

#include "base/fd.h"
#include "base/log.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/job/broadcast_values.h"
#include "trainer/job/load_inputs.h"
#include "trainer/job/run_context.h"
#include "trainer/job/training_loop.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/kernels.h"
#include "trainer/report/progress.h"
#include "trainer/report/run_report.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kEndTag = 0xFFFF0020;

// A folder with checkpoints is one to go on in.
void make_output_place(const Settings& s) {
  const bool goes_on = s.resume_from_checkpoint != "false" && find_last_checkpoint(s.output_dir);
  make_output_folder(s.output_dir, s.overwrite_output_dir || !s.do_train || goes_on);
}

Prepared prepare_first(Settings& settings) {
  for (const std::string& notice : settings.notices) log_notice(notice);
  if (settings.task == "auto") set_task(settings, data_task(settings));
  if (!settings.output_dir.empty()) make_output_place(settings);
  if (!settings.debug_dump.empty()) make_output_folder(settings.debug_dump, true);
  Prepared prepared = prepare(settings);
  for (const std::string& notice : prepared.notices) log_notice(notice);
  return prepared;
}

std::string report_of(const Run& run) {
  const ModelConfig& c = run.prepared.config;
  Report report = run_report(run.settings, run.results);
  report.summary =
      fmt::format("{} steps, {:.4g} passes over {} examples, {} parameters, {}.", run.last.step,
                  run.last.epoch, run.prepared.train.size(), parameter_count(run.model.layout()),
                  run.group.size() == 1 ? "1 rank" : fmt::format("{} ranks", run.group.size()));
  run.times.add_to(report);
  report.machine = {{"ranks", fmt::format("{}", run.group.size())},
                    {"threads of each", fmt::format("{}", run.pool.size())},
                    {"kernels", kernel_level()},
                    {"OpenBLAS", gemm_kernel_name()},
                    {"model", fmt::format("{}, {} layers, hidden {}, {} heads",
                                          c.type == ModelType::kBert ? "bert" : "distilbert",
                                          c.layers, c.hidden_size, c.heads)}};
  return report_html(report);
}

void finish(Run& run) {
  const Settings& s = run.settings;
  if (s.output_dir.empty()) return;
  run.results.write();
  if (s.do_train) {
    run.save_model_to(s.output_dir);
    write_file_atomically(run.output("report.html"), report_of(run));
    say(fmt::format("model:   {}", run.output("model.safetensors").string()));
    say(fmt::format("report:  {}", run.output("report.html").string()));
  }
  say(fmt::format("metrics: {}", run.output("all_results.json").string()));
  say(fmt::format("log:     {}", run.output("metrics.jsonl").string()));
}

}  // namespace

int run_job(Settings settings, Ranks& group) {
  prepare_gemm();
  Prepared prepared;
  if (group.rank() == 0) prepared = prepare_first(settings);
  share_text(group, settings.task);
  if (group.rank() != 0) set_task(settings, settings.task);
  share(group, prepared);
  Run run(settings, group, prepared);
  int status = 0;
  if (settings.do_train) {
    status = train(run);
  } else if (run.first()) {
    run.results.start(run.settings, {});
  }
  if (status == 0 && settings.do_eval) run.evaluate();
  if (status == 0 && settings.do_predict) run.predict();
  if (status == 0 && run.first()) finish(run);
  group.barrier(kEndTag);  // nobody leaves while rank 0 may still fail to write
  return status;
}

}  // namespace dtl::trainer
