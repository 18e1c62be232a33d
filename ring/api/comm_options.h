#pragma once
// CommOptions: what a program wants of its communicator, read from dt_options and checked. The Comm
// keeps it for the communicators that are split off, so it owns its texts: those of dt_options are
// the caller's. Does not have the secret, which is wiped as soon as the ranks have met, and knows
// nothing of what the ranks agree upon (Agreement).

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "ring/dtring.h"
#include "ring/meeting/peer_info.h"

namespace dtl::ring {

struct CommOptions {
  std::string master_address, host_name;
  std::string own_address;  // empty: where rank 0 is reached from
  int master_port = 0;
  std::uint64_t job = 0;
  // All are positive once they were read.
  int connect_timeout_ms = 0, operation_timeout_ms = 0, warn_timeout_ms = 0;
  void (*warn)(const char* text, void* context) = nullptr;
  void* warn_context = nullptr;
  bool encrypts = false;
  Settings settings;  // rank 0's count
};

// tunes: the table of algorithms may be measured. Throws CommError, also for a secret that is too
// short and for a table of algorithms that cannot be read: a mistake is told before the meeting.
CommOptions read_options(const dt_options& options, bool tunes);

// Rank 0's own copy of the socket that listens already; nothing elsewhere. A copy, because the
// caller keeps its own and may close it at any time. Throws CommError.
Fd copy_listener(const dt_options& options);

}  // namespace dtl::ring
