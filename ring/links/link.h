#pragma once
// Link: the connection to one peer, whatever carries it: TcpLink between hosts, ShmLink on one
// host. It moves frames and does not interpret them. Used by the driving thread, one at a time.
// Nothing here blocks.
//
// An operation's bytes from one rank to another are its flow. A frame is a piece of a flow. A lane
// may have several streams, so frames of one lane may arrive in another order than they began in.
// Within one stream they arrive in order, and a frame that the receiver does not admit yet holds up
// those behind it.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ring/links/operation_header.h"

namespace dtl::ring {

// Operations of different lanes never wait for each other. Short ones overtake long ones, and
// messages between two ranks (kPair) may wait for a receiver without limit.
enum class Lane : std::uint8_t { kSmall = 0, kBulk = 1, kPair = 2 };
constexpr std::size_t kLanes = 3;

// Precedes every payload, on the wire and in the slots of shared memory. In the host's byte order:
// ranks with another one fail in the handshake.
struct FrameHead {
  std::uint32_t magic = 0;         // kFrameMagic
  std::uint8_t lane = 0;           // a Lane
  std::uint8_t has_operation = 0;  // an OperationHeader comes between this and the payload
  std::uint16_t is_answered = 0;   // the receiver writes its result over the payload
  std::uint32_t sequence = 0;      // low bits of the operation's number in its lane
  std::uint32_t bytes = 0;         // of the payload
  std::uint64_t offset = 0;        // of the payload in the flow, in wire bytes
};
static_assert(sizeof(FrameHead) == 24);
inline std::size_t head_bytes(const FrameHead& head) {
  return sizeof head + (head.has_operation != 0 ? sizeof(OperationHeader) : 0);
}
constexpr std::uint32_t kFrameMagic = 0x72665444;  // "DTfr"
// The last head on a connection whose rank leaves in order. offset: how many operations it has
// completed, as in a kBye. A connection without it was cut off, and data may be missing.
constexpr std::uint8_t kFarewellLane = 0xff;

// Receives the frames of a link. All calls come from within Link::step().
class Sink {
 public:
  virtual ~Sink() = default;
  // A head has arrived, with the operation's header if it has one. Returns where the payload goes
  // (any pointer if it is empty). nullopt: not now, ask again at the next step. That is the only
  // back-pressure: bytes that are not admitted stay in the socket or in the slot.
  virtual std::optional<std::byte*> admit(int peer, const FrameHead& head,
                                          const OperationHeader* operation) = 0;
  // The whole payload is there: at the place from admit(), or, from a ShmLink, in the peer's
  // memory, readable until this returns. Only an answered frame's payload may be written.
  virtual void arrived(int peer, const FrameHead& head, std::byte* payload) = 0;
  // The frame's payload is no longer needed here: the kernel or the peer has it. If it asked for an
  // answer, that has arrived.
  virtual void sent(int peer, const FrameHead& head) = 0;
  // All data from one of the peer's connections was read, and the peer has left in order.
  virtual void left(int peer, std::uint64_t completed) = 0;
  // The link has failed: no more bytes will arrive although the peer has not left, or none can be
  // sent. error is an errno, kAltered or kRejected (tls.h), EPROTO for garbage, ECANCELED for
  // memory that its owner has withdrawn; 0: the connection was closed.
  virtual void broken(int peer, int error) = 0;
};

// A receiver rejects longer frames as garbage. Buffers for frames that are converted or summed on
// arrival have this size.
constexpr std::size_t kMostFrameBytes = 128 << 10;

// Whom a link tells that step() may move something again.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake(int peer) = 0;
};

class Link {
 public:
  virtual ~Link() = default;
  // Where wake() goes; it outlives the link.
  virtual void set_waker(Waker& /*waker*/) {}
  // False: step() moves nothing before the link calls wake(). A rank of a large world has a
  // thousand links, of which a few move. Links that must poll always want it.
  virtual bool wants_step() const { return true; }
  // True if begin() would accept a frame of this lane now.
  virtual bool can_begin(Lane lane) const = 0;
  // payload must not change until Sink::sent(). operation is copied. The frame may not be sent
  // before the next step(). answer: where the answer to an answered frame is by Sink::sent(); only
  // links within a node support those.
  virtual void begin(const FrameHead& head, const OperationHeader* operation,
                     const std::byte* payload, std::byte* answer) = 0;
  // Moves data without waiting. True if anything moved.
  virtual bool step(Sink& sink) = 0;
  // Everything that was begun has been sent.
  virtual bool is_sent() const = 0;
  // Everything that the peer will ever send was read.
  virtual bool has_ended() const = 0;
  // Only with nothing unsent: tells the peer that this rank has left in order after `completed`
  // operations. False: could not be sent completely, call again.
  virtual bool say_farewell(std::uint64_t completed) = 0;
  // The maximum for one frame of a lane, of `bytes` that are at data and answered there.
  virtual std::size_t frame_bytes(Lane lane, const std::byte* data, const std::byte* answer,
                                  std::uint64_t bytes) const = 0;
};

}  // namespace dtl::ring
