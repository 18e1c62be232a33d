#pragma once
// The parts of a job, as its user describes it. Options fill them in, and a part then goes whole to
// whoever needs it: the plan, the state machine, the report. So a new option is a row of the table,
// a field here, and the code that reads the field. Nothing here knows how options are spelled. An
// absent or empty field means that the user said nothing; defaults are the reader's.

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

// Another launcher, by the names of its variables.
enum class Dialect { kOpenMpi, kTorchrun, kHorovod, kDeepSpeed };

// A library loaded into every rank before all others.
enum class Preload { kTcmalloc, kJemalloc, kIomp };

// A number that may change while the job goes on, both ends included.
struct SizeRange {
  int least = 1, most = 1;
};

// How many ranks there are, and on which hosts.
struct Placement {
  std::optional<int> ranks;             // -np, of all programs; absent: the sum of all slots
  std::optional<SizeRange> rank_range;  // -np MIN:MAX, instead: as many as there are slots for
  std::optional<int> ranks_per_node;    // -ppn
  std::optional<int> nodes;             // --nnodes
  std::optional<SizeRange> node_range;  // --nnodes MIN:MAX, instead
  bool oversubscribe = false;
  std::optional<int> deal;    // -rr, -grr: this many ranks to each host in turn; absent: fill each
  std::vector<int> rank_map;  // -rankmap: index into hosts for each rank; overrules all slots
  bool skip_launch_host = false;  // -skip-launch-node
};

// What was said about pinning, in any launcher's words: read by pin_request.h.
struct PinOptions {
  std::string bind_to, map_by, memory_bind, binding;  // as typed; empty: not given
  Variables environment;                              // the launcher's own: I_MPI_PIN*
  std::optional<int> comm_cores;  // --comm-cores, of each rank; absent: the plan decides
  std::optional<int> threads;     // [pinning] threads of the job file; OMP_NUM_THREADS
  bool enabled = true;            // [pinning] enabled
};

// What every rank finds when it starts.
struct EnvironmentOptions {
  Variables inherited;                 // the launcher's own environment, already filtered
  Variables set;                       // -genv, [environment] of the job file: wins over inherited
  std::vector<Dialect> compat;         // --compat: whose variables ranks get as well
  std::vector<Preload> preload;        // --preload, in order
  std::optional<std::uint32_t> umask;  // --umask; absent: dtlaunch's own
};

// Which network the ranks and libdtring use, and how.
struct NetworkOptions {
  std::string interface;  // --iface NAME or CIDR; empty: chosen by proof
  PortRange ports;        // --port-range: to listen on
  bool encrypts = false;  // --encrypt
};

// When a job ends, and how.
struct Ending {
  std::optional<JobTime> timeout;
  std::optional<JobTime> grace;  // --grace; absent: kKillGrace, or kInterruptGrace after a signal
  JobTime reconnect{0};          // --reconnect: how long a lost host is looked for
  std::optional<JobTime> hang_notice, hang_timeout;  // absent: never
  Cloud spot = Cloud::kOff;                          // --spot
  std::optional<int> notice_signal;                  // --notice-signal; 0: none
};

// Absent: no restarts, no spare hosts, unless the job's size may change (kElasticRestarts).
struct RestartLimits {
  std::optional<int> max;     // --max-restarts
  std::optional<int> spares;  // --spares: hosts that are kept for that
};

// Who hears of the job, beside the screen, and under which names.
struct Reporting {
  std::vector<std::string> tags;  // --tag: the user's own names for it, each once
  std::string report;             // --report's file; empty: none
  std::string on_event;           // --on-event's command for the shell; empty: none
};

}  // namespace dtl
