#pragma once
// The environment of a rank: its place in the job under the names of every framework. One place
// computes all of them, so that they agree. job_plan.cc calls it for each rank; preload.cc changes
// LD_PRELOAD afterwards. Does not read the environment of this process. Pure.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// The part of the launcher's environment that is sent to the ranks: everything except variables of
// the login host (DISPLAY, SSH_*, XDG_*, terminal variables, scheduler steps, other launchers'
// PMI_*/HYDI_*...).
Variables forwardable(const Variables& launcher_environment);

// The CPUs that a node's ranks keep for communication: the same number each, in order of rank.
struct CommCpus {
  int of_each = 0;
  std::vector<int> cpus;
};

struct RankIdentity {
  std::string job_id, host_name, master_address, interface, address;
  int master_port = 0;
  int rank = 0, world_size = 0;
  int local_rank = 0, local_size = 0;
  int node_rank = 0, nodes = 0;
  int cross_rank = 0, cross_size = 1;  // among the ranks with the same local rank
  int program_size = 1;                // ranks of the same program
  int threads = 1;
  bool threads_asked = false;            // in the job file: exported numbers then do not count
  bool interface_asked = false;          // with --iface: the same for exported names
  bool on_cpu = false;                   // result of computes_on_cpu()
  std::chrono::milliseconds grace = {};  // the minimum from SIGTERM to SIGKILL
  int restarts = 0, max_restarts = 0;    // restarts of the ranks so far, and at most
  std::vector<std::string> around;       // ids of jobs inside of which this one runs
  int first_size = 0;                    // ranks at the job's start; 0: never changes
  bool pmi = false;                      // finds a PMI server on kPmiFd
  std::vector<int> cpus;                 // of the domain, for I_MPI_PIN_INFO
  std::vector<int> comm_cpus;            // this rank's own, for DTRING_COMM_CPUS
  CommCpus comm;                         // of all ranks of its node, for CCL_WORKER_*
};

// The source of a variable's value, if dtlaunch computes it by default.
enum class Origin { kComputed, kExported, kSet };

struct RankEnvironment {
  std::vector<std::string> lines;         // "NAME=value", sorted by name
  std::map<std::string, Origin> origins;  // of variables that may be computed
  std::vector<std::string> unused;        // exported, but overridden: see why_unused()
};

// Exported values win over computed ones, except for values specific to this job (the rank's
// identity, where ranks meet); `set` (-genv, -env) wins over both. Sets MASTER_ADDR MASTER_PORT
// RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_NAME ROLE_RANK
// ROLE_WORLD_SIZE OMP_NUM_THREADS PMI_RANK PMI_SIZE PMI_FD MKL_NUM_THREADS OPENBLAS_NUM_THREADS
// PYTHONUNBUFFERED ACCELERATE_USE_CPU I_MPI_PIN_INFO MPI_LOCALRANKID MPI_LOCALNRANKS CCL_*
// GLOO/TP/NCCL_SOCKET_IFNAME, DTRING_ADDRESS, DTLAUNCH_JOB, DTLAUNCH_HOST, DTLAUNCH_GRACE,
// DTRING_SECRET_FD; torchrun's TORCHELASTIC_*, and those of the dialects of --compat. If `set`
// contradicts the rank's identity or TORCHELASTIC_*, throws Error(kUsage).
RankEnvironment rank_environment(const RankIdentity& identity, const Variables& inherited,
                                 const Variables& set, const std::vector<Dialect>& compat = {});

// The variable as the program's ranks get it from the user, before any is computed; empty: not set.
std::string given_variable(const Request& request, const Program& program, std::string_view name);

// OMP_NUM_THREADS of -genv, else [pinning] threads, else the exported OMP_NUM_THREADS; the other
// thread variables follow it. Empty: not set, so the rank's cores decide. Invalid numbers count as
// not set.
std::optional<int> threads_asked_for(std::optional<int> of_job_file, const Variables& set,
                                     const Variables& inherited);

// Why an exported variable is not used, and the value used instead; for a warning.
std::string why_unused(std::string_view name);

// "exported"
std::string_view origin_name(Origin origin);

// The descriptor on which a rank finds the job's secret (32 bytes at offset 0 of a sealed memfd;
// read it with pread). dtlaunch sets DTRING_SECRET_FD to this number.
constexpr int kSecretFd = 3;

// The descriptor on which a rank speaks PMI-1 with its agent; its PMI_FD.
constexpr int kPmiFd = 4;

}  // namespace dtl
