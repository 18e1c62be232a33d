#pragma once
// Request: what the user asked for, after the command line, the job file and the hostfile have been
// read and before any node has been spoken to. A plain value.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/request/host.h"

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

// What some of the ranks run; `a : b` on the command line makes two.
struct Program {
  std::optional<int> ranks;  // absent: all there are, and 1 where there are several programs
  std::vector<std::string> command;  // program and arguments, as typed
  Variables set;                     // for its ranks alone; wins over Request::set
  std::string working_directory;     // absolute; must exist on a node or the rank fails to start
  std::optional<Variables> inherited = {};  // absent: Request::inherited
};

// What was said about pinning, in any launcher's words: read by pin_request.h.
struct PinOptions {
  std::string bind_to, map_by, memory_bind, binding;  // as typed; empty: not given
  Variables environment;                              // the launcher's own: I_MPI_PIN*
};

// A number that may change while the job goes on, both ends included.
struct SizeRange {
  int least = 1, most = 1;
};

struct Request {
  std::vector<Host> hosts;              // empty: this machine, started without ssh
  HostAccess here = {};                 // of this machine, where hosts is empty
  std::optional<int> ranks;             // of all programs; absent: the sum of all slots
  std::optional<SizeRange> rank_range;  // -np MIN:MAX, instead: as many as there are slots for
  std::optional<int> ranks_per_node;    // -ppn
  bool oversubscribe = false;
  // Each host is one task that an engine has started, with an agent and a rank of its own; several
  // may be on one machine.
  bool hosts_are_tasks = false;
  std::optional<int> deal;    // -rr, -grr: this many ranks to each host in turn; absent: fill each
  std::vector<int> rank_map;  // -rankmap: index into hosts for each rank; overrules all slots
  std::vector<Program> programs = {{}};  // at least one; ranks are numbered through them in order
  Variables inherited;                   // the launcher's own environment, already filtered
  Variables set;                 // -genv, [environment] of the job file: wins over inherited
  std::vector<Dialect> compat;   // --compat: whose variables ranks get as well
  std::vector<Preload> preload;  // --preload, in order
  std::string interface;         // --iface NAME or CIDR; empty: chosen by proof
  std::optional<int> threads;    // [pinning] threads of the job file; OMP_NUM_THREADS
  bool pin = true;               // [pinning] enabled
  PinOptions pinning;
  std::chrono::milliseconds grace = {};  // ranks have it between SIGTERM and SIGKILL, at least
  std::optional<int> comm_cores;         // --comm-cores, of each rank; absent: the plan decides
  std::uint32_t umask = 022;             // of the ranks
  int restarts = 0;                      // how often the job has been started again
  int max_restarts = 0;                  // --max-restarts
  bool elastic = false;                  // the number of ranks may be another after a restart
  std::size_t first_ranks = 0;           // how many it was at first; 0: this is the first time
};

}  // namespace dtl
