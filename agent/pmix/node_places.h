#pragma once
// Where the ranks of a job are, and their numbers within their node and program. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "wire/messages.h"

namespace dtl::pmix {

struct RankPlace {
  std::uint32_t node = 0, program = 0;
  std::uint32_t on_node = 0;     // its number among the ranks of its node
  std::uint32_t in_program = 0;  // and of its program
};

struct NodePlaces {
  std::string space;
  std::uint32_t node = 0;  // this one
  std::vector<std::string> hosts;
  std::vector<RankPlace> ranks;                      // of the job
  std::vector<std::vector<std::uint32_t>> of_node;   // the ranks of each node, in order
  std::vector<std::vector<std::uint32_t>> programs;  // and of each program

  const std::vector<std::uint32_t>& here() const { return of_node[node]; }
  bool is_here(std::uint32_t rank) const { return rank < ranks.size() && ranks[rank].node == node; }
};

// Throws Error(kVersion) if the message contradicts itself.
NodePlaces find_places(const ServePmix& job);

// "0,1,5"
std::string list_of(const std::vector<std::uint32_t>& ranks);

}  // namespace dtl::pmix
