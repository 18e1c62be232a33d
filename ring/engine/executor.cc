#include "ring/engine/executor.h"

#include <algorithm>
#include <cerrno>

#include "ring/arithmetic/reduce.h"
#include "ring/operation/scheduler.h"

namespace dtl::ring {
namespace {

constexpr std::size_t kBufferBytes = 128 << 10;  // of the largest frame
// How many operations of a lane are active at once: of long ones two, so that the first bytes of
// the next leave while the last bytes of one arrive.
constexpr std::array<std::size_t, kLanes> kRoom{8, 2, 4096};

std::size_t index_of(Lane lane) {
  return static_cast<std::size_t>(lane);
}

}  // namespace

Executor::Executor(const NodeMap& map)
    : map_(map),
      links_(static_cast<std::size_t>(map.world)),
      is_announced_(static_cast<std::size_t>(map.world)),
      busy_(static_cast<std::size_t>(map.world) * kLanes) {}

void Executor::add_link(int peer, std::unique_ptr<Link> link) {
  links_[static_cast<std::size_t>(peer)] = std::move(link);
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

bool Executor::has_room(Lane lane) const {
  return active_of_[index_of(lane)] < kRoom[index_of(lane)];
}

ActiveOperation& Executor::start(OperationSlot& slot) {
  if (free_.empty()) {
    operations_.push_back(std::make_unique<ActiveOperation>());
    free_.push_back(operations_.back().get());
  }
  ActiveOperation& active = *free_.back();
  active.slot = &slot;
  Scheduler(slot.operation, map_, active.scratch, active.schedule).plan();
  free_.pop_back();
  active_.push_back(&active);
  ++active_of_[index_of(slot.operation.lane())];
  return active;
}

OperationSlot* Executor::take_finished() {
  const auto at = std::find_if(active_.begin(), active_.end(), [](const ActiveOperation* active) {
    return active->schedule.is_done();
  });
  if (at == active_.end()) return nullptr;
  ActiveOperation& finished = **at;
  active_.erase(at);
  --active_of_[index_of(finished.operation().lane())];
  ended_.add(finished.operation());
  finished.schedule.clear();
  finished.scratch.reset();
  free_.push_back(&finished);
  return finished.slot;
}

const Operation* Executor::oldest() const {
  for (const ActiveOperation* active : active_) {
    if (active->operation().lane() != Lane::kPair) return &active->operation();
  }
  return active_.empty() ? nullptr : &active_.front()->operation();
}

std::uint64_t Executor::scratch_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& operation : operations_) sum += operation->scratch.bytes();
  for (const Scratch& buffer : buffers_) sum += buffer.bytes();
  return sum;
}

std::byte* Executor::take_buffer() {
  if (free_buffers_.empty()) {
    buffers_.emplace_back(kBufferBytes);
    free_buffers_.push_back(buffers_.back().data());
  }
  std::byte* buffer = free_buffers_.back();
  free_buffers_.pop_back();
  return buffer;
}

void Executor::give_back(std::vector<Held>& held, std::uint64_t offset) {
  const auto at = std::find_if(held.begin(), held.end(),
                               [&](const Held& each) { return each.offset == offset; });
  if (at == held.end()) return;
  free_buffers_.push_back(at->buffer);
  held.erase(at);
}

std::uint64_t Executor::travelling(const Operation& operation, Wire wire,
                                   std::uint64_t bytes) const {
  if (wire == Wire::kExact) return bytes;
  return bytes / operation.element() * wire_bytes(operation.request().dtype, wire);
}

std::uint64_t Executor::in_memory(const Operation& operation, Wire wire,
                                  std::uint64_t bytes) const {
  if (wire == Wire::kExact) return bytes;
  return bytes / wire_bytes(operation.request().dtype, wire) * operation.element();
}

bool Executor::step() {
  bool moved = false;
  for (ActiveOperation* active : active_) {
    for (Sum& sum : active->schedule.sums) moved |= advance(*active, sum);
  }
  moved |= begin_frames();
  for (const auto& link : links_) {
    if (link) moved |= link->step(*this);
  }
  return moved;
}

bool Executor::begin_frames() {
  bool moved = false;
  ++round_;
  for (ActiveOperation* active : active_) {
    const Lane lane = active->operation().lane();
    for (Flow& flow : active->schedule.flows) {
      const auto is_begun = [&] { return flow.has_begun && flow.out_piece == flow.out.size(); };
      if (!flow.sends || is_begun()) continue;
      const auto peer = static_cast<std::size_t>(flow.peer);
      std::uint64_t& taken = busy_[peer * kLanes + index_of(lane)];
      if (taken == round_ || !links_[peer]) continue;
      while (!is_begun() && links_[peer]->can_begin(lane) &&
             begin_frame(*active, flow, *links_[peer])) {
        moved = true;
      }
      if (!is_begun()) taken = round_;  // the next operation waits for this one
    }
  }
  return moved;
}

bool Executor::begin_frame(ActiveOperation& active, Flow& flow, Link& link) {
  const Operation& operation = active.operation();
  FrameHead head;
  head.magic = kFrameMagic;
  head.lane = static_cast<std::uint8_t>(operation.lane());
  head.has_operation = flow.has_begun ? 0 : 1;
  head.sequence = static_cast<std::uint32_t>(operation.sequence());
  head.offset = flow.out_travelled;
  const std::byte* payload = nullptr;
  std::byte* answer = nullptr;
  if (flow.out_piece < flow.out.size()) {
    const Outgoing& piece = flow.out[flow.out_piece];
    const std::uint64_t at = travelling(operation, piece.wire, flow.out_at);
    const std::uint64_t open =
        travelling(operation, piece.wire, active.schedule.allowed(piece.gate, piece.bytes)) - at;
    const std::uint64_t most = std::min<std::uint64_t>(
        active.schedule.frame_bytes, link.frame_bytes(operation.lane(), piece.data, piece.answer));
    head.bytes = static_cast<std::uint32_t>(std::min(open, most - at % most));
    // A header that goes alone costs a system call, and short operations end soon.
    if (head.bytes == 0 && (flow.has_begun || operation.lane() == Lane::kSmall)) return false;
    payload = piece.data + flow.out_at;
    if (piece.answer != nullptr) answer = piece.answer + flow.out_at;
    const std::uint64_t bytes = in_memory(operation, piece.wire, head.bytes);
    if (piece.wire != Wire::kExact && head.bytes > 0) {
      std::byte* buffer = take_buffer();
      to_wire(piece.wire, buffer, reinterpret_cast<const float*>(payload),
              bytes / operation.element());
      flow.staged.push_back({head.offset, buffer});
      payload = buffer;
    }
    flow.out_at += bytes;
    if (flow.out_at == piece.bytes) {
      ++flow.out_piece;
      flow.out_at = 0;
    }
  }
  head.is_answered = answer != nullptr ? 1 : 0;
  link.begin(head, flow.has_begun ? nullptr : &flow.out_header, payload, answer);
  flow.has_begun = true;
  flow.out_travelled += head.bytes;
  ++flow.in_flight;
  return true;
}

void Executor::sent(int peer, const FrameHead& head) {
  const Found found = find(peer, head, false);
  if (found.flow == nullptr) return;
  give_back(found.flow->staged, head.offset);
  --found.flow->in_flight;
  bytes_sent_ += head.bytes;
}

void Executor::left(int peer, std::uint64_t completed) {
  farewells.push_back({peer, completed});
}

void Executor::broken(int peer, int error) {
  breaks.push_back({peer, error});
}

Executor::Found Executor::find(int peer, const FrameHead& head, bool receives) const {
  const bool is_pair = head.lane == static_cast<std::uint8_t>(Lane::kPair);
  for (ActiveOperation* active : active_) {
    const Operation& operation = active->operation();
    if (static_cast<std::uint32_t>(operation.sequence()) != head.sequence) continue;
    if (is_pair != (operation.lane() == Lane::kPair)) continue;
    if (is_pair &&
        (operation.request().is_receive != receives || operation.request().root != peer)) {
      continue;
    }
    return {active, active->schedule.find_flow(peer)};
  }
  return {};
}

// Messages wait for their receiver in the link, which asks again and again.
void Executor::announce(int peer, const FrameHead& head, const OperationHeader* operation,
                        bool is_found) {
  if (operation == nullptr || head.lane != static_cast<std::uint8_t>(Lane::kPair)) return;
  const auto index = static_cast<std::size_t>(peer);
  if (is_announced_[index] != is_found) return;
  is_announced_[index] = !is_found;
  announcements.push_back({peer, is_found ? std::nullopt : std::optional(*operation)});
}

bool Executor::check(Found found, const OperationHeader& theirs) {
  const OperationHeader& mine = found.flow != nullptr && found.flow->receives
                                    ? found.flow->in_header
                                    : found.active->operation().header();
  const bool is_expected = found.flow != nullptr && found.flow->receives;
  if (is_expected && same_operation(mine, theirs)) return true;
  if (!mismatch) mismatch = Mismatch{0, mine, theirs};
  return false;
}

std::optional<std::byte*> Executor::admit(int peer, const FrameHead& head,
                                          const OperationHeader* operation) {
  const Found found = find(peer, head, true);
  if (mismatch) return std::nullopt;
  announce(peer, head, operation, found.active != nullptr);
  if (found.active == nullptr) {
    if (const auto mine = ended_.find(head, operation))
      mismatch = Mismatch{peer, *mine, *operation};
    return std::nullopt;
  }
  if (operation != nullptr && !check(found, *operation)) {
    mismatch->peer = peer;
    return std::nullopt;
  }
  Flow* flow = found.flow;
  if (flow == nullptr || (operation == nullptr && !flow->has_heard)) return std::nullopt;
  flow->has_heard = true;
  if (head.bytes == 0) return nullptr;
  const Place place = place_of(*found.active, *flow, head);
  if (place.piece == nullptr || place.piece->is_answered != (head.is_answered != 0)) {
    broken(peer, EPROTO);
    return std::nullopt;
  }
  Incoming& piece = *place.piece;
  const std::uint64_t end = place.offset + head.bytes;
  if (piece.action == Action::kCollect) {
    if (!has_window(*found.active, piece, end)) return std::nullopt;
    const Sum& sum = found.active->schedule.sums[piece.sum];
    return sum.sources[piece.source].window + (piece.window_at + place.offset) % sum.window_bytes;
  }
  if (piece.action == Action::kStore && piece.wire == Wire::kExact) {
    return piece.target + place.offset;
  }
  const std::uint64_t bytes = in_memory(found.active->operation(), piece.wire, end);
  if (found.active->schedule.allowed(piece.gate, piece.bytes) < bytes) return std::nullopt;
  std::byte* buffer = take_buffer();
  flow->expected.push_back({head.offset, buffer});
  return buffer;
}

// The piece that holds the frame; null when no piece holds all of it.
Executor::Place Executor::place_of(const ActiveOperation& active, Flow& flow,
                                   const FrameHead& head) const {
  const Operation& operation = active.operation();
  const std::uint64_t frame_bytes = active.schedule.frame_bytes;
  std::uint64_t from = 0;
  for (Incoming& piece : flow.in) {
    const std::uint64_t bytes = travelling(operation, piece.wire, piece.bytes);
    if (head.offset < from + bytes) {
      const std::uint64_t offset = head.offset - from;
      const std::size_t element = wire_bytes(operation.request().dtype, piece.wire);
      const bool fits = head.bytes <= bytes - offset && head.bytes <= kBufferBytes &&
                        offset % element == 0 && head.bytes % element == 0 &&
                        offset / frame_bytes == (offset + head.bytes - 1) / frame_bytes;
      return fits ? Place{&piece, offset} : Place{};
    }
    from += bytes;
  }
  return {};
}

bool Executor::has_window(const ActiveOperation& active, const Incoming& piece,
                          std::uint64_t end) const {
  const Sum& sum = active.schedule.sums[piece.sum];
  if (sum.done == sum.bytes) return false;
  const Sum::Part& part = sum.parts[sum.part];
  const std::uint64_t taken =
      part.window_at + travelling(active.operation(), sum.wire, sum.done - part.at);
  return piece.window_at + end <= taken + sum.window_bytes;
}

void Executor::arrived(int peer, const FrameHead& head, std::byte* payload) {
  const Found found = find(peer, head, true);
  if (found.flow == nullptr) return;
  Flow& flow = *found.flow;
  if (head.bytes == 0) return;
  const Place place = place_of(*found.active, flow, head);
  if (place.piece == nullptr) return;
  if (place.piece->is_answered) {
    take_and_answer(*found.active, *place.piece, place.offset, payload, head.bytes);
  } else {
    take(*found.active, *place.piece, place.offset, payload, head.bytes);
  }
  give_back(flow.expected, head.offset);
  flow.arrived += head.bytes;
  bytes_received_ += head.bytes;
  advance_prefix(found.active->operation(), flow, head.offset, head.offset + head.bytes);
}

}  // namespace dtl::ring
