#pragma once
// What libpmix asks of dtpmix about its ranks, copied out of libpmix's own types. Its thread makes
// them, and dtpmix's own thread handles them. `id` is what an answer must name.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace dtl::pmix {

// libpmix's status, negated, as in PmixGiven::failure.
constexpr std::uint32_t kNoResource = 29, kNotFound = 46, kNotSupported = 47;

enum class Collective : std::uint8_t {
  kFence = 1,
  kConnect = 2,
  kDisconnect = 3,
  kMakeGroup = 4,
  kEndGroup = 5,
};

struct Connected {
  std::uint32_t rank = 0;
};
struct Finalised {
  std::uint32_t rank = 0;
};
struct Aborted {  // MPI_Abort(code); the rank waits for an answer
  std::uint64_t id = 0;
  std::uint32_t rank = 0;
  std::uint32_t code = 0;
  std::string text;
};
struct Entered {  // all of these ranks that this node has wait in a collective
  std::uint64_t id = 0;
  Collective collective = Collective::kFence;
  std::string name;                  // of a group
  std::vector<std::uint32_t> ranks;  // empty: all of the job
  bool wants_context = false;        // a number for the group, the same on all nodes
  std::string data;
};
struct Asked {  // a rank of this node wants what `rank`, of another node, has put
  std::uint64_t id = 0;
  std::uint32_t rank = 0;
};
struct Told {  // what a rank of this node has put, for another node: the answer to AskRank
  std::uint32_t rank = 0, node = 0, number = 0;
  std::uint32_t failure = 0;
  std::string data;
};
struct Said {  // for the user, as one line
  std::uint32_t rank = 0;
  std::string text;
  std::uint64_t id = 0;  // 0: no answer
};
using Upcall = std::variant<Connected, Finalised, Aborted, Entered, Asked, Told, Said>;

}  // namespace dtl::pmix
