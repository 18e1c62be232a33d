// Missing connections are counted on both sides: connectors that are left, and callers that have
// not come. So a time-out names the rank that is late.
#include "ring/meeting/link_builder.h"

#include <cstdint>
#include <utility>

namespace dtl::ring {
namespace {

// Connections that this rank opens at the same time.
constexpr std::size_t kAtOnce = 32;
constexpr unsigned kLaneBits = 8;  // of Hello::lane

Lane lane_in(std::uint32_t field) {
  return static_cast<Lane>(field & ((1U << kLaneBits) - 1));
}

}  // namespace

LinkBuilder::LinkBuilder(const Members& members, const NodeMap& map, std::size_t streams,
                         MeetingLines& lines)
    : members_(members),
      map_(map),
      streams_(streams),
      lines_(lines),
      self_(members.identity.rank),
      links_(members.infos.size()) {}

std::vector<std::unique_ptr<TcpLink>> LinkBuilder::build() {
  prepare();
  for (;;) {
    take_callers();
    const std::vector<Connector*> active = connect();
    const std::vector<int> callers = missing();
    if (connectors_.empty() && callers.empty()) return std::move(links_);
    if (!connectors_.empty()) {
      // The first ones are tried in each turn, so the front has been tried for longest.
      const Connector& slowest = connectors_.front();
      lines_.check_deadline("cannot be reached at " + slowest.last_reason(), {slowest.to()});
    } else {
      lines_.check_deadline("did not connect to " + members_.name(self_), callers);
    }
    lines_.turn(active);
  }
}

void LinkBuilder::prepare() {
  for (int peer = 0; peer < members_.identity.world; ++peer) {
    if (!wants(peer)) continue;
    // The higher rank fills its streams from the last one down, the lower one from the first up:
    // see TcpLink.
    links_[static_cast<std::size_t>(peer)] = std::make_unique<TcpLink>(peer, peer < self_);
    if (peer > self_) continue;
    for (std::size_t k = 0; k < kLanes - 1 + streams_; ++k) {
      const auto lane = static_cast<std::uint32_t>(k < kLanes ? static_cast<Lane>(k) : Lane::kBulk);
      const auto number = static_cast<std::uint32_t>(k < kLanes ? 0 : k - kLanes + 1);
      connectors_.emplace_back(members_.identity, peer, Stream::kData,
                               std::vector{*members_.of(peer).address},
                               static_cast<std::uint16_t>(lane | number << kLaneBits));
    }
  }
}

std::vector<Connector*> LinkBuilder::connect() {
  std::vector<Connector*> active;
  for (auto it = connectors_.begin(); it != connectors_.end() && active.size() < kAtOnce;) {
    Channel channel = it->step();
    if (!channel.valid()) {
      active.push_back(&*it++);
      continue;
    }
    links_[static_cast<std::size_t>(it->to())]->add_stream(
        lane_in(it->lane()), std::uint32_t{it->lane()} >> kLaneBits, std::move(channel));
    it = connectors_.erase(it);
  }
  return active;
}

std::vector<int> LinkBuilder::missing() const {
  std::vector<int> ranks;
  for (int peer = self_ + 1; peer < members_.identity.world; ++peer) {
    const auto& link = links_[static_cast<std::size_t>(peer)];
    if (wants(peer) && link->descriptors().size() < kLanes - 1 + streams_) ranks.push_back(peer);
  }
  return ranks;
}

void LinkBuilder::take_callers() {
  for (Caller& caller : lines_.take_callers()) admit(std::move(caller));
}

void LinkBuilder::admit(Caller caller) {
  const Identity& identity = members_.identity;
  const int from = caller.hello.from;
  // Callers have proved the secret but may still be wrong: of lower ranks, for lanes that do not
  // exist, or one too many. They are dropped, and the deadline names who is missing.
  if (from <= self_ || from >= identity.world) return;
  if (((caller.hello.flags & kEncrypts) != 0) != identity.encrypts) return;
  const auto& link = links_[static_cast<std::size_t>(from)];
  const Lane lane = lane_in(caller.hello.lane);
  const std::uint32_t number = std::uint32_t{caller.hello.lane} >> kLaneBits;
  if (static_cast<std::size_t>(lane) >= kLanes) return;
  const std::size_t most = lane == Lane::kBulk ? streams_ : 1;
  if (link && number < most && link->streams(lane) < most) {
    link->add_stream(lane, number, std::move(caller.channel));
  }
}

}  // namespace dtl::ring
