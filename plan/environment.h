#pragma once
// The environment of a rank: its place in the job in the words of every framework. All of these are
// made in one place, so that they agree. job_plan.cc asks once for each rank; preload.cc changes
// LD_PRELOAD afterwards. The environment of this process is not read here. Pure.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// The part of the launcher's own environment that goes to the ranks: everything but what belongs to
// the login host (DISPLAY, SSH_*, XDG_*, terminal variables, scheduler steps, other launchers'
// PMI_*/HYDI_*...).
Variables forwardable(const Variables& launcher_environment);

// The CPUs that the ranks of a node keep for communication: as many of each, in order of rank.
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
  int program_size = 1;                // ranks that run the same program
  int threads = 1;
  bool threads_asked = false;            // by the job file: exported numbers do not count then
  bool interface_asked = false;          // by --iface: the same for exported names
  bool on_cpu = false;                   // as computes_on_cpu() says
  std::chrono::milliseconds grace = {};  // from SIGTERM to SIGKILL, at least
  int restarts = 0, max_restarts = 0;    // how often the ranks were started again, and may be
  int first_size = 0;                    // ranks at the job's begin; 0: their number never changes
  std::vector<int> cpus;                 // of the domain, for I_MPI_PIN_INFO
  std::vector<int> comm_cpus;            // this rank's own, for DTRING_COMM_CPUS
  CommCpus comm;                         // of all ranks of its node, for CCL_WORKER_*
};

// Where the value of a variable comes from, if it is one that dtlaunch computes by default.
enum class Origin { kComputed, kExported, kSet };

struct RankEnvironment {
  std::vector<std::string> lines;         // "NAME=value", sorted by name
  std::map<std::string, Origin> origins;  // of the variables that may be computed
  std::vector<std::string> unused;        // exported, but computed anyway: see why_unused()
};

// What is exported wins over what is computed, except for what belongs to this job alone (who a
// rank is, where ranks meet); `set` (-genv, -env) wins over both. Sets MASTER_ADDR MASTER_PORT RANK
// WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_NAME ROLE_RANK
// ROLE_WORLD_SIZE OMP_NUM_THREADS PMI_RANK PMI_SIZE MKL_NUM_THREADS OPENBLAS_NUM_THREADS
// PYTHONUNBUFFERED ACCELERATE_USE_CPU I_MPI_PIN_INFO MPI_LOCALRANKID MPI_LOCALNRANKS CCL_*
// GLOO/TP/NCCL_SOCKET_IFNAME, DTRING_ADDRESS, DTLAUNCH_JOB, DTLAUNCH_HOST, DTLAUNCH_GRACE,
// DTRING_SECRET_FD; torchrun's TORCHELASTIC_*, and those of the dialects of --compat. A value of
// `set` that contradicts who the rank is, or TORCHELASTIC_*, is an Error(kUsage).
RankEnvironment rank_environment(const RankIdentity& identity, const Variables& inherited,
                                 const Variables& set, const std::vector<Dialect>& compat = {});

// OMP_NUM_THREADS of -genv, else [pinning] threads, else OMP_NUM_THREADS as exported; the other
// thread variables follow it.
// Empty: nobody asks, and the rank's cores decide. Numbers that cannot be read count as absent.
std::optional<int> threads_asked_for(std::optional<int> of_job_file, const Variables& set,
                                     const Variables& inherited);

// Why an exported variable is not used, and what is done instead; for a warning.
std::string why_unused(std::string_view name);

// "exported"
std::string_view origin_name(Origin origin);

// The descriptor on which a rank finds the job's secret (32 bytes at offset 0 of a sealed memfd;
// read it with pread). dtlaunch sets DTRING_SECRET_FD to this number.
constexpr int kSecretFd = 3;

}  // namespace dtl
