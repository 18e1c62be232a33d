#pragma once
// How `world` ranks find each other. Rank 0 listens on the master address; every other rank
// connects to it, and says where it listens itself and on which node it is. That connection stays
// open as its control line; in a large world most ranks get one to a parent instead, so that they
// form a tree. Along the lines comes the table of all ranks. Ranks of one node open each other's
// memory. In a small world those of different nodes connect to each other, and then close their
// listeners; in a large one they do so on first use (LateLinks).
//
// Blocks its caller, on one thread, until done or until CommError. On failure every rank that had
// joined is told why, so that all ranks name the same reason.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/links/node_map.h"
#include "ring/links/shm_node.h"
#include "ring/meeting/control_line.h"
#include "ring/meeting/handshake.h"
#include "ring/meeting/late_links.h"
#include "ring/meeting/link_builder.h"
#include "ring/meeting/meeting_lines.h"
#include "ring/meeting/peer_info.h"

namespace dtl::ring {

struct MeetingPlace {
  std::string master_address;
  int master_port = 0;
  std::string host_name;  // of this rank
  int timeout_ms = 60000;
  std::chrono::milliseconds silence{20000};  // of a host, after the meeting: it is lost
  std::string own_address = {};  // where to listen; empty: where rank 0 was reached from
  Fd listener = {};              // rank 0's, when it listens already
  std::string node = {};         // this rank's ShmNode: node_key() and address(); or empty
  std::string share = {};
  ShmNode* memory = nullptr;
  Settings settings = {};  // rank 0's count
};

struct Links {
  std::vector<std::string> hosts;       // of every rank, for messages
  std::vector<ControlLine> control;     // to this rank's parent and children
  std::vector<LinkBuilder::Made> made;  // connections to ranks of other nodes
  std::unique_ptr<LateLinks> late;      // makes others on first use; null: all exist
  std::vector<EarlyFrame> early;        // what was said after rank 0 had said that all links exist
  NodeMap map;
  int local = 0;            // this rank's place in its node
  bool is_crowded = false;  // ranks of some node share cores
  Settings settings;
  std::string own_address;  // numeric, where this rank listened
  std::string warning;      // rank 0: why a node does not share memory
};

// The memory of place outlives the links.
Links meet(std::unique_ptr<Identity> identity, MeetingPlace place);

}  // namespace dtl::ring
