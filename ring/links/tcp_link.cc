// Assigns each frame to the first free stream. TcpSender and TcpReceiver do everything that
// concerns one connection.
#include "ring/links/tcp_link.h"

#include <algorithm>
#include <utility>

namespace dtl::ring {

void TcpLink::add_stream(Lane lane, std::uint32_t number, Channel channel) {
  // Sorted by number, ascending at one end and descending at the other, so that both ends fill
  // their streams from opposite sides.
  const auto at = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& other) {
    return begins_with_last_ ? other.number < number : other.number > number;
  });
  streams_.insert(at, {lane, number, std::move(channel), TcpSender(peer_), TcpReceiver(peer_)});
}

void TcpLink::set_ready(int fd, bool readable, bool writable, bool has_ended) {
  for (Stream& stream : streams_) {
    if (stream.channel.fd() != fd) continue;
    if (writable) stream.sender.set_ready();
    stream.receiver.set_ready(readable, has_ended);
  }
  wake();
}

bool TcpLink::wants_step() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const Stream& stream) {
    return stream.sender.wants_step() || stream.receiver.wants_step();
  });
}

bool TcpLink::can_begin(Lane lane) const {
  return std::any_of(streams_.begin(), streams_.end(), [lane](const Stream& stream) {
    return stream.lane == lane && stream.sender.can_begin();
  });
}

void TcpLink::begin(const FrameHead& head, const OperationHeader* operation,
                    const std::byte* payload, std::byte* /*answer*/) {
  for (Stream& stream : streams_) {
    if (static_cast<std::uint8_t>(stream.lane) != head.lane || !stream.sender.can_begin()) continue;
    stream.sender.begin(head, operation, payload);
    return wake();
  }
}

bool TcpLink::is_sent() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const Stream& stream) { return stream.sender.is_sent(); });
}

bool TcpLink::has_ended() const {
  return std::none_of(streams_.begin(), streams_.end(),
                      [](const Stream& stream) { return stream.receiver.is_heard(); });
}

bool TcpLink::say_farewell(std::uint64_t completed) {
  // On every stream, after all its data: whichever the peer reads last, it then knows that nothing
  // is missing.
  FrameHead farewell;
  farewell.magic = kFrameMagic;
  farewell.lane = kFarewellLane;
  farewell.offset = completed;
  bool is_said = true;
  for (Stream& stream : streams_) {
    is_said = stream.sender.say_farewell(stream.channel, farewell) && is_said;
  }
  return is_said;
}

bool TcpLink::step(Sink& sink) {
  bool moved = false;
  for (Stream& stream : streams_) {
    moved |= stream.sender.step(stream.channel, sink);
    if (stream.receiver.is_heard()) moved |= stream.receiver.step(stream.channel, sink);
  }
  return moved;
}

}  // namespace dtl::ring
