// Objects are in slots that are reused, so prepare() sets every field, and the vectors keep their
// memory.
#include "ring/operation/operation.h"

#include <cstring>

#include "ring/arithmetic/reduce.h"

namespace dtl::ring {

void Operation::prepare(const Request& request, const Choice& choice, int world,
                        std::uint64_t sequence) {
  const auto ranks = static_cast<std::size_t>(world);
  request_ = request;
  choice_ = choice;
  element_ = element_bytes(request.dtype);
  counts_.clear();
  receive_counts_.clear();
  header_ = {};
  header_.magic = kOperationMagic;
  header_.opcode = request.opcode;
  header_.dtype = static_cast<std::uint8_t>(request.dtype);
  header_.op = static_cast<std::uint8_t>(request.op);
  header_.wire = static_cast<std::uint8_t>(choice.wire);
  header_.algorithm = choice.algorithm;
  // Peers compare headers, so both ends need the same value. In a pair, `root` is the other rank
  // and differs.
  header_.root = request.opcode == Opcode::kPair ? 0 : request.root;
  header_.sequence = sequence;
  header_.count = agreed_count(request, world);
  header_.tag = request.tag;
  if (request.opcode == Opcode::kAllgather || request.opcode == Opcode::kAlltoall) {
    if (request.counts != nullptr) {
      counts_.assign(request.counts, request.counts + ranks);
    } else {
      counts_.assign(ranks, request.count);
    }
    receive_counts_ = counts_;
    if (request.receive_counts != nullptr) {
      receive_counts_.assign(request.receive_counts, request.receive_counts + ranks);
    }
  }
  // All ranks know all counts, so comparing a hash suffices. For alltoall each pair compares its
  // own.
  if (request.opcode == Opcode::kAllgather) {
    header_.counts_hash = hash_counts(counts_.data(), world);
  }
}

void Operation::finish_alone() const {
  const std::size_t bytes = request_.opcode == Opcode::kPair ? 0 : this->bytes();
  if (bytes == 0 || request_.in == nullptr || request_.out == nullptr) return;
  const bool is_sum = request_.opcode == Opcode::kAllreduce ||
                      request_.opcode == Opcode::kReduceScatter ||
                      request_.opcode == Opcode::kReduce;
  // A sum of one operand is a copy, except that booleans become 0 or 1.
  if (is_sum) {
    const Operand own{request_.in};
    combine(request_.dtype, request_.op, request_.out, &own, 1, request_.count);
  } else if (request_.in != request_.out) {
    std::memcpy(request_.out, request_.in, bytes);
  }
}

}  // namespace dtl::ring
