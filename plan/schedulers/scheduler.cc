// The table of all schedulers, and their names. A new one is a row here.
#include "plan/schedulers/scheduler.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/text.h"
#include "plan/schedulers/flux.h"
#include "plan/schedulers/grid_engine.h"
#include "plan/schedulers/kubernetes.h"
#include "plan/schedulers/lsf.h"
#include "plan/schedulers/pbs.h"
#include "plan/schedulers/scheduler_reader.h"
#include "plan/schedulers/slurm.h"

namespace dtl {
namespace {

constexpr std::string_view kNoScheduler = "none";
// If two related ones are seen, the first counts: Flux before the Slurm job that it runs in.
constexpr std::array<const Scheduler*, 9> kSchedulers = {
    &kMpiJob, &kTrainJob, &kPyTorchJob, &kIndexedJob, &kFlux, &kSlurm, &kLsf, &kPbs, &kGridEngine,
};

}  // namespace

std::span<const Scheduler* const> schedulers() {
  return kSchedulers;
}

const Scheduler* parse_scheduler(const std::string& text) {
  const std::string word = to_lower(text);
  if (word == kNoScheduler) return nullptr;
  std::vector<std::string> known = {std::string(kNoScheduler)};
  for (const Scheduler* each : kSchedulers) {
    for (const std::string_view name : {each->name, each->alias}) {
      if (name.empty()) continue;
      if (name == word) return each;
      known.emplace_back(name);
    }
  }
  const std::string near = nearest(word, known);
  throw option_error("--scheduler " + text,
                     fmt::format("not a scheduler that dtlaunch knows ({})", join(known, ", ")),
                     near.empty() ? "dtlaunch help hosts" : "--scheduler " + near);
}

std::string_view scheduler_name(const Scheduler* scheduler) {
  return scheduler == nullptr ? kNoScheduler : scheduler->name;
}

std::vector<Sighting> sightings_of(const SchedulerReader& variables,
                                   std::initializer_list<std::string_view> names) {
  std::vector<Sighting> seen;
  for (const std::string_view name : names) {
    if (variables.has(name)) seen.push_back({std::string(name)});
  }
  return seen;
}

}  // namespace dtl
