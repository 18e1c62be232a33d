#pragma once
// ShmBoard: where the ranks of a node show each other the values of short operations. Each rank
// writes its own board, in its own segment, and reads those of the others: one write and one read
// for each peer, where a link needs a frame and its acknowledgement. Owned by the ShmNode; used by
// the driving thread. Knows nothing of operations but their headers and bytes.
//
// Entries are numbered from 1, in the order in which ranks begin such operations. An entry is
// overwritten kBoardEntries later without asking. That is safe if every rank completes an entry
// only after it has seen that of every other rank, and has at most half as many entries open: then
// whoever shows entry n has completed n - kBoardEntries / 2, which all others have therefore shown,
// so all have completed n - kBoardEntries.

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

  // At most kBoardBytes. Wakes the peers that sleep.
  void show(std::uint64_t number, const OperationHeader& operation, const std::byte* values,
            std::size_t bytes);
  // Of an entry that is there. A copy, since a faulty peer may change it meanwhile.
  OperationHeader operation(std::size_t local, std::uint64_t number) const;
  // bytes: of the entry, as the operation says. Also this rank's own entry.
  const std::byte* values(std::size_t local, std::uint64_t number, std::size_t bytes) const;

  // The number of a peer's next entry; whether the peer shows it; and that it was used.
  std::uint64_t next(std::size_t local) const { return next_[local]; }
  bool has_next(std::size_t local);
  void pass(std::size_t local) { ++next_[local]; }
  // A peer shows an entry that has_next() has not seen: whoever drives must not sleep. What it has
  // seen without passing it waits for a caller of this rank.
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
