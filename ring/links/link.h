#pragma once
// Link: what connects this rank with one peer, whatever carries it: TcpLink between hosts, ShmLink
// on one host. It moves frames and knows nothing of what they mean. Used by whoever drives the
// engine, one thread at a time. Nothing here blocks.
//
// An operation's bytes from one rank to another are its flow. A frame is a piece of a flow. A lane
// may have several streams, so frames of one lane may arrive in another order than they were begun
// in. Within one stream they arrive in order, and a frame that the receiver does not admit yet
// holds up those behind it.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ring/links/operation_header.h"

namespace dtl::ring {

// Operations of different lanes never wait for each other. Short ones overtake long ones, and
// messages between two ranks (kPair) may wait for a receiver as long as they like.
enum class Lane : std::uint8_t { kSmall = 0, kBulk = 1, kPair = 2 };
constexpr std::size_t kLanes = 3;

// In front of every payload, on the wire and in the slots of shared memory. In the byte order of
// the host: ranks with another one do not get past the handshake.
struct FrameHead {
  std::uint32_t magic = 0;         // kFrameMagic
  std::uint8_t lane = 0;           // a Lane
  std::uint8_t has_operation = 0;  // an OperationHeader comes between this and the payload
  std::uint16_t is_answered = 0;   // the receiver writes its result over the payload
  std::uint32_t sequence = 0;      // low bits of the operation's number in its lane
  std::uint32_t bytes = 0;         // of the payload
  std::uint64_t offset = 0;        // of the payload in the flow, in bytes as they travel
};
static_assert(sizeof(FrameHead) == 24);
inline std::size_t head_bytes(const FrameHead& head) {
  return sizeof head + (head.has_operation != 0 ? sizeof(OperationHeader) : 0);
}
constexpr std::uint32_t kFrameMagic = 0x72665444;  // "DTfr"
// The last head on a connection whose rank leaves in order. offset is how many operations it has
// completed, as in a kBye. A connection that ends without it was cut off, and data may be missing.
constexpr std::uint8_t kFarewellLane = 0xff;

// Where a link hands over what arrives. All calls come from within Link::step().
class Sink {
 public:
  virtual ~Sink() = default;
  // A head has arrived, with the operation's header where it has one. Answers where the payload
  // goes (any pointer when it is empty). nullopt: not now, ask again at the next step. That is the
  // only back-pressure: bytes that nobody admits stay in the socket or in the slot.
  virtual std::optional<std::byte*> admit(int peer, const FrameHead& head,
                                          const OperationHeader* operation) = 0;
  // The whole payload is there: where admit() said, or, from a ShmLink, in memory of the peer
  // that can be read until this returns. Only an answered frame's may be written.
  virtual void arrived(int peer, const FrameHead& head, std::byte* payload) = 0;
  // The frame's payload is no longer needed here: the kernel, or the peer, has it. Its answer, if
  // it asked for one, has come.
  virtual void sent(int peer, const FrameHead& head) = 0;
  // All was read that the peer has sent by one of its connections, and it has left in order.
  virtual void left(int peer, std::uint64_t completed) = 0;
  // The link has failed: no byte will come although the peer took no leave, or none can be sent.
  // error is an errno, kAltered or kRejected (tls.h), EPROTO for garbage, ECANCELED for memory that
  // its owner has withdrawn; 0: the connection was closed.
  virtual void broken(int peer, int error) = 0;
};

// A receiver refuses longer frames as garbage. The buffers for frames that are converted or summed
// on arrival have this size.
constexpr std::size_t kMostFrameBytes = 128 << 10;

class Link {
 public:
  virtual ~Link() = default;
  // True when begin() would take a frame of this lane now.
  virtual bool can_begin(Lane lane) const = 0;
  // payload stays as it is until Sink::sent(). operation is copied. The peer may not hear of it
  // before the next step(). answer: where the answer to an answered frame has come by Sink::sent();
  // only links of a node carry those.
  virtual void begin(const FrameHead& head, const OperationHeader* operation,
                     const std::byte* payload, std::byte* answer) = 0;
  // Moves what can be moved without waiting. True when anything moved.
  virtual bool step(Sink& sink) = 0;
  // Nothing that was begun is unsent.
  virtual bool is_sent() const = 0;
  // Everything was read that the peer will ever send.
  virtual bool has_ended() const = 0;
  // With nothing unsent: the peer is to know that this rank has left in order after so many
  // operations. False: not all of it could be said now, call again.
  virtual bool say_farewell(std::uint64_t completed) = 0;
  // The most that one frame of a lane should carry of what lies at data and is answered there.
  virtual std::size_t frame_bytes(Lane lane, const std::byte* data,
                                  const std::byte* answer) const = 0;
};

}  // namespace dtl::ring
