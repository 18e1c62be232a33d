// Layers; later ones override earlier ones: exported variables, computed ones (unless they may be
// exported), the rank's identity, -genv and -env. If the last layer contradicts the identity, that
// is an error.
#include "plan/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "plan/dialect_variables.h"
#include "plan/schedulers/scheduler.h"

namespace dtl {
namespace {

// Variables that belong to the login host, to its shell or to another launcher, and would be wrong
// or misleading in a rank. A name ending in '*' matches all names with that prefix.
constexpr std::string_view kLeftBehind[] = {
    // the session on the login host: nodes do not have its screen, agents and buses
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_*", "SSH_*", "OPENSSH_*", "DBUS_*", "GPG_*",
    "SUDO_*", "SESSION_MANAGER", "DESKTOP_SESSION", "GNOME_*", "KDE_*", "MAIL", "HOSTNAME", "HOST",
    // its terminal and shell: a rank writes into pipes and starts without a shell
    "TERM", "TERM_*", "TERMCAP", "TERMINFO*", "COLORTERM", "COLORFGBG", "COLUMNS", "LINES",
    "WINDOWID", "VTE_*", "TMUX*", "STY", "WINDOW", "LS_COLORS", "LESSOPEN", "LESSCLOSE", "PWD",
    "OLDPWD", "SHLVL", "_", "PS1", "PS2", "PROMPT_COMMAND", "HIST*",
    // the service manager: these name this process, its sockets and its watchdog
    "NOTIFY_SOCKET", "WATCHDOG_*", "LISTEN_*", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_*",
    "MANAGERPID", "CREDENTIALS_DIRECTORY",
    // this launcher's place in a scheduler's job; ranks must not see the token
    "DTL_SCHEDULER", "DTL_NNODES", "DTL_NODE_RANK", "DTL_RDZV", "DTL_RESTART", "DTL_JOB_ID",
    "DTL_TOKEN", "DTL_TOKEN_FILE",
    // other launchers: a library that finds these assumes that one of them started the rank
    "PMI_*", "PMI2_*", "PMIX_*", "HYDI_*", "HYDRA_*", "I_MPI_HYDRA_*", "OMPI_*", "PRTE_*",
    "MV2_COMM_WORLD_*", "MPI_LOCAL*", "TORCHELASTIC_*", "PET_*",
    // which PMI an MPI library must use with another launcher, mostly srun
    "I_MPI_PMI", "I_MPI_PMI_LIBRARY", "MPICH_PMI_VERSION", "MPIR_CVAR_PMI_*",
    // variables that this launcher sets for each rank: values from an outer job would be wrong
    "DTLAUNCH_*", "DTRING_SECRET_*", "DTRING_ADDRESS", "DTRING_COMM_CPUS", "I_MPI_PIN_INFO",
    "ROLE_*", "CCL_LOCAL_*", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_*", "HOROVOD_CROSS_*",
    "HOROVOD_HOSTNAME", "CROSS_RANK", "CROSS_SIZE", "LOCAL_SIZE"};

// Open MPI's parameters are the user's, but its mpirun also hands these to its ranks.
constexpr std::string_view kParameters = "OMPI_MCA_";
constexpr std::string_view kOfMpirun[] = {
    "OMPI_MCA_orte_*",         "OMPI_MCA_ess*",   "OMPI_MCA_pmix*",        "OMPI_MCA_plm*",
    "OMPI_MCA_oob*",           "OMPI_MCA_prte*",  "OMPI_MCA_schizo*",      "OMPI_MCA_routed*",
    "OMPI_MCA_ras*",           "OMPI_MCA_rmaps*", "OMPI_MCA_hwloc_base_*", "OMPI_MCA_initial_wdir",
    "OMPI_MCA_shmem_RUNTIME_*"};

bool is_one_of(std::string_view name, std::span<const std::string_view> patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    if (!pattern.ends_with('*')) return name == pattern;
    pattern.remove_suffix(1);
    return name.starts_with(pattern);
  });
}

// A library that reads a scheduler task's variables would mistake the rank for another one.
bool is_left_behind(std::string_view name) {
  const auto all = schedulers();
  if (name.starts_with(kParameters)) return is_one_of(name, kOfMpirun);
  return is_one_of(name, kLeftBehind) ||
         std::any_of(all.begin(), all.end(), [&](const Scheduler* scheduler) {
           return is_one_of(name, scheduler->task_variables);
         });
}

using Map = std::map<std::string, std::string>;

// The rank's identity. These must agree, so the user cannot change any of them.
Map identity_variables(const RankIdentity& id) {
  const std::string rank = std::to_string(id.rank), world = std::to_string(id.world_size);
  const std::string local = std::to_string(id.local_rank), size = std::to_string(id.local_size);
  Map variables = {
      // for torch.distributed's env://, named as by torchrun
      {"RANK", rank},
      {"WORLD_SIZE", world},
      {"LOCAL_RANK", local},
      {"LOCAL_WORLD_SIZE", size},
      {"GROUP_RANK", std::to_string(id.node_rank)},
      {"GROUP_WORLD_SIZE", std::to_string(id.nodes)},
      {"ROLE_RANK", rank},  // all ranks have one role
      {"ROLE_WORLD_SIZE", world},
      // Hydra's names. Programs without MPI read them too, so that every rank has them.
      {"PMI_RANK", rank},
      {"PMI_SIZE", world},
      {"MPI_LOCALRANKID", local},
      {"MPI_LOCALNRANKS", size},
      // oneCCL, for CCL_PROCESS_LAUNCHER=none
      {"CCL_LOCAL_RANK", local},
      {"CCL_LOCAL_SIZE", size},
      {"DTLAUNCH_JOB", id.job_id},
      {"DTLAUNCH_HOST", id.host_name},
      // In seconds: a rank can decide from it whether there is time for a checkpoint.
      {"DTLAUNCH_GRACE", fmt::format("{:g}", static_cast<double>(id.grace.count()) / 1000)},
      {"DTRING_SECRET_FD", std::to_string(kSecretFd)},
  };
  if (!id.around.empty()) variables["DTLAUNCH_JOBS_AROUND"] = join(id.around, ":");
  return variables;
}

// "x0,1,2": the form in which oneCCL's CCL_WORKER_AFFINITY=auto reads its rank's cores.
std::string pin_info(const std::vector<int>& cpus) {
  return fmt::format("x{}", fmt::join(cpus.begin(), cpus.end(), ","));
}

// Interfaces by name. Without these, Gloo resolves the host's own name, which is often 127.0.1.1,
// and oneCCL takes the first interface it finds.
constexpr std::string_view kInterfaceNames[] = {"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME",
                                                "NCCL_SOCKET_IFNAME", "CCL_KVS_IFACE",
                                                "FI_TCP_IFACE"};
// Open MPI would also try a bridge that has the same address on each host, such as docker0, and
// then it hangs. It refuses both of these at once.
constexpr const char* kOpenMpiTakes = "OMPI_MCA_btl_tcp_if_include";
constexpr const char* kOpenMpiLeaves = "OMPI_MCA_btl_tcp_if_exclude";
constexpr std::string_view kThreadNumbers[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                               "OPENBLAS_NUM_THREADS"};
// Variables that are specific to one job or one rank.
constexpr std::string_view kOfThisJob[] = {"MASTER_ADDR", "MASTER_PORT", "I_MPI_PIN_INFO",
                                           "DTRING_COMM_CPUS", "DTRING_ADDRESS"};

template <std::size_t N>
bool is_one_of(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Whether the user's exported value is kept.
bool may_be_exported(const RankIdentity& id, std::string_view name) {
  if (is_one_of(kThreadNumbers, name)) return !id.threads_asked;
  if (is_one_of(kInterfaceNames, name)) return !id.interface_asked;
  return !is_one_of(kOfThisJob, name);
}

// Values for variables that the user has not set.
Map default_variables(const RankIdentity& id) {
  const std::string threads = std::to_string(id.threads);
  Map variables = {
      {"MASTER_ADDR", id.master_address},
      {"MASTER_PORT", std::to_string(id.master_port)},
      {"ROLE_NAME", "default"},
      {"PYTHONUNBUFFERED", "1"},  // into a pipe, Python writes late and may lose buffered output
      // oneCCL: takes the local rank from Hydra's variables, and uses libfabric instead of MPI
      {"CCL_PROCESS_LAUNCHER", "hydra"},
      {"CCL_ATL_TRANSPORT", "ofi"},
  };
  for (const std::string_view name : kThreadNumbers) variables[std::string(name)] = threads;
  // MPICH 5 fails if it can guess both PMI-1 and PMIx from the environment.
  if (id.pmi) variables["MPIR_CVAR_PMI_VERSION"] = "1";
  // Without it, each rank trains a separate model under accelerate.
  if (id.on_cpu) variables["ACCELERATE_USE_CPU"] = "true";
  if (!id.cpus.empty()) variables["I_MPI_PIN_INFO"] = pin_info(id.cpus);
  if (!id.comm_cpus.empty()) {
    variables["DTRING_COMM_CPUS"] = fmt::format("{}", fmt::join(id.comm_cpus, ","));
  }
  if (id.comm.of_each > 0) {  // oneCCL needs COUNT CPUs of each local rank, the same list in all
    variables["CCL_WORKER_COUNT"] = std::to_string(id.comm.of_each);
    variables["CCL_WORKER_AFFINITY"] = fmt::format("{}", fmt::join(id.comm.cpus, ","));
  }
  if (!id.address.empty()) variables["DTRING_ADDRESS"] = id.address;
  if (id.interface.empty()) return variables;
  for (const std::string_view name : kInterfaceNames) variables[std::string(name)] = id.interface;
  variables[kOpenMpiTakes] = id.interface;
  return variables;
}

// Whether an outer job's dtlaunch computed it: then the user did not export it.
bool is_computed_by_another(const Variables& environment, std::string_view name) {
  const bool in_a_job = std::any_of(environment.begin(), environment.end(),
                                    [](const auto& each) { return each.first == "DTLAUNCH_JOB"; });
  if (!in_a_job) return false;
  return is_one_of(kThreadNumbers, name) || is_one_of(kInterfaceNames, name) ||
         is_one_of(kOfThisJob, name) || name.starts_with("CCL_") || name == kOpenMpiTakes;
}

// PyTorchJob's address where pods meet, which no user exported.
bool is_of_a_pod(const Variables& environment, const std::string& name, const std::string& value) {
  if (name != "MASTER_ADDR" && name != "MASTER_PORT") return false;
  const std::string theirs = "PET_" + name;
  return std::any_of(environment.begin(), environment.end(), [&](const auto& each) {
    return each.first == theirs && each.second == value;
  });
}

std::optional<int> omp_threads(const Variables& variables) {
  std::optional<int> threads;
  for (const auto& [name, value] : variables) {
    if (name != "OMP_NUM_THREADS") continue;
    // "4,2" has one number per level of nesting; only the first counts here.
    const auto number = parse_integer(value.substr(0, value.find(',')), 1, 65535);
    if (number) threads = static_cast<int>(*number);
  }
  return threads;
}

void put(Map& variables, const std::string& name, const std::string& value) {
  // No program could read such a name.
  if (name.empty() || name.find('=') != std::string::npos) return;
  variables[name] = value;
}

void leave_interfaces_to_user(Map& variables, std::map<std::string, Origin>& origins) {
  const auto ours = origins.find(kOpenMpiTakes);
  const bool both = ours != origins.end() && ours->second == Origin::kComputed &&
                    variables.contains(kOpenMpiLeaves);
  if (!both) return;
  variables.erase(kOpenMpiTakes);
  origins.erase(ours);
}

}  // namespace

Variables forwardable(const Variables& launcher_environment) {
  Variables kept;
  for (const auto& variable : launcher_environment) {
    if (is_left_behind(variable.first)) continue;
    if (is_computed_by_another(launcher_environment, variable.first)) continue;
    if (is_of_a_pod(launcher_environment, variable.first, variable.second)) continue;
    kept.push_back(variable);
  }
  return kept;
}

RankEnvironment rank_environment(const RankIdentity& identity, const Variables& inherited,
                                 const Variables& set, const std::vector<Dialect>& compat) {
  RankEnvironment environment;
  Map fixed = identity_variables(identity);
  if (identity.first_size > 0) {
    // dttrain keeps the batch size of the job's start with this, however many ranks there are now.
    fixed["DTLAUNCH_FIRST_WORLD_SIZE"] = std::to_string(identity.first_size);
  }
  if (identity.pmi) fixed["PMI_FD"] = std::to_string(kPmiFd);
  // Lightning, for example, checks its settings against WORLD_SIZE only if torchrun seems to be
  // there.
  std::vector<Dialect> dialects = {Dialect::kTorchrun};
  dialects.insert(dialects.end(), compat.begin(), compat.end());
  for (const Dialect dialect : dialects) {
    for (auto& [name, value] : dialect_variables(dialect, identity)) fixed[name] = value;
  }
  Map variables;
  // Later steps win: inherited variables, defaults, the values of dtlaunch, the user's settings.
  for (const auto& [name, value] : inherited) put(variables, name, value);
  for (const auto& [name, value] : default_variables(identity)) {
    // try_emplace() keeps an exported value; the code below decides whether it may stay.
    const auto [at, is_new] = variables.try_emplace(name, value);
    const bool exported = !is_new && may_be_exported(identity, name);
    environment.origins[name] = exported ? Origin::kExported : Origin::kComputed;
    // Reported only if the value would have differed.
    if (is_new || exported) continue;
    if (at->second != value) environment.unused.push_back(name);
    at->second = value;
  }
  for (const auto& [name, value] : fixed) variables[name] = value;
  for (const auto& [name, value] : set) {
    // An equal value contradicts nothing.
    const auto own = fixed.find(name);
    if (own != fixed.end() && own->second != value) {
      throw option_error(
          fmt::format("{}={}", name, value),
          fmt::format("dtlaunch computes it: rank {} has {}={}", identity.rank, name, own->second),
          fmt::format("the same command without {}", name));
    }
    put(variables, name, value);
    if (const auto at = environment.origins.find(name); at != environment.origins.end()) {
      at->second = Origin::kSet;
      std::erase(environment.unused, name);
    }
  }
  leave_interfaces_to_user(variables, environment.origins);
  // The map sorts the lines by name; preload.cc relies on that.
  for (const auto& [name, value] : variables) environment.lines.push_back(name + "=" + value);
  return environment;
}

std::string given_variable(const Request& request, const Program& program, std::string_view name) {
  std::string found;
  const Variables& inherited =
      program.inherited ? *program.inherited : request.environment.inherited;
  for (const Variables* each : {&inherited, &request.environment.set, &program.set}) {
    for (const auto& [known, value] : *each) {
      if (known == name) found = value;  // the last assignment counts
    }
  }
  return found;
}

std::optional<int> threads_asked_for(std::optional<int> of_job_file, const Variables& set,
                                     const Variables& inherited) {
  if (const auto threads = omp_threads(set)) return threads;
  return of_job_file ? of_job_file : omp_threads(inherited);
}

std::string why_unused(std::string_view name) {
  if (is_one_of(kThreadNumbers, name)) {
    return fmt::format(
        "{} is exported and not used: [pinning] threads of the job file says how many", name);
  }
  if (is_one_of(kInterfaceNames, name)) {
    return fmt::format("{} is exported and not used: --iface says which network", name);
  }
  return fmt::format("{} is exported and not used: it is of another job. Try: -genv {} VALUE", name,
                     name);
}

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::kComputed:
      return "computed";
    case Origin::kExported:
      return "exported";
    case Origin::kSet:
      return "set";
  }
  return "";
}

}  // namespace dtl
