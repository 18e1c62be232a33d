#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "ring/meeting/rendezvous_state.h"

namespace dtl::ring {
namespace {

constexpr std::size_t kAtOnce = 32;  // connections that this rank opens at the same time
constexpr unsigned kLaneBits = 8;    // of Hello::lane

Lane lane_in(std::uint32_t field) {
  return static_cast<Lane>(field & ((1U << kLaneBits) - 1));
}

}  // namespace

// Opens the memory of the ranks that seem to be on this node. Empty, or why it does not work.
std::string RendezvousState::open_share() {
  std::vector<std::string> addresses;
  for (int rank = 0; rank < identity_.world; ++rank) {
    const PeerInfo& member = members_[static_cast<std::size_t>(rank)];
    if (rank == identity_.rank) links_.local = static_cast<int>(addresses.size());
    if (member.node == own().node) addresses.push_back(member.share);
  }
  if (place_.memory == nullptr || own().node.empty() || addresses.size() < 2) return {};
  return place_.memory->open(links_.local, addresses);
}

NodeMemory RendezvousState::memory_here() const {
  const bool is_crowded = place_.memory != nullptr && place_.memory->is_crowded();
  return is_crowded ? NodeMemory::kCrowded : NodeMemory::kShared;
}

// All ranks of a node share memory or none; rank 0 is asked, so that all see it alike.
void RendezvousState::share_nodes() {
  const std::string refusal = open_share();
  if (!leads()) {
    const NodeMemory memory = refusal.empty() ? memory_here() : NodeMemory::kRefused;
    tell_all({FrameKind::kShare, static_cast<std::int32_t>(memory), identity_.rank, 0, refusal});
    while (nodes_.empty()) {
      check_deadline("did not say which ranks share a node", {0});
      poll_once({});
      read_control();
    }
    return set_nodes(nodes_);
  }
  answered_[0] = true;
  refused_[0] = !refusal.empty();
  if (!refusal.empty()) links_.warning = refusal;
  links_.is_crowded |= refusal.empty() && memory_here() == NodeMemory::kCrowded;
  for (auto missing = ranks_without(answered_); !missing.empty();
       missing = ranks_without(answered_)) {
    check_deadline("did not open the memory of their nodes", missing);
    poll_once({});
    read_control();
  }
  std::string shares;
  for (const PeerInfo& member : members_) {
    const auto refuses = [&](std::size_t i) {
      return refused_[i] && members_[i].node == member.node;
    };
    bool is_shared = !member.node.empty();
    for (std::size_t i = 0; i < members_.size(); ++i) is_shared = is_shared && !refuses(i);
    shares += is_shared ? '1' : '0';
  }
  const std::string frame = encode({FrameKind::kNodes, links_.is_crowded ? 1 : 0, 0, 0, shares});
  for (ControlLine& line : links_.control) send_until(line.channel, frame, deadline_);
  set_nodes(shares);
}

void RendezvousState::set_nodes(const std::string& shares) {
  if (shares.size() != members_.size()) {
    throw CommError(DT_E_SYS, "cannot join the ring", "the table of nodes is garbled");
  }
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    keys.push_back(shares[i] == '1' ? members_[i].node : "");
  }
  links_.map = NodeMap::from_keys(identity_.rank, keys);
}

// Of two ranks of different nodes the higher one connects: a stream for each lane, and several for
// long operations.
void RendezvousState::link_up() {
  const auto wanted = [&](int peer) {
    return peer != identity_.rank && !links_.map.is_local(peer);
  };
  const std::size_t of_each = kLanes - 1 + links_.settings.streams;
  links_.links.resize(members_.size());
  std::list<Connector> connectors;
  for (int peer = 0; peer < identity_.world; ++peer) {
    if (!wanted(peer)) continue;
    auto& link = links_.links[static_cast<std::size_t>(peer)];
    if (!link) link = std::make_unique<TcpLink>(peer, peer < identity_.rank);
    if (peer > identity_.rank) continue;
    for (std::size_t k = 0; k < of_each; ++k) {
      const auto lane = static_cast<std::uint32_t>(k < kLanes ? static_cast<Lane>(k) : Lane::kBulk);
      const auto number = static_cast<std::uint32_t>(k < kLanes ? 0 : k - kLanes + 1);
      connectors.emplace_back(identity_, peer, Stream::kData,
                              std::vector{*members_[static_cast<std::size_t>(peer)].address},
                              static_cast<std::uint16_t>(lane | number << kLaneBits));
    }
  }
  for (Caller& caller : early_callers_) admit_data(std::move(caller));
  early_callers_.clear();
  for (;;) {
    std::vector<Connector*> active;
    for (auto it = connectors.begin(); it != connectors.end() && active.size() < kAtOnce;) {
      Channel channel = it->step();
      if (!channel.valid()) {
        active.push_back(&*it++);
        continue;
      }
      links_.links[static_cast<std::size_t>(it->to())]->add_stream(
          lane_in(it->lane()), std::uint32_t{it->lane()} >> kLaneBits, std::move(channel));
      it = connectors.erase(it);
    }
    std::vector<int> missing;
    for (int peer = identity_.rank + 1; peer < identity_.world; ++peer) {
      const auto& link = links_.links[static_cast<std::size_t>(peer)];
      if (wanted(peer) && link->descriptors().size() < of_each) missing.push_back(peer);
    }
    if (connectors.empty() && missing.empty()) break;
    if (!connectors.empty()) {
      check_deadline("cannot be reached at " + connectors.front().last_reason(),
                     {connectors.front().to()});
    } else {
      check_deadline("did not connect to " + name(identity_.rank), missing);
    }
    poll_once(active);
    read_control();
  }
  ready_[static_cast<std::size_t>(identity_.rank)] = true;
}

void RendezvousState::admit_data(Caller caller) {
  const int from = caller.hello.from;
  if (from <= identity_.rank || from >= identity_.world) return;
  if (((caller.hello.flags & kEncrypts) != 0) != identity_.encrypts) return;
  const auto& link = links_.links[static_cast<std::size_t>(from)];
  const Lane lane = lane_in(caller.hello.lane);
  const std::uint32_t number = std::uint32_t{caller.hello.lane} >> kLaneBits;
  if (static_cast<std::size_t>(lane) >= kLanes) return;
  const std::size_t most = lane == Lane::kBulk ? links_.settings.streams : 1;
  if (link && number < most && link->streams(lane) < most) {
    link->add_stream(lane, number, std::move(caller.channel));
  }
}

}  // namespace dtl::ring
