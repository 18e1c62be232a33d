#pragma once
// CommOptions: the program's options for its communicator, read from dt_options and checked. The
// Comm keeps them for communicators split off later, so they own their texts: those of dt_options
// belong to the caller. Contains no secret, which is wiped as soon as the ranks have met, and
// nothing that the ranks agree on (Agreement).

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "ring/dtring.h"
#include "ring/meeting/peer_info.h"

namespace dtl::ring {

struct CommOptions {
  std::string master_address, host_name;
  std::string own_address;  // empty: the address from which rank 0 is reached
  int master_port = 0;
  std::uint64_t job = 0;
  // All are positive after read_options().
  int connect_timeout_ms = 0, operation_timeout_ms = 0, warn_timeout_ms = 0;
  void (*warn)(const char* text, void* context) = nullptr;
  void* warn_context = nullptr;
  bool encrypts = false;
  Settings settings;  // only rank 0's count
};

// tunes: the table of algorithms may be measured. Throws CommError, also for a secret that is too
// short and an invalid table of algorithms: errors are reported before the meeting.
CommOptions read_options(const dt_options& options, bool tunes);

// Rank 0's duplicate of a socket that is already listening; invalid on other ranks. A duplicate,
// because the caller may close its own at any time. Throws CommError.
Fd copy_listener(const dt_options& options);

}  // namespace dtl::ring
