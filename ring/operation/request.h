#pragma once
// Request: a caller's arguments. Plain data; buffers and lists of counts belong to the caller.
// c_abi.h has checked the arguments.

#include <cstddef>
#include <cstdint>

#include "ring/dtring.h"
#include "ring/links/operation_header.h"

namespace dtl::ring {

struct Request {
  Opcode opcode = Opcode::kBarrier;
  int dtype = DT_U8;
  int op = DT_SUM;
  int wire = DT_WIRE_EXACT;                // a dt_wire
  Algorithm algorithm = Algorithm::kOnly;  // of an allreduce; kOnly: the quickest
  int root = 0;                            // kPair: the other rank
  bool is_receive = false;                 // kPair
  std::uint64_t count = 0;                 // as dtring.h counts for this call
  std::uint64_t tag = 0;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  const std::uint64_t* counts = nullptr;          // v-forms; read while submitting
  const std::uint64_t* receive_counts = nullptr;  // alltoallv
  bool is_own = false;                            // the library's own, hidden from wait_any
};

// The count that ranks compare: for allgather the sum over all ranks, since their counts may
// differ.
inline std::uint64_t agreed_count(const Request& request, int world) {
  if (request.opcode != Opcode::kAllgather) return request.count;
  if (request.counts == nullptr) return request.count * static_cast<std::uint64_t>(world);
  std::uint64_t sum = 0;
  for (int rank = 0; rank < world; ++rank) sum += request.counts[rank];
  return sum;
}

}  // namespace dtl::ring
