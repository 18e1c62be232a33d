// What is missing is known on both sides: connectors that are left, and callers that have not come.
// So a time-out names the rank that is late.
#include "ring/meeting/link_builder.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace dtl::ring {
namespace {

// Connections that this rank opens at the same time.
constexpr std::size_t kAtOnce = 32;
// From the first knock on: the peer may have been busy, or lost the call.
constexpr auto kKnockAgain = std::chrono::seconds(1);

}  // namespace

LinkBuilder::LinkBuilder(const Members& members, std::size_t streams,
                         std::chrono::milliseconds knock_after)
    : members_(members),
      streams_(streams),
      knock_after_(knock_after),
      self_(members.identity.rank) {}

std::size_t LinkBuilder::made_of(const Key& key) const {
  const auto at = streams_made_.find(key);
  return at == streams_made_.end() ? 0 : static_cast<std::size_t>(std::popcount(at->second));
}

bool LinkBuilder::want(int peer, Lane lane) {
  const Key key{peer, lane};
  if (made_of(key) == streams_of(lane)) return false;
  const auto now = Clock::now();
  const auto knocks_at =
      peer > self_ && knock_after_.count() > 0 ? now + knock_after_ : Clock::time_point::max();
  // Wanted again while it is being made: the first want's time counts, and so does its deadline.
  if (!missing_.insert({key, {now, knocks_at}}).second) return false;
  if (peer < self_) connect(peer, lane);
  return true;
}

void LinkBuilder::connect(int peer, Lane lane) {
  for (std::uint32_t number = 0; number < streams_of(lane); ++number) {
    connectors_.emplace_back(members_.identity, peer, Stream::kData,
                             std::vector{*members_.of(peer).address}, lane_field(lane, number));
  }
}

void LinkBuilder::admit(Caller caller) {
  const Identity& identity = members_.identity;
  const Hello& hello = caller.hello;
  const Lane lane = lane_of(hello.lane);
  const std::uint32_t number = number_of(hello.lane);
  // Callers have proved the secret but may still be wrong: of another world, for lanes that do not
  // exist, or one too many. They are dropped, and the deadline names who is missing.
  if (hello.from >= identity.world || hello.world != identity.world) return;
  if (((hello.flags & kEncrypts) != 0) != identity.encrypts) return;
  if (static_cast<std::size_t>(lane) >= kLanes) return;
  if (hello.stream == Stream::kKnock) {
    // Only a lower rank knocks, since it may not connect by itself.
    if (hello.from < self_) want(hello.from, lane);
    return;
  }
  if (hello.from < self_ || number >= streams_of(lane)) return;
  // A second connection with a number would replace one that may already carry data.
  if ((streams_made_[{hello.from, lane}] & (1U << number)) != 0) return;
  note(hello.from, lane, number, std::move(caller.channel));
}

void LinkBuilder::note(int peer, Lane lane, std::uint32_t number, Channel channel) {
  const Key key{peer, lane};
  streams_made_[key] |= 1U << number;
  if (made_of(key) == streams_of(lane)) missing_.erase(key);
  made_.push_back({peer, lane, number, std::move(channel)});
}

// The oldest come first. Opening all links of a large world at once would fill the queues of
// pending connections of its ranks.
std::vector<Connector*> LinkBuilder::active() {
  std::vector<Connector*> active;
  for (Connector& connector : connectors_) {
    if (active.size() == kAtOnce) break;
    active.push_back(&connector);
  }
  return active;
}

void LinkBuilder::add_to_poll(std::vector<pollfd>& set) const {
  std::size_t left = kAtOnce;
  for (const Connector& connector : connectors_) {
    if (left-- == 0) break;
    connector.add_to_poll(set);
  }
  for (const Connector& connector : knocks_) connector.add_to_poll(set);
}

std::vector<LinkBuilder::Made> LinkBuilder::step() {
  std::size_t left = kAtOnce;
  for (auto it = connectors_.begin(); it != connectors_.end() && left > 0;) {
    Channel channel = it->step();
    if (channel.valid()) {
      note(it->to(), lane_of(it->lane()), number_of(it->lane()), std::move(channel));
      it = connectors_.erase(it);
      continue;
    }
    look_at_refusal(*it++);
    --left;
  }
  knock();
  return std::exchange(made_, {});
}

// A knock has done its work once the peer has taken it, or when the link exists.
void LinkBuilder::knock() {
  if (knock_after_.count() == 0) return;
  const auto now = Clock::now();
  for (auto& [key, missing] : missing_) {
    if (now < missing.knocks_at) continue;
    missing.knocks_at = now + kKnockAgain;
    const auto [peer, lane] = key;
    const auto is_same = [&, to = peer, of = lane](const Connector& knock) {
      return knock.to() == to && lane_of(knock.lane()) == of;
    };
    if (std::any_of(knocks_.begin(), knocks_.end(), is_same)) continue;
    knocks_.emplace_back(members_.identity, peer, Stream::kKnock,
                         std::vector{*members_.of(peer).address}, lane_field(lane, 0));
  }
  for (auto it = knocks_.begin(); it != knocks_.end();) {
    const bool is_over = it->step().valid() || !missing_.contains({it->to(), lane_of(it->lane())});
    if (!is_over) look_at_refusal(*it);
    it = is_over ? knocks_.erase(it) : std::next(it);
  }
}

void LinkBuilder::look_at_refusal(const Connector& connector) {
  const int peer = connector.to();
  if (!connector.is_refused() || !refused_.insert(peer).second) return;
  // Once for each peer. Each of its streams is refused, and the news is the same.
  refusals_.push_back(peer);
}

Clock::time_point LinkBuilder::due() const {
  auto due = Clock::time_point::max();
  std::size_t left = kAtOnce;
  for (const Connector& connector : connectors_) {
    if (left-- == 0) break;
    due = std::min(due, connector.due());
  }
  for (const Connector& connector : knocks_) due = std::min(due, connector.due());
  for (const auto& [key, missing] : missing_) due = std::min(due, missing.knocks_at);
  return due;
}

std::size_t LinkBuilder::missing_streams() const {
  std::size_t sum = 0;
  for (const auto& [key, missing] : missing_) sum += streams_of(key.second) - made_of(key);
  return sum;
}

Clock::time_point LinkBuilder::waits_since() const {
  auto since = Clock::time_point::max();
  for (const auto& [key, missing] : missing_) since = std::min(since, missing.since);
  return since;
}

std::optional<LinkBuilder::Delay> LinkBuilder::longest() const {
  const auto oldest = std::min_element(
      missing_.begin(), missing_.end(),
      [](const auto& one, const auto& other) { return one.second.since < other.second.since; });
  if (oldest == missing_.end()) return std::nullopt;
  const auto [peer, lane] = oldest->first;
  Delay delay{peer, oldest->second.since, "did not connect to " + members_.name(self_), {peer}};
  const auto look_at = [&, to = peer](const Connector& connector) {
    if (connector.to() != to) return;
    delay.peers = {to};
    delay.reason = "cannot be reached at " + connector.last_reason();
  };
  if (peer > self_) {
    for (const auto& [key, missing] : missing_) {
      if (delay.peers.back() != key.first) delay.peers.push_back(key.first);
    }
    std::for_each(knocks_.begin(), knocks_.end(), look_at);
  } else {
    std::for_each(connectors_.rbegin(), connectors_.rend(), look_at);  // the first one counts
  }
  return delay;
}

}  // namespace dtl::ring
