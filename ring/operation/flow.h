#pragma once
// The parts of an operation: flows to and from peers, and the sums that combine arriving data.
// Plain data; the Scheduler makes it, the Executor moves it.
// A flow is a sequence of pieces, cut into frames that never span two pieces. Its prefix is the
// number of bytes (in memory) that have arrived from its beginning without a gap. A sent piece may
// be gated: it may be sent as far as a prefix, or a sum, has progressed. This replaces messages per
// segment and separate steps: data moves on as soon as possible, and all stages of an algorithm run
// at the same time.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/arithmetic/reduce.h"
#include "ring/links/operation_header.h"

namespace dtl::ring {

// Open as far as something has progressed beyond `from` bytes: the prefix of the flow, the finished
// part of the sum, or the open beginning of the list of parts, at `index`.
struct Gate {
  enum class Kind : std::uint8_t { kOpen, kFlow, kSum, kParts };
  Kind kind = Kind::kOpen;
  std::size_t index = 0;
  std::uint64_t from = 0;
};

// Of a piece whose bytes become ready at different times: it is open up to the first part that is
// not open.
struct GatePart {
  std::uint64_t bytes = 0;
  Gate gate = {};
};

struct Outgoing {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;  // in memory
  Wire wire = Wire::kExact;
  Gate gate = {};
  std::byte* answer = nullptr;  // the place for the peer's result for these bytes, if requested
};

enum class Action : std::uint8_t {
  kStore,    // to target
  kCombine,  // target = own op arriving data
  kCollect,  // it is one operand of a sum of several
};

struct Incoming {
  Action action = Action::kStore;
  std::byte* target = nullptr;
  const std::byte* own = nullptr;  // kCombine
  std::uint64_t bytes = 0;         // in memory
  Wire wire = Wire::kExact;
  Gate gate = {};               // kCombine: of own
  bool is_last = false;         // kCombine: the result is final
  bool is_answered = false;     // kCombine: also send the result back to the sender
  std::size_t sum = 0;          // kCollect
  std::size_t source = 0;       // kCollect: which operand
  std::uint64_t window_at = 0;  // kCollect: its offset in the window
};

// Bytes [from, to) that arrived after a gap, in wire bytes.
struct Island {
  std::uint64_t from = 0, to = 0;
};
// Memory that a frame occupies until it has been consumed or sent.
struct Held {
  std::uint64_t offset = 0;
  std::byte* buffer = nullptr;
};

struct Flow {
  explicit Flow(int of_peer = -1) : peer(of_peer) {}

  int peer;
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  // True also without pieces: then only a header is sent.
  bool sends = false, receives = false;
  OperationHeader out_header, in_header;

  // Sending.
  bool has_begun = false;  // the header has been sent
  std::size_t out_piece = 0;
  std::uint64_t out_at = 0;         // of the piece, in memory
  std::uint64_t out_travelled = 0;  // of the flow, in wire bytes
  std::uint32_t in_flight = 0;
  // Frames in wire format that are not sent yet.
  std::vector<Held> staged;

  // Receiving.
  bool has_heard = false;        // the header was checked
  std::uint64_t in_bytes = 0;    // of the whole flow, in wire bytes
  std::uint64_t arrived = 0;     // in wire bytes
  std::uint64_t travelled = 0;   // without a gap, in wire bytes
  std::uint64_t prefix = 0;      // the same in memory
  std::size_t prefix_piece = 0;  // where the prefix ends
  std::uint64_t prefix_at = 0;
  std::vector<Island> islands;
  // Buffers for frames that are being received.
  std::vector<Held> expected;

  bool is_sent() const {
    return !sends || (has_begun && out_piece == out.size() && in_flight == 0);
  }
  bool is_received() const { return !receives || (has_heard && arrived == in_bytes); }
};

// A sum of operands that arrive at different times, added in order of the sources. Operands wait in
// windows, which hold only the part that was not added yet.
struct Sum {
  struct Part {  // of the result, in order, without gaps
    std::uint64_t at = 0, bytes = 0;
    std::byte* out = nullptr;
    const std::byte* own = nullptr;
    std::uint64_t window_at = 0;  // in wire bytes; windows are circular
  };
  struct Source {
    bool is_own = false;
    std::size_t flow = 0;         // its first pieces are the operand
    std::byte* window = nullptr;  // the last window_bytes of it, in wire bytes
  };
  std::vector<Part> parts;
  std::vector<Source> sources;
  Gate own_gate = {};
  Wire wire = Wire::kExact;
  std::uint64_t bytes = 0;         // in memory
  std::uint64_t window_bytes = 0;  // in wire bytes
  bool is_last = false;
  std::uint64_t done = 0;  // in memory
  std::size_t part = 0;
};

}  // namespace dtl::ring
