// Converts messages to header and body and back. The table of decoders is generated from the
// variant Message, so a new message is decoded as soon as it is part of it.
#include "wire/frame.h"

#include <fmt/format.h>

#include <algorithm>
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
  io.number("flags", header.flags, 0);  // none is defined
  io.number("checksum", header.checksum, UINT32_MAX);
  io.number("sequence", header.sequence, UINT32_MAX);
}

template <class M>
Message decode_as(std::string_view body, std::string tail) {
  // Only agents' texts are made printable: the launcher's messages come from the user's own
  // program.
  const Texts texts = AgentsMessage<M> ? Texts::kMadePrintable : Texts::kAsTheyAre;
  Reader reader(kMessageName<M>, body, std::move(tail), texts);
  M message;
  fields(reader, message);
  reader.expect_end();
  return message;
}

struct Decoder {
  Message (*decode)(std::string_view body, std::string tail) = nullptr;
  std::size_t bytes_before_tail = 0;
};

// The decoder of each message type, by number; some numbers have none.
template <class... M>
constexpr auto make_decoders(std::variant<M...>*) {
  std::array<Decoder, std::max({kMessageType<M>...}) + std::size_t{1}> decoders{};
  ((decoders[kMessageType<M>] = {&decode_as<M>, kBytesBeforeTail<M>}), ...);
  return decoders;
}
constexpr auto kDecoders = make_decoders(static_cast<Message*>(nullptr));

Header read_header(const std::string& bytes) {
  Header header;
  Reader reader("frame", bytes);
  header_fields(reader, header);
  return header;
}

[[noreturn]] void garbage(const std::string& reason) {
  throw Error(Exit::kVersion, "malformed frame", reason);
}

}  // namespace

Frame encode_frame(Message message, std::uint32_t sequence) {
  return std::visit(
      [&]<class M>(M& m) {
        Writer writer(kMessageName<M>);
        Header header;
        header_fields(writer, header);  // reserves its bytes
        fields(writer, std::as_const(m));
        Frame frame{writer.take(), {}};
        if (std::string* tail = tail_of(m)) frame.tail = std::move(*tail);
        const std::size_t size = frame.size() - kFrameHeaderBytes;
        if (size > kMaxFrameBytes - kFrameHeaderBytes) {
          throw Error(Exit::kUsage, fmt::format("cannot send {}", kMessageName<M>),
                      fmt::format("it takes {} bytes, the limit is {}", size,
                                  kMaxFrameBytes - kFrameHeaderBytes));
        }
        const std::string_view body = std::string_view(frame.head).substr(kFrameHeaderBytes);
        // Last, since length and checksum are known only now.
        header = {static_cast<std::uint32_t>(size), kMessageType<M>, 0,
                  crc32c(frame.tail, crc32c(body)), sequence};
        Writer header_writer("frame");
        header_fields(header_writer, header);
        frame.head.replace(0, kFrameHeaderBytes, header_writer.written());
        return frame;
      },
      message);
}

void set_frame_sequence(Frame& frame, std::uint32_t sequence) {
  for (std::size_t i = 0; i < 4; ++i) {
    // 12: behind length, type, flags and checksum.
    frame.head[12 + i] = static_cast<char>((sequence >> (8 * i)) & 0xff);
  }
}

std::vector<Start> split_start(Start start, const std::vector<std::size_t>& shared_bytes) {
  constexpr std::size_t kRoomForTheRest = 256;  // header, secret, count
  std::vector<Start> pieces;
  // Starts full, so that the first rank opens a message.
  std::size_t filled = kMaxFrameBytes;
  for (std::size_t i = 0; i < start.ranks.size(); ++i) {
    RankSpec& rank = start.ranks[i];
    Writer writer("Start");
    fields(writer, std::as_const(rank));
    // Measures by writing, so the fields need no second description.
    const std::size_t size = writer.written().size();
    if (size + shared_bytes.at(i) > kMaxFrameBytes - kRoomForTheRest) {
      throw Error(Exit::kUsage, fmt::format("cannot start rank {}", rank.rank),
                  fmt::format("its arguments and environment take {} bytes, the limit is {}",
                              size + shared_bytes[i], kMaxFrameBytes - kRoomForTheRest),
                  "a smaller environment, or arguments from a file");
    }
    if (filled + size > kMaxFrameBytes - kRoomForTheRest) {
      pieces.push_back({start.secret, {}});
      filled = 0;
    }
    pieces.back().ranks.push_back(std::move(rank));
    filled += size;
  }
  return pieces;
}

void FrameReader::feed(std::string bytes) {
  if (at_ == received_.size()) {
    received_ = std::move(bytes);
  } else {
    // Part of a frame is left: only then are bytes moved.
    received_.erase(0, at_);
    received_ += bytes;
  }
  at_ = 0;
}

// Fills part of the frame up to this many bytes; false if more must arrive.
bool FrameReader::gather(std::string& part, std::size_t bytes) {
  // Checked already: `bytes` is within kMaxFrameBytes.
  part.reserve(bytes);
  const std::size_t size = std::min(bytes - part.size(), received_.size() - at_);
  part.append(received_, at_, size);
  at_ += size;
  return part.size() == bytes;
}

std::optional<Message> FrameReader::next() {
  if (!gather(header_, kFrameHeaderBytes)) return std::nullopt;
  const Header header = read_header(header_);
  if (header.type >= kDecoders.size() || kDecoders[header.type].decode == nullptr) {
    garbage(fmt::format("unknown message type {}", header.type));
  }
  // Checked before the body: never wait for the body of a repeated frame, or of one after a gap.
  if (header.sequence != expected_sequence_) {
    garbage(
        fmt::format("sequence number {} where {} was due", header.sequence, expected_sequence_));
  }
  const Decoder& decoder = kDecoders[header.type];
  const std::size_t body_bytes =
      std::min<std::size_t>(header.body_bytes, decoder.bytes_before_tail);
  if (!gather(body_, body_bytes)) return std::nullopt;
  if (!gather(tail_, header.body_bytes - body_bytes)) return std::nullopt;
  if (crc32c(tail_, crc32c(body_)) != header.checksum) garbage("wrong checksum");
  Message message = decoder.decode(body_, std::exchange(tail_, {}));
  bytes_taken_ += kFrameHeaderBytes + header.body_bytes;
  header_.clear();
  // Not clear(): one large message must not hold its memory until the connection ends.
  body_ = {};
  ++expected_sequence_;
  return message;
}

std::string FrameReader::take_rest() {
  std::string rest = received_.substr(at_);
  received_.clear();
  at_ = 0;
  return rest;
}

const char* message_name(const Message& message) {
  return std::visit([]<class M>(const M&) { return kMessageName<M>; }, message);
}

}  // namespace dtl
