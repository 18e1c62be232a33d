#pragma once
// SharedFrames: frames that dtlaunch sends to many nodes of a tree at once. Their pieces come down
// the tree in parcels, each once for all nodes below an agent. The node's own conversation says
// which frame is next, by the SHA-256 of its pieces; so no agent on the way can change it. A piece
// that has not come is asked for, and comes in the conversation. Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "wire/messages.h"

namespace dtl {

class SharedFrames {
 public:
  // Pieces that no frame has needed yet; then the oldest are forgotten. No frame set is larger.
  static constexpr std::size_t kMostKept = 16 << 20;

  void keep(std::string piece);  // from above
  // The frame comes after all before it. What must be asked for.
  std::vector<PieceWanted> expect(SharedFrame frame);
  // The answer. Throws Error(kVersion) if no frame waits for it.
  void give(PieceGiven piece);
  // The bytes of frames that are complete, in order; each once.
  std::vector<std::string> take();

 private:
  struct Waiting {
    std::vector<std::string> digests;  // an empty one: the piece is there
    std::vector<std::string> pieces;
    std::size_t lacking = 0;
  };

  std::map<std::string, std::string> kept_;  // by digest
  std::deque<std::string> order_;            // the digests, the oldest first; some may be used
  std::size_t kept_bytes_ = 0;
  std::deque<Waiting> waiting_;
};

}  // namespace dtl
