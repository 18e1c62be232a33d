#pragma once
// Frames on the control lines, which form a tree with rank 0 at its root: who is where, who left,
// who failed. "rank -> 0" and "0 -> all": the ranks between pass it on. Lines are apart from the
// links, so that news do not wait behind data. They join only ranks that have proved the secret,
// and lengths are bounded nevertheless. One thread.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ring/links/channel.h"

namespace dtl::ring {

enum class FrameKind : std::uint32_t {
  kJoin = 1,    // rank -> 0: text is this rank's listening address and host name
  kTable = 2,   // 0 -> all: the same of all ranks
  kReady = 3,   // rank -> 0: all links of this rank exist
  kGo = 4,      // 0 -> all: all links exist
  kFail = 5,    // everybody: the communicator failed, with status and reason
  kBye = 6,     // everybody: `rank` destroyed its communicator after `completed` operations
  kShare = 7,   // rank -> 0: status is a NodeMemory; text: why it was refused
  kNodes = 8,   // 0 -> all: text has for each rank whether its node shares memory; status: whether
                // ranks of some node share cores
  kParent = 9,  // 0 -> rank, once: `rank` is its parent, text where that is; this line ends
};

// How a rank finds the memory of its node's ranks. kCrowded: shared, and the ranks have fewer CPUs
// than they are.
enum class NodeMemory : std::int32_t { kShared = 0, kRefused = 1, kCrowded = 2 };

struct Frame {
  FrameKind kind = FrameKind::kFail;
  std::int32_t status = 0;  // kFail: a dt_status; kShare, kNodes: see there
  std::int32_t rank = 0;    // whom it is about
  std::uint64_t completed = 0;
  std::string text;
};

constexpr std::size_t kMaxFrameText = 1024;      // of a reason; longer ones are cut
constexpr std::size_t kMaxTableText = 48 << 20;  // 65,535 ranks with 700 bytes each

std::string encode(const Frame& frame);

// kGarbled: no frame can be found any more in what comes.
enum class LineState { kOpen, kClosed, kGarbled };

// Collects bytes of one line until they are whole frames. Its memory is bounded by the longest
// frame.
class FrameReader {
 public:
  // Reads what is there without blocking and appends whole frames. kClosed and kGarbled come
  // after the frames that arrived before.
  LineState read(Channel& channel, std::vector<Frame>& frames);
  // errno of the failed read behind kClosed; 0 for an orderly end.
  int closing_error() const { return closing_error_; }

 private:
  bool take_frames(std::vector<Frame>& frames);

  std::string buffer_;
  int closing_error_ = 0;
};

// Sends without blocking. False when the line is dead or full: then the line's reader will say so.
// A frame that was sent in part cannot be followed by another, so a full line is as good as dead.
bool send_now(Channel& channel, std::string_view bytes);
// Waits for the peer to make room, until the deadline.
bool send_until(Channel& channel, std::string_view bytes,
                std::chrono::steady_clock::time_point deadline);

struct ControlLine {
  int rank = -1;
  Channel channel;
  FrameReader reader = {};
  bool is_open = true;      // the peer may have closed it; the descriptor stays
  std::string unsent = {};  // frames, or the rest of one, for which there was no room yet
};

}  // namespace dtl::ring
