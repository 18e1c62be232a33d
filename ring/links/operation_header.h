#pragma once
// OperationHeader: both ends of a link must agree on it before any byte of an operation counts.
// Sent once before each flow. So ranks that call different operations are detected at the first
// byte, and the error names both calls, instead of wrong sums or a hang.

#include <cstdint>
#include <string>

namespace dtl::ring {

enum class Opcode : std::uint8_t {
  kAllreduce = 1,
  kReduceScatter,
  kReduce,
  kAllgather,
  kBroadcast,
  kGather,
  kScatter,
  kAlltoall,
  kBarrier,
  kPair,  // send on one end, receive on the other
};

// How the bytes of an operation are moved; 0: there is only one way. In the header, since ranks
// that chose differently would wait for bytes that never come.
enum class Algorithm : std::uint8_t {
  kOnly = 0,
  kOneShot,
  kDoubling,
  kDirect,
  kRing,
  kHalving,
  kGroups,
  kLeaders,
};
const char* algorithm_name(Algorithm algorithm);  // "oneshot"

struct OperationHeader {
  std::uint32_t magic = 0;
  Opcode opcode = Opcode::kBarrier;
  std::uint8_t dtype = 0;
  std::uint8_t op = 0;
  std::uint8_t wire = 0;
  Algorithm algorithm = Algorithm::kOnly;
  // Zero. Headers are compared byte by byte, so there must be no padding.
  std::uint8_t reserved[3] = {};
  std::int32_t root = 0;
  std::uint64_t sequence = 0;  // from 1, per communicator; kPair: per pair and direction
  std::uint64_t count = 0;     // elements, as in the call; v-forms: of all ranks
  std::uint64_t tag = 0;
  std::uint64_t counts_hash = 0;  // v-forms: of the count of each rank
  std::uint64_t reserved_too[2] = {};
};
static_assert(sizeof(OperationHeader) == 64);
constexpr std::uint32_t kOperationMagic = 0x706f5444;  // "DTop"

// Byte by byte: all fields must be equal.
bool same_operation(const OperationHeader& mine, const OperationHeader& theirs);
bool is_header(const OperationHeader& header);        // magic and opcode are possible
std::string describe(const OperationHeader& header);  // "allreduce of 12 f32, sum, tag 7"

// FNV-1a over the counts' bytes, so that 64 bits of header can distinguish two lists. It detects
// mistakes, not attacks: peers know the secret.
std::uint64_t hash_counts(const std::uint64_t* counts, int world);

}  // namespace dtl::ring
