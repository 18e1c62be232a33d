#include "plan/engines/engine_sighting.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

struct Seen {
  Engine engine;
  std::string variable;
  bool weak = false;  // other things set it as well: it counts where nothing else is seen
};

bool is_kubernetes(Engine engine) {
  return engine == Engine::kMpiJob || engine == Engine::kPyTorchJob ||
         engine == Engine::kTrainJob || engine == Engine::kIndexedJob;
}

// PyTorchJob's and TrainJob's variables are torchrun's; TrainJob's pods are those of Indexed Jobs.
Engine owner_of_torchrun(const EngineReader& variables) {
  return variables.has("JOB_COMPLETION_INDEX") ? Engine::kTrainJob : Engine::kPyTorchJob;
}

// In the order in which one of Kubernetes' goes before another.
std::vector<Seen> look(const EngineReader& variables) {
  std::vector<Seen> all;
  const auto see = [&](Engine engine, std::string_view variable, bool weak = false) {
    if (variables.has(variable)) all.push_back({engine, std::string(variable), weak});
  };
  see(Engine::kMpiJob, "K_MPI_JOB_ROLE");
  see(Engine::kTrainJob, "OMPI_MCA_orte_default_hostfile", true);
  see(owner_of_torchrun(variables), "PET_RDZV_ENDPOINT");
  if (variables.has("PET_NODE_RANK")) see(owner_of_torchrun(variables), "PET_NNODES");
  see(owner_of_torchrun(variables), "PET_NNODES", true);
  see(Engine::kIndexedJob, "JOB_COMPLETION_INDEX");
  if (variables.has("DTL_NNODES") || variables.has("DTL_RDZV")) {
    see(Engine::kIndexedJob, "DTL_NODE_RANK");
  }
  see(Engine::kFlux, variables.has("FLUX_TASK_RANK") ? "FLUX_TASK_RANK" : "FLUX_URI");
  see(Engine::kSlurm, variables.first_of({"SLURM_JOB_ID", "SLURM_JOBID"}));
  see(Engine::kLsf, variables.first_of({"LSB_MCPU_HOSTS", "LSB_HOSTS"}));
  see(Engine::kPbs, "PBS_NODEFILE");
  see(Engine::kSge, "PE_HOSTFILE");
  return all;
}

// Engines that may stand inside another, with that one's variables still there.
bool are_related(Engine inner, Engine outer) {
  if (is_kubernetes(inner) && is_kubernetes(outer)) return true;
  return inner == outer || (inner == Engine::kFlux && outer == Engine::kSlurm);
}

Sighting seen_of(Engine wanted, const std::vector<Seen>& all) {
  const auto torchruns = [](Engine engine) {
    return engine == Engine::kPyTorchJob || engine == Engine::kTrainJob;
  };
  for (const Seen& seen : all) {
    const bool pods =
        torchruns(wanted) && torchruns(seen.engine) && seen.variable.starts_with("PET_");
    if (seen.engine == wanted || pods) return {wanted, seen.variable};
  }
  throw Error(Exit::kUsage, fmt::format("--engine {}", engine_name(wanted)),
              "nothing of it is in the environment",
              "--show-engine, which says what is; --engine none");
}

}  // namespace

Sighting choose_engine(const EngineReader& variables, std::optional<Engine> wanted) {
  if (wanted == Engine::kNone) return {};
  std::vector<Seen> all = look(variables);
  if (wanted) return seen_of(*wanted, all);
  const bool strong =
      std::any_of(all.begin(), all.end(), [](const Seen& seen) { return !seen.weak; });
  if (strong) {
    const auto first = *std::find_if(all.begin(), all.end(), [](const Seen& s) { return !s.weak; });
    std::erase_if(all, [&](const Seen& seen) {
      return seen.weak && !are_related(seen.engine, first.engine);
    });
  }
  if (all.empty()) return {};
  for (const Seen& other : all) {
    if (are_related(all[0].engine, other.engine)) continue;
    throw Error(Exit::kUsage,
                fmt::format("{} says {}, and {} says {}", all[0].variable,
                            engine_name(all[0].engine), other.variable, engine_name(other.engine)),
                "two engines cannot both have started this job",
                fmt::format("--engine {}, --engine {} or --engine none", engine_name(all[0].engine),
                            engine_name(other.engine)));
  }
  return {all[0].engine, all[0].variable};
}

}  // namespace dtl
