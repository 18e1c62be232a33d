#pragma once
// Agreement: what all ranks of a communicator have in common once they have met, and how it is told
// to people. Plain data; equal on all ranks, but for the addresses and the place in the map:
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
  // What choose() goes by. Its table may still be measured (Comm::tune).
  Terms terms;
  bool encrypts = false;
  std::string own_address;  // numeric, where this rank has listened
  std::string memory_note;  // why ranks of this node are not reached by memory
};

// Of a rank that has met nobody.
Agreement agree_alone(int rank, int world);
Agreement agree_upon(const Links& links, bool encrypts, const std::string& memory_note);

// A line for the terminal: how the ranks are connected and what sums take.
std::string describe_agreement(const Agreement& agreement);
// What dt_stats_json answers.
std::string stats_json(const Agreement& agreement, const Engine::Counters& counters);

}  // namespace dtl::ring
