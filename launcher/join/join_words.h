#pragma once
// The frames on a connection that a node has made (PROTOCOL.md, Agents that come back): a hello and
// its answer, then the agents of that node, one after the other, with their bytes unchanged. Pure:
// it writes and parses frames.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtl {

struct JoinFrame {
  enum class Kind : std::uint8_t {
    kHello = 1,        // the node's first frame: a JoinHello
    kSeated = 2,       // the answer: the node has joined the job; its JoinSeat
    kRefused = 3,      // the answer: never, and why
    kComeAgain = 4,    // the answer: not now, and why
    kStart = 5,        // start an agent; arguments (other than --serve), one per line
    kBytes = 6,        // both ways: an agent's bytes
    kNoMoreBytes = 7,  // to the agent: end of its input
    kEnded = 8,        // the agent has ended; how: "exit status 0"
    kStop = 9,         // from the node: the scheduler is ending it
    kDone = 10,        // the job is over; its exit status
    kHere = 11,        // both ways, every second: how many ms to wait for the next one
  };
  Kind kind = Kind::kBytes;
  std::string text;
};

// Limit for one frame; send_bytes() reads no more at once.
constexpr std::size_t kMaxJoinText = 64 << 10;

std::string frame_bytes(const JoinFrame& frame);  // asserts kMaxJoinText

// Splits received bytes into frames. next(): nullopt until a frame is complete. Throws
// Error(kVersion) for anything else.
class JoinFrameReader {
 public:
  void feed(std::string_view bytes) { received_ += bytes; }
  std::optional<JoinFrame> next();

 private:
  std::string received_;
};

// A node's place. Nothing of an earlier generation is accepted.
struct JoinSeat {
  std::string room;       // 16 random hex digits that identify the room
  std::size_t place = 0;  // in it
  int generation = 1;     // how many nodes have had the place, this one included

  bool operator==(const JoinSeat&) const = default;
};

std::string to_text(const JoinSeat& seat);
std::optional<JoinSeat> parse_seat(std::string_view text);

// Who a node is. For another version, all members after `version` may be empty.
struct JoinHello {
  unsigned protocol = 0;
  std::string version;
  std::string job;  // the scheduler's job number; may be empty
  int restart = 0;  // how often the scheduler has restarted the job
  int rank = -1;    // the node's number by the scheduler; -1: unknown
  std::string name;
  std::optional<JoinSeat> before = {};  // its seat when it lost its connection

  bool operator==(const JoinHello&) const = default;
};

// Seven lines, in the order of the members.
std::string to_text(const JoinHello& hello);
// The sender knows the token, but may be broken, so every line is checked. nullopt: not a hello.
std::optional<JoinHello> parse_hello(std::string_view text);

// A job's exit status, from kDone.
std::optional<int> parse_status(std::string_view text);

// From kHere; nullopt beyond kPauseLease.
std::optional<std::chrono::milliseconds> parse_patience(std::string_view text);

}  // namespace dtl
