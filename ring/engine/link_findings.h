#pragma once
// LinkFindings: what the links report besides data, each once. The driving thread takes it from
// here after each step: acting within the step would change links and operations that the step
// still uses. Failures decides what follows.

#include <cstdint>
#include <optional>
#include <vector>

#include "ring/links/link.h"

namespace dtl::ring {

class LinkFindings {
 public:
  explicit LinkFindings(int world) : is_announced_(static_cast<std::size_t>(world)) {}

  // A peer begins another operation than this rank called.
  struct Mismatch {
    int peer = 0;
    OperationHeader mine, theirs;
  };
  std::optional<Mismatch> mismatch;
  struct Break {
    int peer, error;
  };
  std::vector<Break> breaks;
  struct Farewell {
    int peer;
    std::uint64_t completed;
  };
  std::vector<Farewell> farewells;
  // A message without a receiver has arrived, or has found one (no header).
  struct Announcement {
    int peer = 0;
    std::optional<OperationHeader> header;
  };
  std::vector<Announcement> announcements;

  // True even if nothing moved.
  bool has_any() const { return mismatch || !breaks.empty() || !farewells.empty(); }

  // A message's head is at the front of a link, which offers it again at each step. Records only
  // changes.
  void note_message(int peer, const OperationHeader& header, bool has_receiver) {
    const auto index = static_cast<std::size_t>(peer);
    if (is_announced_[index] != has_receiver) return;
    is_announced_[index] = !has_receiver;
    announcements.push_back({peer, has_receiver ? std::nullopt : std::optional(header)});
  }

 private:
  std::vector<bool> is_announced_;  // by rank
};

}  // namespace dtl::ring
