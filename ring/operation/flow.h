#pragma once
// What an operation consists of: flows to and from peers, and the sums that join what arrives.
// Plain data; the Scheduler makes it, the Executor moves it.
//
// A flow is a sequence of pieces, cut into frames that never span two pieces. Its prefix is how
// many bytes (as in memory) have arrived from its beginning on without a gap. A piece that is sent
// may be gated: it may leave as far as a prefix, or a sum, has come. This replaces messages per
// segment and separate steps: data moves on as soon as it can, and all stages of an algorithm run
// at the same time.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/arithmetic/reduce.h"
#include "ring/links/operation_header.h"

namespace dtl::ring {

// Open as far as something has come beyond `from` bytes: the prefix of the flow, or the part that
// is done of the sum, at `index`.
struct Gate {
  enum class Kind : std::uint8_t { kOpen, kFlow, kSum };
  Kind kind = Kind::kOpen;
  std::size_t index = 0;
  std::uint64_t from = 0;
};

struct Outgoing {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;  // in memory
  Wire wire = Wire::kExact;
  Gate gate = {};
  std::byte* answer = nullptr;  // where the peer's result for these bytes comes, if it is asked for
};

enum class Action : std::uint8_t {
  kStore,    // to target
  kCombine,  // target = own op what arrives
  kCollect,  // an operand of a sum of several
};

struct Incoming {
  Action action = Action::kStore;
  std::byte* target = nullptr;
  const std::byte* own = nullptr;  // kCombine
  std::uint64_t bytes = 0;         // in memory
  Wire wire = Wire::kExact;
  Gate gate = {};               // kCombine: of own
  bool is_last = false;         // kCombine: the result is final
  bool is_answered = false;     // kCombine: the result goes back to the sender, too
  std::size_t sum = 0;          // kCollect
  std::size_t source = 0;       // kCollect: which operand
  std::uint64_t window_at = 0;  // kCollect: its place in the window
};

// Bytes [from, to) that arrived behind a gap, as they travel.
struct Island {
  std::uint64_t from = 0, to = 0;
};
// Memory that a frame occupies until it has been taken or sent.
struct Held {
  std::uint64_t offset = 0;
  std::byte* buffer = nullptr;
};

struct Flow {
  explicit Flow(int of_peer = -1) : peer(of_peer) {}

  int peer;
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  // Also of no pieces: then a header alone travels.
  bool sends = false, receives = false;
  OperationHeader out_header, in_header;

  // Sending.
  bool has_begun = false;  // the header is out
  std::size_t out_piece = 0;
  std::uint64_t out_at = 0;         // of the piece, in memory
  std::uint64_t out_travelled = 0;  // of the flow, as it travels
  std::uint32_t in_flight = 0;
  // Frames in wire format that are not sent yet.
  std::vector<Held> staged;

  // Receiving.
  bool has_heard = false;        // the header was checked
  std::uint64_t in_bytes = 0;    // of the whole flow, as it travels
  std::uint64_t arrived = 0;     // as it travels
  std::uint64_t travelled = 0;   // without a gap, as it travels
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

// A sum of operands that arrive at different times, made in order of the sources. Operands wait in
// windows, each of which holds only the part that was not added yet.
struct Sum {
  struct Part {  // of the result, in order, without gaps
    std::uint64_t at = 0, bytes = 0;
    std::byte* out = nullptr;
    const std::byte* own = nullptr;
    std::uint64_t window_at = 0;  // as it travels; windows go round
  };
  struct Source {
    bool is_own = false;
    std::size_t flow = 0;         // whose first pieces are the operand
    std::byte* window = nullptr;  // the last window_bytes of it, as they travel
  };
  std::vector<Part> parts;
  std::vector<Source> sources;
  Gate own_gate = {};
  Wire wire = Wire::kExact;
  std::uint64_t bytes = 0;         // in memory
  std::uint64_t window_bytes = 0;  // as they travel
  bool is_last = false;
  std::uint64_t done = 0;  // in memory
  std::size_t part = 0;
};

}  // namespace dtl::ring
