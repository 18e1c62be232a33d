// The network and the story. tree_talk.cc has the conversations and the promises.
#include "tests/sim/tree_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/limits.h"

namespace dtl::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWindow = 256 << 10;  // of a pipe: more must wait with its sender
constexpr RelayTime kConnectLimit{1500};
constexpr RelayTime kSlowPace{100};  // a slow node reads this often from each edge

std::uint32_t detail_of(EdgeId id, bool up) {
  return 2 * id + (up ? 1 : 0);
}

}  // namespace

TreeShape drawn_shape(std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  TreeShape shape;
  shape.width = static_cast<std::size_t>(draw(1, 3));
  shape.nodes = static_cast<std::size_t>(draw(2, shape.width == 1 ? 4 : 8));
  shape.faults = draw(1, 4);
  shape.floods = draw(1, 400) == 1;
  return shape;
}

TreeWorld::TreeWorld(std::uint64_t seed, const TreeShape& shape, const TreeRules& rules)
    : random_(seed), shape_(shape), rules_(rules), faults_left_(shape.faults) {}

void TreeWorld::later(RelayTime in, What what, std::size_t node, std::uint32_t detail) {
  events_.push({now_ + in, numbered_++, what, node, detail});
}

void TreeWorld::tell(const std::string& what) {
  story_ += fmt::format("{:6} ms: {}\n", now_.count(), what);
}

void TreeWorld::check(bool holds, const std::string& promise) {
  if (!holds && complaints_.empty()) {
    complaints_ = fmt::format("{} ms: {}", now_.count(), promise);
  }
}

bool TreeWorld::is_cut(std::size_t a, std::size_t b) const {
  return !cuts_.empty() && cuts_.contains(std::minmax(a, b));
}

// Node i is below node i / width - 1; the first `width` are tops. After its ancestors a node calls
// the other tops.
void TreeWorld::make_tree() {
  agents_.resize(shape_.nodes);
  for (std::size_t i = 0; i < shape_.nodes; ++i) {
    Agent& agent = agents_[i];
    for (std::size_t at = i; at >= shape_.width;) {
      at = at / shape_.width - 1;
      agent.parents.push_back(at);
    }
    if (!agent.parents.empty()) {
      const std::size_t own_top = agent.parents.back();
      for (std::size_t top = 0; top < std::min<std::size_t>(shape_.width, 3); ++top) {
        if (top != own_top) agent.parents.push_back(top);
      }
    }
    agent.end.link.keep();
    agent.far.link.keep();
    const auto node = static_cast<std::uint32_t>(i);
    agent.relay = std::make_unique<Relay>(node, agent.parents.size(), now_);
    if (agent.parents.empty()) {
      agent.uplink = static_cast<EdgeId>(edges_.size());
      edges_.push_back({});
      edges_.back().child = i;
      edges_.back().parent = kLauncher;
    } else if (shape_.frame_every > 0ms) {
      later(RelayTime(draw(0, static_cast<int>(shape_.frame_every.count()))), What::kFrame, i);
    }
  }
}

void TreeWorld::run() {
  make_tree();
  for (std::size_t i = 0; i < agents_.size(); ++i) act(i);
  later(0ms, What::kPulse);
  if (faults_left_ > 0) later(RelayTime(draw(3000, 5000)), What::kFault);
  ends_at_ = 13s;
  while (complaints_.empty()) {
    const Event event = events_.top();
    events_.pop();
    if (faults_left_ == 0 && event.at > ends_at_) break;
    now_ = event.at;
    try {
      handle(event);
    } catch (const Error& error) {
      check(false, error.what());
    }
  }
  if (complaints_.empty()) check_end();
}

void TreeWorld::handle(const Event& event) {
  switch (event.what) {
    case What::kTick: {
      Agent& agent = agents_[event.node];
      if (!runs(event.node) || agent.tick_at != event.at) return;
      agent.tick_at = RelayTime::max();
      rules_.time_passed(*agent.relay, now_);
      return act(event.node);
    }
    case What::kWrite:
      return act(event.node);
    case What::kDeliver:
      return deliver(event.detail / 2, event.detail % 2 == 1);
    case What::kCalled:
      return called(event.node, event.detail);
    case What::kLate:
      if (agents_[event.node].call != event.detail || agents_[event.node].dead) return;
      if (!runs(event.node)) return later(100ms, What::kLate, event.node, event.detail);
      rules_.not_connected(*agents_[event.node].relay, now_);
      return act(event.node);
    case What::kPulse:
      return pulse();
    case What::kFrame:
      return talk(event.node);
    case What::kFault:
      return fault();
    case What::kRepair:
      return repair(event.node, event.detail);
  }
}

// ---- agents

void TreeWorld::act(std::size_t node) {
  if (!runs(node)) return;
  Agent& agent = agents_[node];
  for (auto effects = agent.relay->take_effects(); !effects.empty();
       effects = agent.relay->take_effects()) {
    for (RelayEffect& effect : effects) perform(node, effect);
  }
  flush_near(node);
  write(node);
  const bool was_full = std::exchange(agent.was_full, rules_.is_up_full(*agent.relay));
  if (was_full && !agent.was_full) {  // by a write, or because the uplink is lost
    for (const EdgeId id : agent.below) later(0ms, What::kDeliver, 0, detail_of(id, true));
    later(0ms, What::kWrite, node);  // its own branch may go on
  }
  most_queued_ = std::max(most_queued_, agent.relay->queued_bytes());
  check(agent.relay->queued_bytes() <= Relay::kMostUp + (512 << 10), "a queue has no bound");
  const RelayTime due = agent.relay->due();
  if (due < agent.tick_at) {
    agent.tick_at = std::max(due, now_ + 1ms);
    later(agent.tick_at - now_, What::kTick, node);
  }
}

void TreeWorld::perform(std::size_t node, RelayEffect& effect) {
  Agent& agent = agents_[node];
  if (const auto* call = std::get_if<CallParent>(&effect)) {
    agent.target = agent.parents[call->parent];
    later(10ms, What::kCalled, node, ++agent.call);
  } else if (std::holds_alternative<DropUplink>(effect)) {
    if (agent.uplink) hang_up(*std::exchange(agent.uplink, std::nullopt), false);
  } else if (const auto* drop = std::get_if<DropEdge>(&effect)) {
    std::erase(agent.below, drop->edge);
    hang_up(drop->edge, true);
  } else if (const auto* begins = std::get_if<BranchBegins>(&effect)) {
    agent.branch = begins->stream;
    end_branch(agent.end);
  } else if (const auto* come = std::get_if<BranchBytes>(&effect)) {
    feed_near(node, come->bytes);
  } else if (std::holds_alternative<BranchEnds>(effect)) {
    end_branch(agent.end);
  }
}

void TreeWorld::write(std::size_t node) {
  Agent& agent = agents_[node];
  Relay& relay = *agent.relay;
  if (agent.uplink) {
    while (edges_[*agent.uplink].up.bytes < kWindow) {
      std::string bytes = relay.take_up(now_);
      if (bytes.empty()) break;
      if (agent.parents.empty()) ++writes_to_launcher_;
      put(*agent.uplink, true, std::move(bytes));
    }
    const RelayTime due = relay.up_due();
    if (due > now_ && due != RelayTime::max()) later(due - now_, What::kWrite, node);
  }
  for (const EdgeId id : agent.below) {
    while (edges_[id].down.bytes < kWindow) {
      std::string bytes = relay.take_down(id);
      if (bytes.empty()) break;
      put(id, false, std::move(bytes));
    }
  }
}

// ---- the network

void TreeWorld::put(EdgeId id, bool up, std::string bytes, bool ends) {
  Edge& edge = edges_[id];
  if (up ? !edge.open_above : !edge.open_below) return;  // nobody reads it
  Pipe& pipe = up ? edge.up : edge.down;
  RelayTime at = now_ + RelayTime(draw(1, 3));
  if (!pipe.items.empty()) at = std::max(at, pipe.items.back().at);
  pipe.bytes += bytes.size();
  pipe.items.push_back({at, std::move(bytes), ends});
  later(at - now_, What::kDeliver, 0, detail_of(id, up));
}

void TreeWorld::deliver(EdgeId id, bool up) {
  Edge& edge = edges_[id];
  Pipe& pipe = up ? edge.up : edge.down;
  const std::size_t reader = up ? edge.parent : edge.child, writer = up ? edge.child : edge.parent;
  if ((reader != kLauncher && !runs(reader)) || is_cut(edge.child, edge.parent)) return;
  const bool slow = reader != kLauncher && agents_[reader].slow;
  bool was_full = false;
  for (int taken = 0; !pipe.items.empty() && pipe.items.front().at <= now_; ++taken) {
    if (slow && taken > 0) {
      later(kSlowPace, What::kDeliver, 0, detail_of(id, up));
      break;
    }
    if (up && reader != kLauncher && rules_.is_up_full(*agents_[reader].relay)) break;
    Item item = std::move(pipe.items.front());
    pipe.items.pop_front();
    was_full |= pipe.bytes >= kWindow;
    pipe.bytes -= item.bytes.size();
    take(id, up, std::move(item));
  }
  if (was_full && writer != kLauncher) later(0ms, What::kWrite, writer);
  if (reader != kLauncher) act(reader);
}

void TreeWorld::take(EdgeId id, bool up, Item item) {
  Edge& edge = edges_[id];
  bool& open = up ? edge.open_above : edge.open_below;
  if (!open) return;
  if (item.ends) {
    open = false;
    if (!up) {
      Agent& child = agents_[edge.child];
      if (child.uplink != id) return;
      child.uplink.reset();
      child.relay->uplink_ended(now_);
    } else if (edge.parent == kLauncher) {
      lose_top(edge.child);
    } else {
      std::erase(agents_[edge.parent].below, id);
      agents_[edge.parent].relay->edge_ended(id);
    }
    return;
  }
  ParcelReader& reader = up ? edge.up.reader : edge.down.reader;
  reader.feed(item.bytes);
  while (auto parcel = reader.next()) {
    if (!up) {
      if (agents_[edge.child].uplink != id) return;
      rules_.from_above(*agents_[edge.child].relay, std::move(*parcel), now_);
    } else if (edge.parent == kLauncher) {
      from_top(edge.child, std::move(*parcel));
    } else {
      rules_.from_below(*agents_[edge.parent].relay, id, std::move(*parcel), now_);
    }
  }
}

void TreeWorld::called(std::size_t node, std::uint32_t call) {
  Agent& agent = agents_[node];
  if (agent.call != call || agent.dead) return;
  if (!runs(node)) return later(100ms, What::kCalled, node, call);
  Agent& parent = agents_[agent.target];
  if (parent.dead) {
    rules_.not_connected(*agent.relay, now_);
    return act(node);
  }
  if (parent.stopped || is_cut(node, agent.target)) {
    return later(kConnectLimit, What::kLate, node, call);
  }
  const auto id = static_cast<EdgeId>(edges_.size());
  edges_.push_back({});
  edges_.back().child = node;
  edges_.back().parent = agent.target;
  agent.uplink = id;
  parent.below.push_back(id);
  parent.relay->edge_begins(id, static_cast<std::uint32_t>(node), now_);
  agent.relay->connected(now_);
  act(agent.target);
  act(node);
}

// One end closes it; the other one hears of that after what was sent.
void TreeWorld::hang_up(EdgeId id, bool above) {
  Edge& edge = edges_[id];
  bool& open = above ? edge.open_above : edge.open_below;
  if (!open) return;
  put(id, !above, {}, true);
  open = false;
  Pipe& unread = above ? edge.up : edge.down;
  unread.items.clear();
  unread.bytes = 0;
}

// ---- faults

void TreeWorld::fault() {
  --faults_left_;
  const std::size_t node = draw_node();
  Agent& agent = agents_[node];
  RelayTime lasts = 0ms;
  const int kind = draw(0, 4);
  if (kind == 0 && !agent.dead) {
    const bool is_top = agent.parents.empty();
    const auto tops = std::count_if(agents_.begin(), agents_.end(), [](const Agent& each) {
      return each.parents.empty() && !each.dead;
    });
    if (!is_top || tops > 1) {
      tell(fmt::format("{} is killed", node));
      if (agent.uplink) hang_up(*std::exchange(agent.uplink, std::nullopt), false);
      for (const EdgeId id : std::exchange(agent.below, {})) hang_up(id, true);
      agent.dead = true;
    }
  } else if (kind == 1 && runs(node)) {
    agent.stopped = true;
    lasts = RelayTime(draw(200, 12000));
    later(lasts, What::kRepair, node, 1);
    tell(fmt::format("{} is stopped for {} ms", node, lasts.count()));
  } else if (kind == 2 && !agent.slow) {
    agent.slow = true;
    lasts = RelayTime(draw(200, 8000));
    later(lasts, What::kRepair, node, 2);
    tell(fmt::format("{} is slow for {} ms", node, lasts.count()));
  } else if (kind == 3 && !agent.parents.empty() && agent.uplink) {
    tell(fmt::format("the edge of {} is cut", node));
    const EdgeId id = *agent.uplink;
    put(id, true, {}, true);
    put(id, false, {}, true);
  } else if (kind == 4 && !agent.parents.empty()) {
    const std::size_t other =
        agent
            .parents[static_cast<std::size_t>(draw(0, static_cast<int>(agent.parents.size()) - 1))];
    lasts = RelayTime(draw(200, 12000));
    if (cuts_.insert(std::minmax(node, other)).second) {
      later(lasts, What::kRepair, node, static_cast<std::uint32_t>(10 + other));
      tell(fmt::format("nothing passes between {} and {} for {} ms", node, other, lasts.count()));
    }
  }
  agent.fault_at = now_;
  faults_.push_back(now_);
  ends_at_ = std::max(ends_at_, now_ + lasts + 13s);
  if (faults_left_ > 0) later(RelayTime(draw(100, 6000)), What::kFault);
}

void TreeWorld::repair(std::size_t node, std::uint32_t kind) {
  Agent& agent = agents_[node];
  tell(fmt::format("{} is repaired", node));
  faults_.push_back(now_);
  agent.fault_at = now_;
  if (kind == 1) agent.stopped = false;
  if (kind == 2) agent.slow = false;
  if (kind >= 10) cuts_.erase(std::minmax(node, static_cast<std::size_t>(kind - 10)));
  for (EdgeId id = 0; id < edges_.size(); ++id) {
    if (edges_[id].child != node && edges_[id].parent != node) continue;
    later(0ms, What::kDeliver, 0, detail_of(id, true));
    later(0ms, What::kDeliver, 0, detail_of(id, false));
  }
  agent.tick_at = RelayTime::max();
  later(0ms, What::kWrite, node);
}

}  // namespace dtl::sim
