#pragma once
// The parts of a job, as its user describes it. Options fill them in; each part is then passed
// whole to the code that uses it: the plan, the state machine, the report. So a new option is a row
// of the table, a field here, and the code that reads the field. Nothing here knows the options'
// syntax. An absent or empty field means not set; the code that reads it knows the default.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/job_time.h"
#include "plan/request/cloud.h"

namespace dtl {

using Variables = std::vector<std::pair<std::string, std::string>>;  // in order; the last one wins

// TCP ports, both ends included; 0: any.
struct PortRange {
  std::uint16_t low = 0, high = 0;
};

// Another launcher, whose variables ranks get.
enum class Dialect { kOpenMpi, kTorchrun, kHorovod, kDeepSpeed };

// The process manager interface (PMI) that ranks are offered, by which an MPI library finds its
// rank and the other ranks. kAuto: PMI-1, and PMIx if the program may need it.
enum class PmiChoice { kAuto, kPmi1, kPmix, kNone };

// A library loaded into every rank before all others.
enum class Preload { kTcmalloc, kJemalloc, kIomp };

// A number that may change during the job, both ends included.
struct SizeRange {
  int least = 1, most = 1;
};

// The number of ranks, and their hosts.
struct Placement {
  std::optional<int> ranks;             // -np, of all programs; absent: the sum of all slots
  std::optional<SizeRange> rank_range;  // -np MIN:MAX, instead: as many as there are slots
  std::optional<int> ranks_per_node;    // -ppn
  std::optional<int> nodes;             // --nnodes
  std::optional<SizeRange> node_range;  // --nnodes MIN:MAX, instead
  bool oversubscribe = false;
  bool share_cores = false;           // --share-cores: also those that other jobs have
  bool waits = false;                 // --wait: in line, while other jobs have the cores
  std::optional<JobTime> wait_limit;  // --wait SECONDS: no longer than this
  std::optional<int> deal;    // -rr, -grr: this many ranks to each host in turn; absent: fill each
  std::vector<int> rank_map;  // -rankmap: each rank's host index; overrides all slots
  bool skip_launch_host = false;  // -skip-launch-node
};

// The pinning options, in any launcher's words; pin_request.h parses them.
struct PinOptions {
  std::string bind_to, map_by, memory_bind, binding;  // as typed; empty: not given
  Variables environment;                              // the launcher's own: I_MPI_PIN*
  std::optional<int> comm_cores;  // --comm-cores, per rank; absent: the plan decides
  std::optional<int> threads;     // [pinning] threads of the job file; OMP_NUM_THREADS
  bool enabled = true;            // [pinning] enabled
};

// The environment of every rank at its start.
struct EnvironmentOptions {
  Variables inherited;                 // the launcher's own environment, already filtered
  Variables set;                       // -genv, [environment] of the job file: wins over inherited
  std::vector<Dialect> compat;         // --compat: ranks also get these launchers' variables
  std::vector<Preload> preload;        // --preload, in order
  std::optional<std::uint32_t> umask;  // --umask; absent: dtlaunch's own
  PmiChoice pmi = PmiChoice::kAuto;    // --pmi
};

// Which network the ranks and libdtring use, and how.
struct NetworkOptions {
  std::string interface;  // --iface NAME or CIDR; empty: chosen by connecting
  PortRange ports;        // --port-range: to listen on
  bool encrypts = false;  // --encrypt
};

// When and how a job ends.
struct Ending {
  std::optional<JobTime> timeout;
  std::optional<JobTime> grace;  // --grace; absent: kKillGrace, or kInterruptGrace after a signal
  JobTime reconnect{0};          // --reconnect: how long to keep trying a lost host
  std::optional<JobTime> hang_notice, hang_timeout;  // absent: never
  Cloud spot = Cloud::kOff;                          // --spot
  std::optional<int> notice_signal;                  // --notice-signal; 0: none
};

// Absent: no restarts, no spare hosts, except in jobs of variable size (kElasticRestarts).
struct RestartLimits {
  std::optional<int> max;     // --max-restarts
  std::optional<int> spares;  // --spares: hosts kept for restarts
};

// Who is told about the job, besides the screen, and its names.
struct Reporting {
  std::vector<std::string> tags;              // --tag: the user's own names for it, each once
  std::string report;                         // --report's file; empty: none
  std::string metrics_file;                   // --metrics-file; empty: none
  std::string on_event;                       // --on-event's command for the shell; empty: none
  std::optional<int> history_days;            // --history-days; 0: the job is not recorded
  std::optional<std::int64_t> history_bytes;  // --history-size
};

}  // namespace dtl
