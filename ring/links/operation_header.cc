// The text that describes an operation in errors and warnings. A peer's header is described before
// it is validated, so every field may have any value here.
#include "ring/links/operation_header.h"

#include <fmt/format.h>

#include <cstring>

#include "ring/arithmetic/reduce.h"

namespace dtl::ring {
namespace {

const char* opcode_name(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllreduce:
      return "allreduce";
    case Opcode::kReduceScatter:
      return "reduce_scatter";
    case Opcode::kReduce:
      return "reduce";
    case Opcode::kAllgather:
      return "allgather";
    case Opcode::kBroadcast:
      return "broadcast";
    case Opcode::kGather:
      return "gather";
    case Opcode::kScatter:
      return "scatter";
    case Opcode::kAlltoall:
      return "alltoall";
    case Opcode::kBarrier:
      return "barrier";
    case Opcode::kPair:
      return "send";
  }
  return "unknown operation";
}

// In a peer's header any value is possible.
const char* op_text(int op) {
  const char* name = op_name(op);
  return name ? name : "unknown op";
}

std::string wire_note(const OperationHeader& header) {
  if (header.wire == DT_WIRE_BF16) return ", bf16 wire";
  return header.wire == DT_WIRE_F16 ? ", f16 wire" : "";
}

}  // namespace

const char* algorithm_name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kOneShot:
      return "oneshot";
    case Algorithm::kDoubling:
      return "doubling";
    case Algorithm::kDirect:
      return "direct";
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kHalving:
      return "halving";
    case Algorithm::kGroups:
      return "groups";
    case Algorithm::kLeaders:
      return "leaders";
    case Algorithm::kOnly:
      break;
  }
  return "";
}

bool is_header(const OperationHeader& header) {
  return header.magic == kOperationMagic && header.opcode >= Opcode::kAllreduce &&
         header.opcode <= Opcode::kPair;
}

bool same_operation(const OperationHeader& mine, const OperationHeader& theirs) {
  // Without padding, all bytes count. A field that is added takes part without a change here.
  return std::memcmp(&mine, &theirs, sizeof mine) == 0;
}

std::string describe(const OperationHeader& header) {
  if (header.opcode == Opcode::kBarrier) return fmt::format("barrier, tag {}", header.tag);
  std::string text = fmt::format("{} of {} {}", opcode_name(header.opcode), header.count,
                                 dtype_name(header.dtype));
  switch (header.opcode) {
    case Opcode::kAllreduce:
    case Opcode::kReduceScatter:
      text += fmt::format(", {}{}", op_text(header.op), wire_note(header));
      break;
    case Opcode::kReduce:
      text += fmt::format(", {}, to rank {}", op_text(header.op), header.root);
      break;
    case Opcode::kAllgather:
    case Opcode::kAlltoall:
      // A message has no room for the counts of all ranks. Their hash at least shows that two lists
      // differ.
      text += fmt::format(" in all (counts {:08x})", header.counts_hash & 0xffffffff);
      break;
    case Opcode::kGather:
      text += fmt::format(" to rank {}", header.root);
      break;
    case Opcode::kBroadcast:
    case Opcode::kScatter:
      text += fmt::format(" from rank {}", header.root);
      break;
    case Opcode::kBarrier:
    case Opcode::kPair:
      break;
  }
  return text + fmt::format(", tag {}", header.tag);
}

std::uint64_t hash_counts(const std::uint64_t* counts, int world) {
  // FNV-1a. Ranks must compute the same value, which std::hash does not promise.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < world; ++i) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((counts[i] >> shift) & 0xff)) * 0x100000001b3;
    }
  }
  return hash;
}

}  // namespace dtl::ring
