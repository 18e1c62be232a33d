#pragma once
// OperationHeader: what both ends of a link must agree upon before a byte of an operation counts.
// Travels once in front of each flow. Ranks that call different things are thereby told apart at
// the first byte, and both calls can be named, instead of wrong sums or a hang.

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

// How the bytes of an operation are moved; 0: by its only way. In the header, since ranks that
// chose differently would wait for bytes that never come.
enum class Algorithm : std::uint8_t { kOnly = 0, kOneShot, kDoubling, kDirect, kRing };
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
  std::uint64_t sequence = 0;  // from 1, of the communicator; kPair: of the pair, in one direction
  std::uint64_t count = 0;     // elements, as the call names them; v-forms: of all ranks
  std::uint64_t tag = 0;
  std::uint64_t counts_hash = 0;  // v-forms: of the count of each rank
  std::uint64_t reserved_too[2] = {};
};
static_assert(sizeof(OperationHeader) == 64);
constexpr std::uint32_t kOperationMagic = 0x706f5444;  // "DTop"

// Byte by byte: every field has to be equal.
bool same_operation(const OperationHeader& mine, const OperationHeader& theirs);
bool is_header(const OperationHeader& header);        // magic and opcode are possible
std::string describe(const OperationHeader& header);  // "allreduce of 12 f32, sum, tag 7"

// FNV-1a over the counts' bytes, so that 64 bits of header can tell two lists apart. It has to find
// mistakes, not attacks: peers know the secret.
std::uint64_t hash_counts(const std::uint64_t* counts, int world);

}  // namespace dtl::ring
