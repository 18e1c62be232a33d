#pragma once
// Parcels: what agents of a tree pass between dtlaunch and the nodes below them. A node's branch is
// its conversation with dtlaunch, as a stream of bytes; a parcel carries some of them, or says that
// a branch begins or ends, or that somebody is alive. Relays read the address and never the bytes
// of a branch, which are encrypted (branch_stream.h). Pure.
//
// Encoded: kind u8, node u32, stream u32, length u32, bytes; little-endian. Between two agents they
// follow each other without separators, inside TLS. Between dtlaunch and an agent that it talks to
// directly, a Relayed message has some whole ones.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

// The values are those of the wire.
enum class ParcelKind : std::uint8_t {
  kArrived = 1,  // up: the branch of the node begins: it has connected, here or further below
  kLeft = 2,     // up: the branch has ended. Down: nobody needs it any more
  kBytes = 3,    // both: bytes of the branch
  kPulse = 4,    // down, to everybody: dtlaunch lives. node and stream: 0
  kAlive = 5,    // up: these nodes live. node and stream: 0; bytes: encode_nodes()
  kPiece = 6,    // down, to everybody: a piece of a SharedFrame. node and stream: 0
};

struct Parcel {
  ParcelKind kind = ParcelKind::kPulse;
  std::uint32_t node = 0;  // its number in the job
  // Which of the node's branches, counted by the node from 1. What comes late, of an earlier one,
  // must not get into a later one.
  std::uint32_t stream = 0;
  std::string bytes;
};

constexpr std::size_t kParcelHeadBytes = 13;
constexpr std::size_t kMaxParcelBytes = 64 << 10;  // of one parcel's bytes

// Appends the parcel to `to`. Its bytes must be at most kMaxParcelBytes.
void encode_parcel(const Parcel& parcel, std::string& to);

// Takes parcels apart that arrive in pieces of any size. Throws Error(kVersion) for garbage.
class ParcelReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  std::optional<Parcel> next();
  // False: half a parcel is left.
  bool is_empty() const { return at_ == bytes_.size(); }

 private:
  std::nullopt_t wait_for_more();

  std::string bytes_;
  std::size_t at_ = 0;  // before it everything was taken
};

// The bytes of kAlive: nodes in ascending order, as ranges {first u32, last u32}. At most
// kMaxParcelBytes / 8 ranges; what does not fit is left out, and comes with the next parcel.
std::string encode_nodes(const std::vector<std::uint32_t>& nodes);
// Throws Error(kVersion) unless the ranges ascend and end below `most`.
std::vector<std::uint32_t> decode_nodes(std::string_view bytes, std::uint32_t most);

}  // namespace dtl
