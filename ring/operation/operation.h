#pragma once
// Operation: one collective as this rank sees it. Made by a caller's thread from a request, laid
// out and changed by the communication thread once it was submitted.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ring/dtring.h"
#include "ring/links/link.h"
#include "ring/links/node_map.h"
#include "ring/operation/arena.h"
#include "ring/operation/flow.h"

namespace dtl::ring {

// What a caller asks for.
struct Request {
  Opcode opcode = Opcode::kBarrier;
  int dtype = DT_U8;
  int op = DT_SUM;
  Wire wire = Wire::kExact;
  Algorithm algorithm = Algorithm::kOnly;
  int root = 0;             // kPair: the other rank
  bool is_receive = false;  // kPair
  std::uint64_t count = 0;  // as dtring.h counts for this call; v-forms: of all ranks
  std::uint64_t tag = 0;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  const std::uint64_t* counts = nullptr;          // v-forms; read while submitting
  const std::uint64_t* receive_counts = nullptr;  // alltoallv
  bool is_flat = false;                           // hosts do not matter
  bool is_own = false;                            // the library's, of which wait_any knows nothing
};

class Operation {
 public:
  // Takes over the request. sequence: of the communicator, or of the pair.
  void prepare(const Request& request, const NodeMap& map, std::uint64_t sequence);
  // Lays out flows and sums, with scratch from the arena; the operation becomes an active one.
  void lay_out(const NodeMap& map, Arena& scratch);
  // The whole operation in a world of one.
  void finish_alone();
  void reset();  // forgets all of that

  const Request& request() const { return request_; }
  const OperationHeader& header() const { return header_; }
  std::string description() const { return describe(header_); }
  std::uint64_t sequence() const { return header_.sequence; }
  Lane lane() const { return lane_; }
  std::size_t element() const { return element_; }

  Flow* find_flow(int peer);
  std::uint64_t allowed(const Gate& gate, std::uint64_t bytes) const;
  bool is_done() const;
  // Peers that have not said that they take part.
  std::vector<int> unheard() const;

  std::vector<Flow> flows;
  std::vector<Sum> sums;
  std::uint64_t frame_bytes = 0;  // frames do not span multiples of this within a piece
  Arena* arena = nullptr;         // lent while active

  int slot = 0;              // on the queue
  std::uint64_t number = 0;  // of the submission
  std::chrono::steady_clock::time_point deadline{}, warning{};
  bool has_warned = false;

 private:
  Request request_;
  std::vector<std::uint64_t> counts_, receive_counts_;
  OperationHeader header_;
  Lane lane_ = Lane::kSmall;
  std::size_t element_ = 1;
};

// Operations up to this size take the lane that long ones do not block.
constexpr std::uint64_t kSmallBytes = 64 << 10;

}  // namespace dtl::ring
