// The first line of an entry has all that the shortest operations need, so that reading it costs
// one transfer between cores: the operation's header up to its reserved end, eight bytes of values,
// and the number, which is written last.
#include "ring/links/shm_board.h"

#include <cstring>

#include "ring/links/shm_node.h"

namespace dtl::ring {

ShmBoard::ShmBoard(const ShmNode& share)
    : share_(share),
      own_(static_cast<std::size_t>(share.own_)),
      next_(share.peers_.size(), 1),
      looked_(share.peers_.size(), 0) {
  for (std::size_t local = 0; local < share.peers_.size(); ++local) {
    const Mapping& segment = local == own_ ? share.segment_ : share.peers_[local].segment;
    boards_.push_back(share.layout_.board(segment.data()));
  }
}

BoardEntry& ShmBoard::entry(std::size_t local, std::uint64_t number) const {
  auto* entries = std::launder(reinterpret_cast<BoardEntry*>(boards_[local]));
  return entries[number % kBoardEntries];
}

std::byte* ShmBoard::long_values(std::size_t local, std::uint64_t number) const {
  return boards_[local] + Layout::board_values_at() +
         number % kBoardEntries * Layout::board_stride();
}

void ShmBoard::show(std::uint64_t number, const OperationHeader& operation, const std::byte* values,
                    std::size_t bytes) {
  BoardEntry& own = entry(own_, number);
  std::memcpy(own.operation, &operation, sizeof own.operation);
  if (bytes > 0) {
    std::memcpy(bytes <= sizeof own.values ? own.values : long_values(own_, number), values, bytes);
  }
  own.number.store(number, std::memory_order_release);
}

void ShmBoard::wake_peers(std::uint64_t number) {
  // A peer that sleeps has looked before, so this is news to it; see ShmNode::begin_sleep().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // So that this core may write the next entry at once, when nobody waits for it yet.
  __builtin_prefetch(&entry(own_, number + 1), 1);
  for (std::size_t local = 0; local < boards_.size(); ++local) {
    if (local != own_) ShmNode::wake_sleeper(share_.peers_[local]);
  }
}

OperationHeader ShmBoard::operation(std::size_t local, std::uint64_t number) const {
  OperationHeader header;
  std::memcpy(static_cast<void*>(&header), entry(local, number).operation,
              sizeof(BoardEntry::operation));
  return header;
}

const std::byte* ShmBoard::values(std::size_t local, std::uint64_t number,
                                  std::size_t bytes) const {
  return bytes <= sizeof(BoardEntry::values) ? entry(local, number).values
                                             : long_values(local, number);
}

bool ShmBoard::has_next(std::size_t local) {
  if (!has(local, next_[local])) return false;
  looked_[local] = next_[local];
  return true;
}

// Headers last: what peers have not shown yet is of an earlier operation.
bool ShmBoard::pass_all(std::uint64_t number, const OperationHeader& operation, int looks) {
  for (std::size_t local = 0; local < next_.size(); ++local) {
    if (local == own_) continue;
    if (next_[local] != number) return false;
    while (!has(local, number)) {
      if (--looks < 0) return false;
    }
  }
  for (std::size_t local = 0; local < next_.size(); ++local) {
    if (local == own_) continue;
    const BoardEntry& theirs = entry(local, number);
    if (std::memcmp(theirs.operation, &operation, sizeof theirs.operation) != 0) return false;
  }
  for (std::size_t local = 0; local < next_.size(); ++local) {
    if (local != own_) ++next_[local];
  }
  return true;
}

bool ShmBoard::has_news() const {
  for (std::size_t local = 0; local < next_.size(); ++local) {
    if (local != own_ && looked_[local] != next_[local] && has(local, next_[local])) return true;
  }
  return false;
}

}  // namespace dtl::ring
