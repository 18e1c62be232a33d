// Connects links, sender and receiver. sender_ and receiver_ share frame buffers, so that one can
// reuse the other's memory.
#include "ring/engine/executor.h"

#include <algorithm>
#include <utility>

#include "ring/operation/board_values.h"

namespace dtl::ring {

Executor::Executor(const NodeMap& map, ShmBoard* board)
    : links_(static_cast<std::size_t>(map.world)),
      tcp_links_(static_cast<std::size_t>(map.world)),
      rank_(map.rank),
      is_awake_(static_cast<std::size_t>(map.world)),
      active_(map),
      findings_(map.world),
      sender_(map.world, buffers_),
      receiver_(map.world, active_, buffers_, findings_),
      board_(board) {}

void Executor::add_link(int peer, std::unique_ptr<Link> link) {
  link->set_waker(*this);
  links_[static_cast<std::size_t>(peer)] = std::move(link);
  wake(peer);
}

TcpLink& Executor::add_stream(int peer, Lane lane, std::uint32_t number, Channel channel) {
  TcpLink*& link = tcp_links_[static_cast<std::size_t>(peer)];
  if (link == nullptr) {
    // The higher rank fills its streams from the last one down, the lower one from the first up.
    auto made = std::make_unique<TcpLink>(peer, peer < rank_);
    link = made.get();
    add_link(peer, std::move(made));
  }
  link->add_stream(lane, number, std::move(channel));
  wake(peer);
  return *link;
}

void Executor::wake(int peer) {
  if (is_awake_[static_cast<std::size_t>(peer)]) return;
  is_awake_[static_cast<std::size_t>(peer)] = true;
  awake_.push_back(peer);
}

bool Executor::has_read_all(int peer) const {
  const auto& link = links_[static_cast<std::size_t>(peer)];
  return !link || link->has_ended();
}

bool Executor::say_farewell(std::uint64_t completed) {
  bool is_said = true;
  for (const auto& link : links_) {
    if (link && !link->say_farewell(completed)) is_said = false;
  }
  return is_said;
}

// Sums first: their results may be sent in the same step.
bool Executor::step() {
  bool moved = board_ != nullptr && advance_board();
  moved |= receiver_.advance_sums();
  moved |= sender_.begin_frames(active_, links_);
  return step_links() || moved;
}

// The peers' entries are read before the sleeping ones are woken, while this core still writes its
// own.
std::uint64_t Executor::run_on_board(const Operation& operation) {
  // About a microsecond: enough for a peer that called at the same time. A caller that need not
  // wait may have other work.
  constexpr int kLooks = 600;
  const std::uint64_t number = ++entries_;
  show_on(*board_, number, operation);
  const bool are_all_there = board_->pass_all(number, operation.header(), kLooks);
  if (are_all_there) take_from(*board_, number, operation);
  board_->wake_peers(number);
  if (!are_all_there) return number;
  board_bytes_ += operation.bytes() * (board_->locals() - 1);
  active_.note_ended(operation);
  return 0;
}

// In issue order, so that all ranks give an operation the same number.
bool Executor::advance_board() {
  bool moved = show_operations();
  moved |= look_at_boards();
  for (ActiveOperation* active : active_.all()) {
    Schedule& schedule = active->schedule;
    if (!schedule.board.is_used || schedule.board.is_taken) continue;
    const auto is_heard = [](const Flow& flow) { return flow.has_heard; };
    if (!std::all_of(schedule.flows.begin(), schedule.flows.end(), is_heard)) break;
    take_from(*board_, schedule.board.number, active->operation());
    board_bytes_ += active->operation().bytes() * schedule.flows.size();
    schedule.board.is_taken = true;
    moved = true;
  }
  return moved;
}

bool Executor::show_operations() {
  bool moved = false;
  for (ActiveOperation* active : active_.all()) {
    Schedule::Board& place = active->schedule.board;
    if (!place.is_used || place.number != 0) continue;
    place.number = ++entries_;
    show_on(*board_, place.number, active->operation());
    board_->wake_peers(place.number);
    moved = true;
  }
  return moved;
}

bool Executor::look_at_boards() {
  bool moved = false;
  for (std::size_t local = 0; local < board_->locals(); ++local) {
    if (local == board_->own()) continue;
    while (!findings_.mismatch && board_->has_next(local) && take_entry(local)) {
      board_->pass(local);
      moved = true;
    }
  }
  return moved;
}

// False: this rank has not begun the operation, or has begun another one.
bool Executor::take_entry(std::size_t local) {
  const int peer = static_cast<int>(local);  // all ranks are on one node
  const std::uint64_t number = board_->next(local);
  const OperationHeader theirs = board_->operation(local, number);
  FrameHead head;
  head.sequence = static_cast<std::uint32_t>(theirs.sequence);
  const ActiveOperations::Found found = active_.find(peer, head, true);
  if (found.active == nullptr) {
    if (const auto mine = active_.find_ended(head, &theirs)) {
      findings_.mismatch = LinkFindings::Mismatch{peer, *mine, theirs};
    }
    return false;
  }
  const OperationHeader& mine = found.active->operation().header();
  if (found.active->schedule.board.number != number || !same_operation(mine, theirs)) {
    findings_.mismatch = LinkFindings::Mismatch{peer, mine, theirs};
    return false;
  }
  found.flow->has_heard = true;
  return true;
}

// A link may wake another one meanwhile, which then comes last.
bool Executor::step_links() {
  bool moved = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < awake_.size(); ++i) {
    const int peer = awake_[i];
    Link& link = *links_[static_cast<std::size_t>(peer)];
    moved |= link.step(*this);
    if (link.wants_step()) {
      awake_[kept++] = peer;
    } else {
      is_awake_[static_cast<std::size_t>(peer)] = false;
    }
  }
  awake_.resize(kept);
  return moved;
}

std::optional<std::byte*> Executor::admit(int peer, const FrameHead& head,
                                          const OperationHeader* operation) {
  return receiver_.admit(peer, head, operation);
}

void Executor::arrived(int peer, const FrameHead& head, std::byte* payload) {
  receiver_.arrived(peer, head, payload);
}

void Executor::sent(int peer, const FrameHead& head) {
  const ActiveOperations::Found found = active_.find(peer, head, false);
  if (found.flow != nullptr) sender_.finish(*found.flow, head);
}

void Executor::left(int peer, std::uint64_t completed) {
  findings_.farewells.push_back({peer, completed});
}

void Executor::broken(int peer, int error) {
  findings_.breaks.push_back({peer, error});
}

}  // namespace dtl::ring
