#include "ring/links/tcp_link.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

namespace dtl::ring {
namespace {

constexpr int kFramesPerStream = 4;  // of one stream, before the others have their turn

std::size_t head_bytes(const FrameHead& head) {
  return sizeof head + (head.has_operation != 0 ? sizeof(OperationHeader) : 0);
}

}  // namespace

void TcpLink::add_stream(Lane lane, std::uint32_t number, Channel channel) {
  const auto at = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& other) {
    return begins_with_last_ ? other.number < number : other.number > number;
  });
  Stream& stream = *streams_.emplace(at);
  stream.channel = std::move(channel);
  stream.lane = lane;
  stream.number = number;
}

std::size_t TcpLink::streams(Lane lane) const {
  return static_cast<std::size_t>(
      std::count_if(streams_.begin(), streams_.end(),
                    [lane](const Stream& stream) { return stream.lane == lane; }));
}

std::vector<int> TcpLink::descriptors() const {
  std::vector<int> all;
  for (const Stream& stream : streams_) all.push_back(stream.channel.fd());
  return all;
}

void TcpLink::set_ready(int fd, bool readable, bool writable, bool has_ended) {
  for (Stream& stream : streams_) {
    if (stream.channel.fd() != fd) continue;
    stream.readable |= readable;
    stream.writable |= writable;
    stream.has_ended |= has_ended;
  }
}

bool TcpLink::can_begin(Lane lane) const {
  return std::any_of(streams_.begin(), streams_.end(), [lane](const Stream& stream) {
    return stream.lane == lane && !stream.is_sending && stream.writable && stream.is_open;
  });
}

void TcpLink::begin(const FrameHead& head, const OperationHeader* operation,
                    const std::byte* payload, std::byte* /*answer*/) {
  for (Stream& stream : streams_) {
    if (static_cast<std::uint8_t>(stream.lane) != head.lane || stream.is_sending ||
        !stream.writable || !stream.is_open) {
      continue;
    }
    stream.is_sending = true;
    stream.head = head;
    if (operation != nullptr) stream.operation = *operation;
    stream.payload = payload;
    stream.sent = 0;
    return;
  }
}

bool TcpLink::is_sent() const {
  return std::none_of(streams_.begin(), streams_.end(),
                      [](const Stream& stream) { return stream.is_sending && stream.is_open; });
}

bool TcpLink::has_ended() const {
  return std::none_of(streams_.begin(), streams_.end(),
                      [](const Stream& stream) { return stream.is_heard; });
}

bool TcpLink::say_farewell(std::uint64_t completed) {
  FrameHead farewell;
  farewell.magic = kFrameMagic;
  farewell.lane = kFarewellLane;
  farewell.offset = completed;
  bool is_said = true;
  for (Stream& stream : streams_) {
    if (!stream.is_open || stream.farewell_sent == sizeof farewell) continue;
    const auto* rest = reinterpret_cast<const std::byte*>(&farewell) + stream.farewell_sent;
    const ssize_t n = stream.channel.send(rest, sizeof farewell - stream.farewell_sent);
    if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOBUFS) stream.is_open = false;
    if (n > 0) stream.farewell_sent += static_cast<std::size_t>(n);
    is_said = is_said && (!stream.is_open || stream.farewell_sent == sizeof farewell);
  }
  return is_said;
}

bool TcpLink::step(Sink& sink) {
  bool moved = false;
  for (Stream& stream : streams_) {
    if (stream.is_sending && stream.writable && stream.is_open) moved |= push(stream, sink);
    if (stream.is_heard) moved |= pull(stream, sink);
  }
  return moved;
}

bool TcpLink::push(Stream& stream, Sink& sink) {
  const std::size_t of_head = head_bytes(stream.head), whole = of_head + stream.head.bytes;
  std::array<std::byte, sizeof(FrameHead) + sizeof(OperationHeader)> front;
  std::array<iovec, 2> parts{};
  std::size_t n_parts = 0;
  if (stream.sent < of_head) {
    std::memcpy(front.data(), &stream.head, sizeof stream.head);
    std::memcpy(front.data() + sizeof stream.head, &stream.operation, sizeof stream.operation);
    parts[n_parts++] = {front.data() + stream.sent, of_head - stream.sent};
  }
  const std::size_t of_payload = stream.sent > of_head ? stream.sent - of_head : 0;
  if (stream.head.bytes > of_payload) {
    parts[n_parts++] = {const_cast<std::byte*>(stream.payload) + of_payload,
                        stream.head.bytes - of_payload};
  }
  const ssize_t n = stream.channel.send(std::span(parts).first(n_parts));
  if (n < 0) {
    if (errno == EINTR) return true;
    stream.writable = false;
    if (errno == EAGAIN || errno == ENOBUFS) return false;
    stream.is_open = false;
    sink.broken(peer_, errno);
    return true;
  }
  stream.sent += static_cast<std::size_t>(n);
  if (stream.sent < whole) {
    stream.writable = false;  // a full socket makes a new edge
    return true;
  }
  stream.is_sending = false;
  sink.sent(peer_, stream.head);
  return true;
}

bool TcpLink::pull(Stream& stream, Sink& sink) {
  bool moved = false;
  for (int frames = 0; frames < kFramesPerStream && stream.is_heard;) {
    if (!stream.has_head) {
      if (read_head(stream)) continue;
      if (!stream.readable || !read_ahead(stream, sink)) return moved;
      moved = true;
      continue;
    }
    if (stream.in_head.magic != kFrameMagic) {
      stream.is_heard = false;
      sink.broken(peer_, EPROTO);
      return true;
    }
    if (stream.in_head.lane == kFarewellLane) {
      stream.is_heard = false;
      sink.left(peer_, stream.in_head.offset);
      return true;
    }
    if (!stream.is_admitted) {
      const auto target =
          sink.admit(peer_, stream.in_head,
                     stream.in_head.has_operation != 0 ? &stream.in_operation : nullptr);
      if (!target) return moved;
      stream.target = *target;
      stream.is_admitted = true;
      stream.filled = 0;
    }
    if (stream.filled < stream.in_head.bytes && !read_payload(stream, sink)) return moved;
    moved = true;
    if (stream.filled < stream.in_head.bytes) continue;
    stream.has_head = stream.is_admitted = false;
    ++frames;
    sink.arrived(peer_, stream.in_head, stream.target);
  }
  return moved;
}

// From what was read ahead; false while that is not enough.
bool TcpLink::read_head(Stream& stream) {
  const std::size_t there = stream.ahead_to - stream.ahead_from;
  if (there < sizeof(FrameHead)) return false;
  const std::byte* at = stream.ahead.data() + stream.ahead_from;
  std::memcpy(&stream.in_head, at, sizeof(FrameHead));
  const std::size_t bytes = head_bytes(stream.in_head);
  if (there < bytes) return false;
  if (bytes > sizeof(FrameHead)) {
    std::memcpy(&stream.in_operation, at + sizeof(FrameHead), sizeof(OperationHeader));
  }
  stream.ahead_from += bytes;
  stream.has_head = true;
  return true;
}

bool TcpLink::read_ahead(Stream& stream, Sink& sink) {
  const std::size_t there = stream.ahead_to - stream.ahead_from;
  std::memmove(stream.ahead.data(), stream.ahead.data() + stream.ahead_from, there);
  stream.ahead_from = 0;
  stream.ahead_to = there;
  const std::size_t room = kAhead - there;
  const ssize_t n = stream.channel.receive(stream.ahead.data() + there, room);
  if (!note_read(stream, n, room, sink)) return false;
  stream.ahead_to += static_cast<std::size_t>(n);
  return true;
}

bool TcpLink::read_payload(Stream& stream, Sink& sink) {
  const std::size_t there = std::min<std::size_t>(stream.ahead_to - stream.ahead_from,
                                                  stream.in_head.bytes - stream.filled);
  if (there > 0) {
    std::memcpy(stream.target + stream.filled, stream.ahead.data() + stream.ahead_from, there);
    stream.ahead_from += there;
    stream.filled += there;
    return true;
  }
  if (!stream.readable) return false;
  stream.ahead_from = stream.ahead_to = 0;
  const std::size_t left = stream.in_head.bytes - stream.filled;
  const std::array<iovec, 2> parts{iovec{stream.target + stream.filled, left},
                                   iovec{stream.ahead.data(), kAhead}};
  const ssize_t n = stream.channel.receive(parts);
  if (!note_read(stream, n, left, sink)) return false;
  const auto bytes = static_cast<std::size_t>(n);
  stream.filled += std::min(bytes, left);
  stream.ahead_to = bytes - std::min(bytes, left);
  return true;
}

// True if bytes came. A short read says that the socket is empty, which saves the call that would
// say EAGAIN; the next byte makes a new edge.
bool TcpLink::note_read(Stream& stream, std::ptrdiff_t result, std::size_t wanted, Sink& sink) {
  if (result < 0 && errno == EINTR) return false;
  const bool is_short = result < static_cast<std::ptrdiff_t>(wanted);
  if (is_short && !(result > 0 && stream.has_ended)) stream.readable = false;
  if (result > 0) return true;
  if (result == 0 || errno != EAGAIN) {
    stream.is_heard = false;
    sink.broken(peer_, result == 0 ? 0 : errno);
  }
  return false;
}

}  // namespace dtl::ring
