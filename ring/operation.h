#pragma once
// Operation: one collective as this rank sees it, and the two byte streams it consists of.
//
// Every operation is a header on each link followed by a stream of bytes. The stream that a rank
// sends is its own segment followed by the stream that it has received and processed, cut off at
// send_bytes. So the only rule of progress is
//     sent <= own_bytes + received,
// there are no messages per segment, and TCP's window is the back-pressure:
//   allreduce   pieces 0..2n-3, piece i received is segment rank-1-i (mod n): the first n-1 are
//               added to this rank's values (reduce-scatter), the others are results (allgather);
//   allgatherv  pieces 0..n-2 of the same order, never added; barrier is one byte per rank;
//   broadcast   one piece, passed on until it arrives before the root;
//   one shot    a short allreduce: allgatherv of the inputs, then a sum in order of rank.
// Owned and changed by the communication thread once it was submitted.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ring/dtring.h"

namespace dtl::ring {

enum class Opcode : std::uint8_t { kAllreduce = 1, kAllgather, kBroadcast, kBarrier, kBye };

// The first 64 bytes of an operation on every link; must be equal on both ends.
struct OperationHeader {
  std::uint32_t magic = 0;
  Opcode opcode = Opcode::kBarrier;
  std::uint8_t dtype = 0;
  std::uint8_t op = 0;
  std::uint8_t one_shot = 0;
  std::int32_t root = 0;
  std::uint32_t reserved = 0;
  std::uint64_t sequence = 0;  // from 1; kBye: operations completed
  std::uint64_t count = 0;     // elements; allgather: of all ranks
  std::uint64_t tag = 0;
  std::uint64_t counts_hash = 0;  // allgather: of the count of each rank
  std::uint64_t reserved_too[2] = {0, 0};
};
static_assert(sizeof(OperationHeader) == 64);

OperationHeader bye_header(std::uint64_t completed);
bool same_operation(const OperationHeader& mine, const OperationHeader& theirs);
bool is_header(const OperationHeader& header);        // magic and opcode are possible
std::string describe(const OperationHeader& header);  // "allreduce of 12 f32, sum, tag 7"

// What a caller asks for. For a broadcast in == out.
struct Request {
  Opcode opcode = Opcode::kBarrier;
  int dtype = DT_U8;
  int op = DT_SUM;
  int root = 0;
  std::uint64_t count = 0;
  std::uint64_t tag = 0;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  const std::uint64_t* counts = nullptr;  // allgather: of every rank; read while submitting
};

class Operation {
 public:
  // Takes over the request; no communication yet. one_shot_bytes: allreduces up to this many bytes
  // take one shot if the ring is small enough.
  void prepare(const Request& request, int rank, int world, std::uint64_t sequence,
               std::size_t one_shot_bytes);
  // Bytes of scratch that start() wants; at most gather_bytes_limit(...).
  std::size_t gather_bytes() const { return gather_bytes_; }
  // The operation becomes one of the active ones.
  void start(std::byte* gather);

  const OperationHeader& header() const { return header_; }
  std::string description() const { return describe(header_); }
  std::uint64_t sequence() const { return header_.sequence; }

  // Sending. The next contiguous bytes that may be sent now; advance by what was sent.
  struct Span {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  std::size_t header_sent = 0;
  Span sendable() const;
  void sent(std::size_t bytes);
  bool is_sent() const { return header_sent == sizeof header_ && sent_ == send_bytes_; }

  // Receiving. Where the next contiguous bytes go: into target, or (target null) into the
  // caller's scratch, whose whole elements are then handed to reduce().
  struct Slot {
    std::byte* target = nullptr;
    std::size_t bytes = 0;  // left of the piece
  };
  std::size_t header_received = 0;
  Slot receivable() const;
  void received(std::size_t bytes);
  void reduce(const std::byte* addend, std::size_t bytes);
  std::size_t element_bytes() const { return element_bytes_; }
  bool is_received() const {
    return header_received == sizeof header_ && received_ == receive_bytes_;
  }
  // After the last byte was received: the local sum of a one-shot allreduce.
  void finish();

  // The whole operation in a world of one.
  void finish_alone();

  int slot = 0;  // on the board
  std::chrono::steady_clock::time_point deadline{};

 private:
  struct Cursor {
    std::uint64_t piece = 0, offset = 0;
  };
  struct Segment {
    std::uint64_t begin = 0, bytes = 0;
  };
  void lay_out_equal(std::uint64_t parts);
  void lay_out(const std::uint64_t* counts);
  void plan_streams();
  std::uint64_t segment_of(std::int64_t first, std::uint64_t piece) const;
  Segment send_piece(std::uint64_t piece) const;
  Segment receive_piece(std::uint64_t piece) const;
  void skip_empty(Cursor& cursor, bool is_send) const;

  OperationHeader header_;
  int rank_ = 0, world_ = 1;
  const std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;     // the caller's
  std::byte* target_ = nullptr;  // what the streams fill: out_, or scratch
  std::size_t element_bytes_ = 1;
  std::size_t gather_bytes_ = 0;
  std::vector<std::uint64_t> bounds_;  // byte offsets of the segments; keeps its capacity
  std::uint64_t pieces_ = 0, reduced_pieces_ = 0;
  std::uint64_t own_bytes_ = 0, send_bytes_ = 0, receive_bytes_ = 0;
  std::uint64_t sent_ = 0, received_ = 0;
  Cursor send_at_, receive_at_;
};

// Scratch that one operation may need at most.
std::size_t gather_bytes_limit(int world, std::size_t one_shot_bytes);

}  // namespace dtl::ring
