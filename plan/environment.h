#pragma once
// The environment of a rank: what every framework's env-variable dialect wants, from one place.
// Pure.

#include <chrono>
#include <string>
#include <vector>

#include "plan/request.h"

namespace dtl {

// What of the launcher's own environment goes to the ranks: all, less what belongs to the login
// host (DISPLAY, SSH_*, XDG_*, terminal variables, scheduler steps, other launchers'
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
  std::chrono::milliseconds grace = {};  // from SIGTERM to SIGKILL, at least
  std::vector<int> cpus;                 // of the domain, for I_MPI_PIN_INFO
  std::vector<int> comm_cpus;            // this rank's own, for DTRING_COMM_CPUS
  CommCpus comm;                         // of all ranks of its node, for CCL_WORKER_*
};

// Computed values win over inherited ones; `set` (-genv, -env) wins over both. Sorted by name.
// Sets MASTER_ADDR MASTER_PORT RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK
// GROUP_WORLD_SIZE ROLE_NAME ROLE_RANK ROLE_WORLD_SIZE OMP_NUM_THREADS PMI_RANK PMI_SIZE
// MPI_LOCALRANKID MPI_LOCALNRANKS CCL_* GLOO/TP/NCCL_SOCKET_IFNAME, DTRING_ADDRESS, DTLAUNCH_JOB,
// DTLAUNCH_HOST, DTLAUNCH_GRACE, DTRING_SECRET_FD; and what the dialects of --compat have; a value
// of `set` that contradicts RANK or WORLD_SIZE is an Error(kUsage).
std::vector<std::string> rank_environment(const RankIdentity& identity, const Variables& inherited,
                                          const Variables& set,
                                          const std::vector<Dialect>& compat = {});

// The descriptor on which a rank finds the job's secret (32 bytes at offset 0 of a sealed memfd;
// read it with pread). dtlaunch sets DTRING_SECRET_FD to this number.
constexpr int kSecretFd = 3;

}  // namespace dtl
