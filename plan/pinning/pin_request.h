#pragma once
// PinRequest: the user's pinning request in Intel MPI's, Hydra's or Open MPI's words, before any
// node is known. parse_pin_request reads it from variables and options; pin_domains.h applies it to
// a node. So mistakes are found before any agent starts, and one request can give different CPUs on
// different nodes. The grammar is in dtlaunch(1), PINNING. Pure.

#include <optional>
#include <string>
#include <vector>

#include "plan/pinning/cpu_set.h"
#include "plan/pinning/topology.h"
#include "plan/request/request.h"

namespace dtl {

enum class PinKind {
  kDefault,    // no request: the plan divides the cores
  kNone,       // not pinned
  kMasks,      // I_MPI_PIN_DOMAIN=[m1,m2]
  kShape,      // I_MPI_PIN_DOMAIN=socket: one domain per object
  kSize,       // I_MPI_PIN_DOMAIN=auto, omp or N, with a layout
  kProcessor,  // I_MPI_PIN_PROCESSOR_LIST: one CPU (or core) per rank
  kUser,       // -bind-to user:LIST: masks; ranks beyond the list are not pinned
  kObject,     // -bind-to OBJECT[:N] with -map-by OBJECT[:N] or ppr:N:OBJECT
};

enum class PinObject { kThread, kCore, kCache1, kCache2, kCache3, kCache, kNuma, kPackage, kNode };

enum class PinLayout { kCompact, kScatter, kPlatform };

// The domains that the first ranks get if there are more domains than ranks.
enum class PinOrder { kBunch, kCompact, kScatter, kSpread, kRange };

struct PinRequest {
  PinKind kind = PinKind::kDefault;
  std::string origin;         // "-genv I_MPI_PIN_DOMAIN=[3,c]", for messages
  std::vector<CpuSet> masks;  // kMasks, kUser; kProcessor with an explicit list: one CPU each
  PinObject object = PinObject::kCore;  // kShape, kObject, kProcessor (the elements of the list)
  int count = 1;  // kObject: objects per rank; kSize: CPUs per domain, 0: auto, -1: omp
  PinLayout layout = PinLayout::kCompact;
  std::optional<PinOrder> order;
  bool cell_core = false;        // I_MPI_PIN_CELL=core: sizes and lists count cores, not CPUs
  std::optional<PinObject> map;  // -map-by; absent: the object of -bind-to
  int map_step = 1;              // every N-th object
  int per_map = 0;               // ppr:N: N ranks on each object; 0: one at a time, repeatedly
  std::string grain, shift, preoffset, postoffset;  // of the processor list, checked words
  std::optional<MemoryPolicy> memory;               // -membind
  std::vector<std::string> notes;                   // accepted settings without effect, for -v
};

// Options win over `set` (-genv), and that over options.environment. Overruled settings become
// notes. Throws Error(kUsage) that names the source of the text, the invalid part and the grammar.
PinRequest parse_pin_request(const PinOptions& options, const Variables& set);

// The same for one host of a request. The host's pin_domain= or binding= wins over everything;
// nullptr: a host without such settings. Throws Error(kBadInput) for errors in a hostfile.
PinRequest pin_request_of(const Request& request, const Host* host);

}  // namespace dtl
