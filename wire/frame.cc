#include "wire/frame.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "wire/codec.h"
#include "wire/fields.h"

namespace dtl {
namespace {

struct Header {
  std::uint32_t body_bytes = 0;
  std::uint16_t type = 0;
  std::uint16_t flags = 0;
  std::uint32_t checksum = 0;
  std::uint32_t sequence = 0;
};

template <class Io, class H>
void header_fields(Io& io, H& header) {
  io.number("length", header.body_bytes, kMaxFrameBytes - kFrameHeaderBytes);
  io.number("type", header.type, UINT16_MAX);
  io.number("flags", header.flags, 0);  // none is defined yet
  io.number("checksum", header.checksum, UINT32_MAX);
  io.number("sequence", header.sequence, UINT32_MAX);
}

template <class M>
Message decode_as(std::string_view body) {
  Reader reader(kMessageName<M>, body);
  M message;
  fields(reader, message);
  reader.expect_end();
  return message;
}

using Decoder = Message (*)(std::string_view);

// The decoder of each message type, by number.
template <class... M>
constexpr auto make_decoders(std::variant<M...>*) {
  std::array<Decoder, sizeof...(M) + 1> decoders{};
  ((decoders[kMessageType<M>] = &decode_as<M>), ...);
  return decoders;
}
constexpr auto kDecoders = make_decoders(static_cast<Message*>(nullptr));

[[noreturn]] void garbage(const std::string& reason) {
  throw Error(Exit::kVersion, "malformed frame", reason);
}

}  // namespace

std::string encode_frame(const Message& message, std::uint32_t sequence) {
  return std::visit(
      [&]<class M>(const M& m) {
        Writer body_writer(kMessageName<M>);
        fields(body_writer, m);
        const std::string body = body_writer.take();
        if (body.size() > kMaxFrameBytes - kFrameHeaderBytes) {
          throw Error(Exit::kUsage, fmt::format("cannot send {}", kMessageName<M>),
                      fmt::format("it takes {} bytes, the limit is {}", body.size(),
                                  kMaxFrameBytes - kFrameHeaderBytes));
        }
        const Header header{static_cast<std::uint32_t>(body.size()), kMessageType<M>, 0,
                            crc32c(body), sequence};
        Writer writer("frame");
        header_fields(writer, header);
        return writer.take() + body;
      },
      message);
}

void set_frame_sequence(std::string& frame, std::uint32_t sequence) {
  for (std::size_t i = 0; i < 4; ++i) {
    frame[12 + i] = static_cast<char>((sequence >> (8 * i)) & 0xff);
  }
}

std::vector<Start> split_start(const Start& start) {
  constexpr std::size_t kRoomForTheRest = 256;  // header, secret, count
  std::vector<Start> pieces;
  std::size_t filled = kMaxFrameBytes;
  for (const RankSpec& rank : start.ranks) {
    Writer writer("Start");
    fields(writer, rank);
    const std::size_t size = writer.take().size();
    if (size > kMaxFrameBytes - kRoomForTheRest) {
      throw Error(Exit::kUsage, fmt::format("cannot start rank {}", rank.rank),
                  fmt::format("its arguments and environment take {} bytes, the limit is {}", size,
                              kMaxFrameBytes - kRoomForTheRest),
                  "a smaller environment, or arguments from a file");
    }
    if (filled + size > kMaxFrameBytes - kRoomForTheRest) {
      pieces.push_back({start.secret, {}});
      filled = 0;
    }
    pieces.back().ranks.push_back(rank);
    filled += size;
  }
  return pieces;
}

void FrameReader::feed(std::string_view bytes) {
  // Consumed bytes go before the buffer grows, so it never holds much more than one frame.
  if (begin_ == buffer_.size() || begin_ > kMaxFrameBytes) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += bytes;
}

std::optional<Message> FrameReader::next() {
  const std::string_view waiting = std::string_view(buffer_).substr(begin_);
  if (waiting.size() < kFrameHeaderBytes) return std::nullopt;
  Header header;
  Reader header_reader("frame", waiting.substr(0, kFrameHeaderBytes));
  header_fields(header_reader, header);
  if (header.type >= kDecoders.size() || kDecoders[header.type] == nullptr) {
    garbage(fmt::format("unknown message type {}", header.type));
  }
  if (header.sequence != expected_sequence_) {
    garbage(
        fmt::format("sequence number {} where {} was due", header.sequence, expected_sequence_));
  }
  if (waiting.size() < kFrameHeaderBytes + header.body_bytes) return std::nullopt;
  const std::string_view body = waiting.substr(kFrameHeaderBytes, header.body_bytes);
  if (crc32c(body) != header.checksum) garbage("wrong checksum");
  Message message = kDecoders[header.type](body);
  begin_ += kFrameHeaderBytes + header.body_bytes;
  ++expected_sequence_;
  return message;
}

const char* message_name(const Message& message) {
  return std::visit([]<class M>(const M&) { return kMessageName<M>; }, message);
}

}  // namespace dtl
