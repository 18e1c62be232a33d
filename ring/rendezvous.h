#pragma once
// How `world` ranks become a ring. Rank 0 listens on the master address; every other rank connects
// to it (the control line, which stays open), says where it listens itself, and gets the table of
// all ranks. Then every rank connects to the next one. Listeners are closed when all links exist.
// Blocks its caller, on one thread, until done or until CommError; on failure every rank that had
// joined is told why.

#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/control.h"
#include "ring/handshake.h"

namespace dtl::ring {

struct MeetingPlace {
  std::string master_address;
  int master_port = 0;
  std::string host_name;  // of this rank
  int timeout_ms = 60000;
  std::string own_address = {};  // where to listen; empty: where rank 0 was reached from
};

struct Links {
  std::vector<std::string> hosts;    // of every rank, for messages
  std::vector<ControlLine> control;  // rank 0: to every other rank; else: to rank 0
  Fd to_next, from_previous;
  std::vector<Frame> early;  // what rank 0 said after it had said that the ring is complete
};

Links meet(const Identity& identity, const MeetingPlace& place);

}  // namespace dtl::ring
