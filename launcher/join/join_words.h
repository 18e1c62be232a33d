#pragma once
// What is said over a connection that a node has made by itself (PROTOCOL.md, Agents that come
// back). First a hello and the answer to it. Then the lives of agents on that node, one after the
// other, with their bytes unchanged. Pure: it makes and reads frames.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtl {

struct JoinFrame {
  enum class Kind : std::uint8_t {
    kHello = 1,        // the node's first: a JoinHello
    kSeated = 2,       // the answer: it belongs to the job; its JoinSeat
    kRefused = 3,      // or not, and why
    kComeAgain = 4,    // or not now, and why
    kStart = 5,        // start an agent, with other arguments than --serve, one a line
    kBytes = 6,        // both ways: of the agent
    kNoMoreBytes = 7,  // to the agent
    kEnded = 8,        // the agent is gone; how: "exit status 0"
    kStop = 9,         // from the node: it is told to end
    kDone = 10,        // the job is over; its exit status
    kHere = 11,        // both ways, every second: how many ms to wait for the next one
  };
  Kind kind = Kind::kBytes;
  std::string text;
};

// Of one frame; send_bytes() reads no more at once.
constexpr std::size_t kMaxJoinText = 64 << 10;

std::string frame_bytes(const JoinFrame& frame);  // asserts kMaxJoinText

// Cuts what arrives into frames. next(): nullopt until a whole frame is there. Throws
// Error(kVersion) for what is not a frame.
class JoinFrameReader {
 public:
  void feed(std::string_view bytes) { received_ += bytes; }
  std::optional<JoinFrame> next();

 private:
  std::string received_;
};

// Where a node sits. Nothing of an earlier generation is accepted.
struct JoinSeat {
  std::string room;       // 16 hex digits, drawn by who coordinates
  std::size_t place = 0;  // in it
  int generation = 1;     // how many have sat there, this one included

  bool operator==(const JoinSeat&) const = default;
};

std::string to_text(const JoinSeat& seat);
std::optional<JoinSeat> parse_seat(std::string_view text);

// Who a node is. If it is of another version, all members after `version` may be empty.
struct JoinHello {
  unsigned protocol = 0;
  std::string version;
  std::string job;  // the scheduler's name of it; may be empty
  int restart = 0;  // how often the scheduler has started the job again
  int rank = -1;    // of the node, as the scheduler counts them; -1: it does not say
  std::string name;
  std::optional<JoinSeat> before = {};  // where it sat when it lost its connection

  bool operator==(const JoinHello&) const = default;
};

// Seven lines, in the order of the members.
std::string to_text(const JoinHello& hello);
// Whoever sent the text knows the token; it is checked all the more, since a node may be broken.
// nullopt: not a hello.
std::optional<JoinHello> parse_hello(std::string_view text);

// A job's exit status, as kDone has it.
std::optional<int> parse_status(std::string_view text);

// Of kHere; nullopt beyond kPauseLease.
std::optional<std::chrono::milliseconds> parse_patience(std::string_view text);

}  // namespace dtl
