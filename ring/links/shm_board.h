#pragma once
// ShmBoard: where the ranks of a node show each other the values of short operations. Each rank
// writes its own board, in its own segment, and reads those of the others: one write and one read
// for each peer, where a link needs a frame and its acknowledgement. Owned by the ShmNode; used by
// the driving thread. Knows nothing of operations but their headers and bytes.
//
// Entries are numbered from 1, in the order in which ranks begin such operations. An entry is
// overwritten kBoardEntries later without asking. That is safe under two rules. A rank completes an
// entry only after it has seen that of every other rank. It has at most kBoardEntries / 2 entries
// open. So a rank that shows entry n has completed entry n - kBoardEntries / 2. All others have
// shown that one, so they have completed entry n - kBoardEntries, and nobody reads it any more.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/links/operation_header.h"
#include "ring/links/shm_segment.h"

namespace dtl::ring {

class ShmNode;

class ShmBoard {
 public:
  // After ShmNode::open(), which it must not outlive.
  explicit ShmBoard(const ShmNode& share);

  // At most kBoardBytes. wake_peers() must follow.
  void show(std::uint64_t number, const OperationHeader& operation, const std::byte* values,
            std::size_t bytes);
  // Those that sleep, so that they look at this entry. It waits until this core has written the
  // entry, so rather look at theirs before.
  void wake_peers(std::uint64_t number);
  // Of an entry that is there. A copy, since a faulty peer may change it meanwhile.
  OperationHeader operation(std::size_t local, std::uint64_t number) const;
  // bytes: of the entry, as the operation says. Also this rank's own entry.
  const std::byte* values(std::size_t local, std::uint64_t number, std::size_t bytes) const;

  // The number of a peer's next entry; whether the peer shows it; and that it was used.
  std::uint64_t next(std::size_t local) const { return next_[local]; }
  bool has_next(std::size_t local);
  void pass(std::size_t local) { ++next_[local]; }
  // Whether all peers show this entry, of the same operation; then it is passed. Looks this often
  // for one that is not there. False: nothing has changed.
  bool pass_all(std::uint64_t number, const OperationHeader& operation, int looks);
  // A peer shows an entry that has_next() has not seen, so the driving thread must not sleep. An
  // entry that was seen but not passed waits for a caller of this rank.
  bool has_news() const;

  std::size_t locals() const { return next_.size(); }
  std::size_t own() const { return own_; }

 private:
  bool has(std::size_t local, std::uint64_t number) const {
    return entry(local, number).number.load(std::memory_order_acquire) == number;
  }
  BoardEntry& entry(std::size_t local, std::uint64_t number) const;
  std::byte* long_values(std::size_t local, std::uint64_t number) const;

  const ShmNode& share_;
  const std::size_t own_;
  std::vector<std::byte*> boards_;            // of each rank of the node, in its segment
  std::vector<std::uint64_t> next_, looked_;  // by place in the node
};

}  // namespace dtl::ring
