#pragma once
// Direct modex: what one rank has put and a rank of another node wants, before a fence or without
// one. Pure.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "agent/pmix/effects.h"
#include "agent/pmix/node_places.h"
#include "agent/pmix/upcalls.h"

namespace dtl::pmix {

constexpr std::size_t kMaxAnswerBytes = 8 << 20;  // of one rank

class Questions {
 public:
  explicit Questions(const NodePlaces& places) : places_(places) {}

  // From this node's ranks, and the answers of other nodes.
  std::vector<Effect> asked(const Asked& question);
  std::vector<Effect> given(PmixGiven part);
  // From other nodes, and libpmix's answers. A rank that has ended puts nothing any more.
  std::vector<Effect> wanted(const PmixWanted& question, bool has_ended);
  std::vector<Effect> told(Told answer);
  std::vector<Effect> ended(std::uint32_t rank);

 private:
  struct Mine {
    std::uint64_t id = 0;
    std::string data;
  };
  using Others = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // rank, node, number

  const NodePlaces& places_;
  std::map<std::uint32_t, Mine> mine_;  // by number
  std::set<Others> others_;             // libpmix has not answered yet
  std::uint32_t numbers_ = 0;
};

}  // namespace dtl::pmix
