#pragma once
// PinRequest: what the user asked about pinning in Intel MPI's, Hydra's or Open MPI's words, before
// any node is known. Read from variables and options by parse_pin_request; pin_domains.h applies it
// to a node. So a mistake in the words is found before any agent starts, and one request can give
// different CPUs on different nodes. The grammar is in dtlaunch(1), PINNING. Pure.

#include <optional>
#include <string>
#include <vector>

#include "plan/pinning/cpu_set.h"
#include "plan/pinning/topology.h"
#include "plan/request/request.h"

namespace dtl {

enum class PinKind {
  kDefault,    // nobody asked: the plan divides the cores
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

// Which domain the first ranks get when there are more domains than ranks.
enum class PinOrder { kBunch, kCompact, kScatter, kSpread, kRange };

struct PinRequest {
  PinKind kind = PinKind::kDefault;
  std::string origin;         // "-genv I_MPI_PIN_DOMAIN=[3,c]", for messages
  std::vector<CpuSet> masks;  // kMasks, kUser; kProcessor with an explicit list: one CPU each
  PinObject object = PinObject::kCore;  // kShape, kObject, kProcessor (what the list is made of)
  int count = 1;  // kObject: objects of one rank; kSize: CPUs of one domain, 0: auto, -1: omp
  PinLayout layout = PinLayout::kCompact;
  std::optional<PinOrder> order;
  bool cell_core = false;        // I_MPI_PIN_CELL=core: sizes and lists count cores, not CPUs
  std::optional<PinObject> map;  // -map-by; absent: the object itself
  int map_step = 1;              // every N-th object
  int per_map = 0;               // ppr:N: N ranks on each object in turn; 0: one, again and again
  std::string grain, shift, preoffset, postoffset;  // of the processor list, checked words
  std::optional<MemoryPolicy> memory;               // -membind
  std::vector<std::string> notes;                   // what was understood and has no effect, for -v
};

// Options win over `set` (-genv), and that over options.environment. What was overruled becomes a
// note. Throws Error(kUsage) that names where the text came from, the offending part and the
// grammar.
PinRequest parse_pin_request(const PinOptions& options, const Variables& set);

// The same of a whole request, for one of its hosts. The host's pin_domain= or binding= wins over
// all; nullptr: for a host that says nothing. Throws Error(kBadInput) for the words of a hostfile.
PinRequest pin_request_of(const Request& request, const Host* host);

}  // namespace dtl
