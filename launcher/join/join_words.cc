// Every text but an agent's bytes is words or lines. Each parser checks the whole text before it
// uses any of it.
#include "launcher/join/join_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "wire/messages.h"

namespace dtl {
namespace {

constexpr std::size_t kHeaderBytes = 4;  // kind, and the length in 24 bits, low byte first
constexpr std::size_t kHelloLines = 7;
constexpr std::size_t kSeatWords = 3;
constexpr std::size_t kRoomDigits = 16;
constexpr std::size_t kMaxJobBytes = 256;
constexpr std::size_t kMaxVersionBytes = 64;
constexpr std::size_t kMaxNameBytes = 253;  // of a DNS name
constexpr int kMostRestarts = 1'000'000'000;

bool is_kind(std::uint8_t byte) {
  return byte >= static_cast<std::uint8_t>(JoinFrame::Kind::kHello) &&
         byte <= static_cast<std::uint8_t>(JoinFrame::Kind::kHere);
}

// Names become part of messages, plans and host lists, where other characters have a meaning. A
// leading dash would look like an option.
bool is_node_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), fits);
}

bool is_room(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kRoomDigits && std::all_of(text.begin(), text.end(), digit);
}

}  // namespace

std::string frame_bytes(const JoinFrame& frame) {
  assert(frame.text.size() <= kMaxJoinText);
  std::string bytes(kHeaderBytes, '\0');
  bytes[0] = static_cast<char>(frame.kind);
  for (std::size_t i = 1; i < kHeaderBytes; ++i) {
    bytes[i] = static_cast<char>((frame.text.size() >> (8 * (i - 1))) & 0xff);
  }
  return bytes + frame.text;
}

std::optional<JoinFrame> JoinFrameReader::next() {
  if (received_.size() < kHeaderBytes) return std::nullopt;
  const auto byte = [this](std::size_t at) { return static_cast<std::uint8_t>(received_[at]); };
  std::size_t length = 0;
  for (std::size_t i = 1; i < kHeaderBytes; ++i) length |= std::size_t{byte(i)} << (8 * (i - 1));
  // Checked before the text arrives: a wrong length must not make the reader buffer megabytes.
  if (!is_kind(byte(0)) || length > kMaxJoinText) {
    throw Error(Exit::kVersion, "garbage instead of the protocol",
                fmt::format("a frame of kind {} and {} bytes", byte(0), length));
  }
  if (received_.size() < kHeaderBytes + length) return std::nullopt;
  JoinFrame frame{static_cast<JoinFrame::Kind>(byte(0)), received_.substr(kHeaderBytes, length)};
  received_.erase(0, kHeaderBytes + length);
  return frame;
}

std::string to_text(const JoinSeat& seat) {
  return fmt::format("{} {} {}", seat.room, seat.place, seat.generation);
}

std::optional<JoinSeat> parse_seat(std::string_view text) {
  const std::vector<std::string> words = split(text, ' ');
  if (words.size() != kSeatWords || !is_room(words[0])) return std::nullopt;
  const auto place = parse_integer(words[1], 0, kMaxRanks - 1);
  const auto generation = parse_integer(words[2], 1, INT32_MAX);
  if (!place || !generation) return std::nullopt;
  return JoinSeat{words[0], static_cast<std::size_t>(*place), static_cast<int>(*generation)};
}

std::string to_text(const JoinHello& hello) {
  const std::string rank = hello.rank < 0 ? "-" : std::to_string(hello.rank);
  const std::string before = hello.before ? to_text(*hello.before) : "-";
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", hello.protocol, hello.version, hello.job,
                     hello.restart, rank, hello.name, before);
}

std::optional<JoinHello> parse_hello(std::string_view text) {
  const std::vector<std::string> lines = split(text, '\n');
  if (lines.size() < 2) return std::nullopt;
  JoinHello hello;
  const auto protocol = parse_integer(lines[0], 0, UINT16_MAX);
  if (!protocol || lines[1].empty() || lines[1].size() > kMaxVersionBytes) return std::nullopt;
  hello.protocol = static_cast<unsigned>(*protocol);
  hello.version = printable(lines[1]);
  // Other versions share only these two lines. The refusal names both versions.
  if (hello.protocol != kProtocol || hello.version != DTL_VERSION) return hello;
  if (lines.size() != kHelloLines) return std::nullopt;
  // It appears in messages on the first node's terminal.
  hello.job = printable(lines[2]);
  if (hello.job.size() > kMaxJobBytes) return std::nullopt;
  const auto restart = parse_integer(lines[3], 0, kMostRestarts);
  const auto rank = lines[4] == "-" ? -1 : parse_integer(lines[4], 0, kMaxRanks - 1);
  if (!restart || !rank || !is_node_name(lines[5])) return std::nullopt;
  hello.restart = static_cast<int>(*restart);
  hello.rank = static_cast<int>(*rank);
  hello.name = lines[5];
  if (lines[6] == "-") return hello;
  hello.before = parse_seat(lines[6]);
  return hello.before ? std::optional(hello) : std::nullopt;
}

std::optional<int> parse_status(std::string_view text) {
  const auto status = parse_integer(text, 0, 255);
  if (!status) return std::nullopt;
  return static_cast<int>(*status);
}

std::optional<std::chrono::milliseconds> parse_patience(std::string_view text) {
  const auto patience = parse_integer(text, 1, std::chrono::milliseconds(kPauseLease).count());
  if (!patience) return std::nullopt;
  return std::chrono::milliseconds(*patience);
}

}  // namespace dtl
