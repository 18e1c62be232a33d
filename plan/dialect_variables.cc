// Each dialect's names for the numbers in RankIdentity. A variable belongs here only if programs
// read it: each additional one may mislead another library.
#include "plan/dialect_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::pair<std::string_view, Dialect> kNames[] = {{"ompi", Dialect::kOpenMpi},
                                                           {"openmpi", Dialect::kOpenMpi},
                                                           {"torchrun", Dialect::kTorchrun},
                                                           {"horovod", Dialect::kHorovod},
                                                           {"deepspeed", Dialect::kDeepSpeed}};

Dialect parse_dialect(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [each, dialect] : kNames) {
    if (each == to_lower(name)) return dialect;
    known.emplace_back(each);
  }
  const std::string near = nearest(to_lower(name), known);
  throw option_error("--compat " + name,
                     fmt::format("unknown launcher '{}'{}", printable(name),
                                 near.empty() ? " (ompi, torchrun, horovod, deepspeed)" : ""),
                     "--compat " + (near.empty() ? "torchrun" : near));
}

}  // namespace

std::vector<Dialect> parse_dialects(std::string_view text) {
  std::vector<Dialect> dialects;
  for (const std::string& word : split(text, ',')) {
    const Dialect dialect = parse_dialect(std::string(trim(word)));
    const bool is_new = std::find(dialects.begin(), dialects.end(), dialect) == dialects.end();
    if (is_new) dialects.push_back(dialect);
  }
  return dialects;
}

Variables dialect_variables(Dialect dialect, const RankIdentity& id) {
  const std::string rank = std::to_string(id.rank), world = std::to_string(id.world_size);
  const std::string local = std::to_string(id.local_rank), size = std::to_string(id.local_size);
  switch (dialect) {
    case Dialect::kOpenMpi:
      // Enough for programs that read their rank from the environment. MPI itself would need PMIx.
      return {{"OMPI_COMM_WORLD_RANK", rank},
              {"OMPI_COMM_WORLD_SIZE", world},
              {"OMPI_COMM_WORLD_LOCAL_RANK", local},
              {"OMPI_COMM_WORLD_LOCAL_SIZE", size},
              {"OMPI_COMM_WORLD_NODE_RANK", local},  // among the jobs of the node: just one
              {"OMPI_UNIVERSE_SIZE", world},
              {"OMPI_APP_CTX_NUM_PROCS", std::to_string(id.program_size)}};
    case Dialect::kTorchrun:
      // With RUN_ID torch believes that torchrun started it. There is no agent's store: rank 0
      // opens the one at MASTER_PORT itself.
      return {{"TORCHELASTIC_RUN_ID", id.job_id},
              {"TORCHELASTIC_RESTART_COUNT", std::to_string(id.restarts)},
              {"TORCHELASTIC_MAX_RESTARTS", std::to_string(id.max_restarts)},
              {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
    case Dialect::kHorovod: {
      Variables variables = {{"HOROVOD_RANK", rank},
                             {"HOROVOD_SIZE", world},
                             {"HOROVOD_LOCAL_RANK", local},
                             {"HOROVOD_LOCAL_SIZE", size},
                             {"HOROVOD_CROSS_RANK", std::to_string(id.cross_rank)},
                             {"HOROVOD_CROSS_SIZE", std::to_string(id.cross_size)},
                             {"HOROVOD_HOSTNAME", id.host_name}};
      // If the user left the network to the plan, it names no interface and Horovod chooses.
      if (!id.interface.empty()) variables.emplace_back("HOROVOD_GLOO_IFACE", id.interface);
      return variables;
    }
    case Dialect::kDeepSpeed:
      // As in DeepSpeed's launcher: the node among all nodes. Horovod's numbers of the same name
      // only count nodes that have this local rank.
      return {{"CROSS_RANK", std::to_string(id.node_rank)},
              {"CROSS_SIZE", std::to_string(id.nodes)},
              {"LOCAL_SIZE", size}};
  }
  return {};
}

}  // namespace dtl
