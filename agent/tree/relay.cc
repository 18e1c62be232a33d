// The input of an edge comes from another agent of the job, which has proved its number. It can
// claim branches of any node, so numbers are limited; it cannot read or forge their bytes.
#include "agent/tree/relay.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

[[noreturn]] void refuse_parcel(const std::string& reason) {
  throw Error(Exit::kVersion, "malformed parcel", reason);
}

}  // namespace

Relay::Relay(std::uint32_t node, std::size_t parents, RelayTime now)
    : node_(node), parents_(parents), alive_at_(now) {
  if (parents_ == 0) {
    uplink_ = Uplink::kConnected;
  } else {
    call(0);
  }
}

// ---- the uplink

void Relay::call(std::size_t parent) {
  uplink_ = Uplink::kCalling;
  parent_ = parent % parents_;
  call_at_ = kNever;
  effects_.push_back(CallParent{parent_});
}

void Relay::pause(RelayTime now) {
  uplink_ = Uplink::kPausing;
  call_at_ = now + kPause;
}

void Relay::connected(RelayTime now) {
  uplink_ = Uplink::kConnected;
  failed_ = 0;
  connected_at_ = pulse_at_ = now;
  begin_branch(now);
  for (const auto& [node, route] : routes_) {
    if (route.open) up({ParcelKind::kArrived, node, route.stream, {}}, true);
  }
}

void Relay::not_connected(RelayTime now) {
  if (uplink_ != Uplink::kCalling) return;
  if (++failed_ % parents_ == 0) {
    ++parent_;
    pause(now);
  } else {
    call(parent_ + 1);
  }
}

// A parent that ended is called again: it may have given up this edge alone. One that answers and
// hangs up must not be called without a pause.
void Relay::uplink_ended(RelayTime now) {
  if (uplink_ != Uplink::kConnected || parents_ == 0) return;
  lose_uplink(0, now);
}

void Relay::lose_uplink(std::size_t next_parent, RelayTime now) {
  const bool lasted = now >= connected_at_ + kAlivePeriod;
  end_branches_above();
  up_.clear();
  is_hurried_ = false;
  if (lasted) {
    call(next_parent);
  } else {
    parent_ = next_parent;
    pause(now);
  }
}

void Relay::end_branches_above() {
  end_branch();
  branch_at_ = kNever;
  for (auto& [node, route] : routes_) {
    if (!route.open) continue;
    route.open = false;
    pass_down({ParcelKind::kLeft, node, route.stream, {}}, route);
  }
}

// ---- this node's branch

void Relay::begin_branch(RelayTime now) {
  ++branch_;
  branch_open_ = true;
  branch_began_ = now;
  branch_at_ = kNever;
  effects_.push_back(BranchBegins{branch_});
  up({ParcelKind::kArrived, node_, branch_, {}}, true);
}

void Relay::end_branch() {
  if (!branch_open_) return;
  branch_open_ = false;
  effects_.push_back(BranchEnds{});
}

void Relay::branch_closed(std::uint32_t stream, RelayTime now) {
  if (!owns(stream)) return;
  branch_open_ = false;
  up({ParcelKind::kLeft, node_, stream, {}}, true);
  branch_at_ = std::max(now, branch_began_ + kPause);
}

void Relay::send(std::uint32_t stream, std::string bytes) {
  if (owns(stream)) up({ParcelKind::kBytes, node_, stream, std::move(bytes)}, false);
}

// ---- parcels

Relay::Route* Relay::open_route(std::uint32_t node, std::uint32_t stream) {
  const auto found = routes_.find(node);
  if (found == routes_.end() || !found->second.open || found->second.stream != stream) {
    return nullptr;
  }
  return &found->second;
}

void Relay::from_above(Parcel parcel, RelayTime now) {
  if (parcel.kind == ParcelKind::kPulse) {
    pulse_at_ = heard_pulse_ = now;
    effects_.push_back(HeardPulse{});
    for (auto& [id, edge] : edges_) edge.queue.push_first(parcel);
    return;
  }
  if (parcel.kind == ParcelKind::kPiece) {
    pass_down_to_all(parcel);
    // dtlaunch talks to this node directly if it has no parent.
    if (parents_ > 0) effects_.push_back(PieceComes{std::move(parcel.bytes)});
    return;
  }
  const bool ends = parcel.kind == ParcelKind::kLeft;
  if (!ends && parcel.kind != ParcelKind::kBytes) refuse_parcel("its kind goes upward only");
  if (parcel.node == node_) {
    if (!owns(parcel.stream)) return;
    if (!ends) {
      effects_.push_back(BranchBytes{std::move(parcel.bytes)});
      return;
    }
    end_branch();
    branch_at_ = std::max(now, branch_began_ + kPause);
    return;
  }
  // What is late, of an older branch, is dropped.
  Route* route = open_route(parcel.node, parcel.stream);
  if (route == nullptr) return;
  if (ends) route->open = false;
  pass_down(parcel, *route);
}

void Relay::pass_down(const Parcel& parcel, const Route& route) {
  const auto edge = edges_.find(route.edge);
  if (edge == edges_.end()) return;
  edge->second.queue.push(parcel);
  if (edge->second.queue.bytes() > kMostDown) drop(edge);
}

// A child whose queue is full goes without: it asks dtlaunch for the piece when it needs it.
void Relay::pass_down_to_all(const Parcel& parcel) {
  for (auto& [id, edge] : edges_) {
    if (edge.queue.bytes() + parcel.bytes.size() < kMostDown / 2) edge.queue.push(parcel);
  }
}

void Relay::from_below(EdgeId id, Parcel parcel, RelayTime now) {
  const auto edge = edges_.find(id);
  if (edge == edges_.end()) return;
  edge->second.heard = now;
  if (parcel.kind == ParcelKind::kAlive) {
    const std::vector<std::uint32_t> nodes = decode_nodes(parcel.bytes, kMostNodes);
    alive_.insert(alive_.end(), nodes.begin(), nodes.end());
    if (alive_.size() > 2 * kMostNodes) sort_alive();
    return;
  }
  if (parcel.kind == ParcelKind::kPulse || parcel.kind == ParcelKind::kPiece) {
    refuse_parcel("its kind goes downward only");
  }
  if (parcel.node == node_ || parcel.node >= kMostNodes) refuse_parcel("its node is not below");
  if (parcel.kind == ParcelKind::kArrived) {
    Route& route = routes_[parcel.node];
    if (parcel.stream <= route.stream) return;
    route = {id, parcel.stream, true};
    if (is_connected()) up(parcel, true);
    return;
  }
  Route* route = open_route(parcel.node, parcel.stream);
  if (route == nullptr || route->edge != id) return;
  const bool ends = parcel.kind == ParcelKind::kLeft;
  if (ends) route->open = false;
  if (is_connected()) up(parcel, ends);
}

void Relay::up(const Parcel& parcel, bool hurried) {
  up_.push(parcel);
  is_hurried_ |= hurried;
}

// ---- edges

void Relay::edge_begins(EdgeId id, std::uint32_t child, RelayTime now) {
  for (auto edge = edges_.begin(); edge != edges_.end();) {
    const auto here = edge++;
    if (here->second.child == child) drop(here);
  }
  Edge& edge = edges_[id];
  edge.child = child;
  edge.heard = now;
  // It need not wait for the next pulse to know that this way leads to dtlaunch.
  if (heard_pulse_ != kNever && now < heard_pulse_ + kAlivePeriod) edge.queue.push_first({});
}

void Relay::edge_ended(EdgeId id) {
  if (edges_.erase(id) > 0) close_routes(id);
}

void Relay::drop(Edges::iterator edge) {
  const EdgeId id = edge->first;
  edges_.erase(edge);
  effects_.push_back(DropEdge{id});
  close_routes(id);
}

void Relay::close_routes(EdgeId id) {
  for (auto& [node, route] : routes_) {
    if (!route.open || route.edge != id) continue;
    route.open = false;
    if (is_connected()) up({ParcelKind::kLeft, node, route.stream, {}}, true);
  }
}

bool Relay::has_down(EdgeId id) const {
  const auto edge = edges_.find(id);
  return edge != edges_.end() && !edge->second.queue.is_empty();
}

std::string Relay::take_down(EdgeId id) {
  const auto edge = edges_.find(id);
  return edge == edges_.end() ? std::string() : edge->second.queue.take();
}

// ---- time

RelayTime Relay::patience() const {
  return kPulsePatience + kPatiencePerParent * static_cast<int>(std::min(parents_ - 1, kMostWaits));
}

RelayTime Relay::due() const {
  RelayTime due = std::min({alive_at_, call_at_, branch_at_});
  if (is_connected() && parents_ > 0) due = std::min(due, pulse_at_ + patience());
  return due;
}

void Relay::time_passed(RelayTime now) {
  if (now >= alive_at_) say_alive(now);
  if (uplink_ == Uplink::kPausing && now >= call_at_) call(parent_);
  if (is_connected() && parents_ > 0 && now >= pulse_at_ + patience()) {
    effects_.push_back(DropUplink{});
    lose_uplink(parent_ + 1, now);
  }
  if (now >= branch_at_ && is_connected()) begin_branch(now);
}

void Relay::say_alive(RelayTime now) {
  alive_at_ = now + kAlivePeriod;
  for (auto edge = edges_.begin(); edge != edges_.end();) {
    const auto here = edge++;
    // Bytes that are not read say nothing about who sent them.
    if (is_up_full()) here->second.heard = now;
    if (now >= here->second.heard + kEdgeSilence) drop(here);
  }
  // The last one still waits: these nodes go with the next one.
  if (up_.has_first()) return;
  alive_.push_back(node_);
  sort_alive();
  if (is_connected()) up_.push_first({ParcelKind::kAlive, 0, 0, encode_nodes(alive_)});
  is_hurried_ |= is_connected();
  alive_.clear();
}

void Relay::sort_alive() {
  std::sort(alive_.begin(), alive_.end());
  alive_.erase(std::unique(alive_.begin(), alive_.end()), alive_.end());
}

// ---- upward

RelayTime Relay::up_due() const {
  if (up_.is_empty() || !is_connected()) return kNever;
  const bool now = is_hurried_ || written_ == kNever || up_.bytes() >= kGatherBytes;
  return now ? RelayTime(0) : written_ + kGather;
}

std::string Relay::take_up(RelayTime now) {
  if (now < up_due()) return {};
  std::string bytes = up_.take();
  written_ = now;
  is_hurried_ = is_hurried_ && !up_.is_empty();
  return bytes;
}

std::size_t Relay::queued_bytes() const {
  std::size_t bytes = up_.bytes();
  for (const auto& [id, edge] : edges_) bytes += edge.queue.bytes();
  return bytes;
}

std::vector<RelayEffect> Relay::take_effects() {
  return std::exchange(effects_, {});
}

}  // namespace dtl
