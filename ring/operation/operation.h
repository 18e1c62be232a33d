#pragma once
// Operation: a request that the ranks execute together: the way, and the header that they compare.
// Made by a caller's thread; immutable while in flight, so that the engine reads it without a lock.
// Lists of counts are copied, buffers are not.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ring/arithmetic/reduce.h"
#include "ring/links/operation_header.h"
#include "ring/operation/choice.h"
#include "ring/operation/request.h"

namespace dtl::ring {

class Operation {
 public:
  // Stores the request. sequence: of the communicator, or of the pair.
  void prepare(const Request& request, const Choice& choice, int world, std::uint64_t sequence);
  // Performs the whole operation in a world of one. Pairs have no peer there and do nothing.
  void finish_alone() const;

  const Request& request() const { return request_; }
  const Choice& choice() const { return choice_; }
  Lane lane() const { return choice_.lane; }
  std::size_t element() const { return element_; }
  std::uint64_t bytes() const { return request_.count * element_; }
  // For each rank, if ranks may differ; else empty.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  const std::vector<std::uint64_t>& receive_counts() const { return receive_counts_; }
  const OperationHeader& header() const { return header_; }
  std::string description() const { return describe(header_); }
  std::uint64_t sequence() const { return header_.sequence; }
  // Converts bytes in memory to wire bytes, and back.
  std::uint64_t travelling(Wire wire, std::uint64_t bytes) const {
    if (wire == Wire::kExact) return bytes;
    return bytes / element_ * wire_bytes(request_.dtype, wire);
  }
  std::uint64_t in_memory(Wire wire, std::uint64_t bytes) const {
    if (wire == Wire::kExact) return bytes;
    return bytes / wire_bytes(request_.dtype, wire) * element_;
  }

 private:
  Request request_;
  Choice choice_;
  std::vector<std::uint64_t> counts_, receive_counts_;
  OperationHeader header_;
  std::size_t element_ = 1;
};

}  // namespace dtl::ring
