#pragma once
// Agreement: what all ranks of a communicator have agreed on when they met, and its description for
// users. Plain data; equal on all ranks, except the addresses and this rank's place in the map:
// choose() relies on that. Knows nothing of queues and engines.

#include <string>

#include "ring/engine/engine.h"
#include "ring/links/node_map.h"
#include "ring/meeting/rendezvous.h"
#include "ring/operation/choice.h"

namespace dtl::ring {

struct Agreement {
  Settings settings;
  NodeMap map;
  // The input of choose(). Its table may still be measured (Comm::tune).
  Terms terms;
  bool encrypts = false;
  std::string own_address;  // numeric, where this rank listened
  std::string memory_note;  // why ranks of this node do not share memory
};

// For a rank without others.
Agreement agree_alone(int rank, int world);
Agreement agree_upon(const Links& links, bool encrypts, const std::string& memory_note);

// A line for the terminal: how the ranks are connected, and the algorithms for sums.
std::string describe_agreement(const Agreement& agreement);
// The result of dt_stats_json.
std::string stats_json(const Agreement& agreement, const Engine::Counters& counters);

}  // namespace dtl::ring
