// Collects what other rooms know about the run.
#include "trainer/job/run_profile.h"

#include <cstdlib>
#include <string_view>

#include "base/text.h"

namespace dtl::trainer {
namespace {

// As libdtring decides: the setting, or DTRING_WIRE if the setting is f32.
std::string wire_on_network(const std::string& setting) {
  const char* const variable = std::getenv("DTRING_WIRE");
  const std::string_view named = variable == nullptr ? "" : variable;
  const bool is_short = named == "bf16" || named == "f16";
  return setting == "f32" && is_short ? std::string(named) : setting;
}

// DTRING_COMM_CPUS is a list of CPUs: "0,32".
int communication_cpus() {
  const char* const list = std::getenv("DTRING_COMM_CPUS");
  if (list == nullptr || *list == '\0') return 0;
  return static_cast<int>(split(list, ',').size());
}

}  // namespace

std::string profile_text(const Run& run, const TrainSettings& settings, const Trainer& trainer) {
  if (run.profile.empty()) return {};
  ProfiledRun about;
  about.ranks = run.group.size();
  about.ranks_per_node = environment_ranks_per_node();
  about.threads = run.pool.size();
  about.comm_cpus = communication_cpus();
  about.gradient_wire = wire_on_network(run.settings.gradient_wire);
  about.accumulation = settings.accumulation;
  about.global_batch = settings.global_batch;
  about.word_row_bytes =
      embedding_width(run.prepared.config) * static_cast<std::int64_t>(sizeof(float));
  return run.profile.text(about, trainer.word_uses());
}

}  // namespace dtl::trainer
