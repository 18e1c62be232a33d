// A member is asked to join once all agents that it may connect to are known to listen or not. They
// are less deep, so this ends.
#include "launcher/tree/agent_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/sha256.h"
#include "launcher/tree/edge_key.h"
#include "wire/field_kinds.h"
#include "wire/frame.h"

namespace dtl {
namespace {

constexpr std::size_t kMostAddresses = 16;          // of one node; the first ones are the best
constexpr std::size_t kMostWaitingBytes = 1 << 20;  // for a top, before branches wait
// The pieces of the last fences, for nodes that were between two parents when they went down. A
// fence has at most 12 MiB, and nobody who lacks one takes part in the next.
constexpr std::size_t kMostPieceBytes = 48 << 20;
constexpr std::size_t kLeastShared = 1 << 10;  // bytes of a frame
constexpr auto kCongestedPause = std::chrono::milliseconds(5);

bool is_link_local(const std::string& address) {
  return address.starts_with("fe8") || address.starts_with("169.254.");
}

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(Exit::kVersion, "malformed message of the tree", reason);
}

}  // namespace

std::vector<std::string> addresses_of(const NodeFacts& facts, const InterfaceFilter& filter) {
  std::vector<std::string> found;
  bool has_login = false;
  for (const Nic& nic : facts.nics) {
    if (!nic.up || nic.loopback) continue;
    for (const std::string& address : nic.addresses) {
      // Bridges inside a node exist on every node, with the same address.
      const bool bridge = nic.inside && !filter.includes(nic.name, address);
      if (bridge || is_link_local(address) || !filter.allows(nic.name, address)) continue;
      if (address == facts.reached_at) {
        has_login = true;
      } else {
        found.push_back(address);
      }
    }
  }
  if (has_login) found.insert(found.begin(), facts.reached_at);
  if (found.size() > kMostAddresses) found.resize(kMostAddresses);
  return found;
}

AgentTree::AgentTree(asio::io_context& context, std::size_t nodes, std::vector<int> members,
                     TreeShape shape, PortRange ports, TreeHooks hooks)
    : context_(context),
      shape_(shape),
      ports_(ports),
      hooks_(std::move(hooks)),
      members_(members.size()),
      places_(nodes, members.size()),
      branches_(members.size()) {
  for (std::size_t place = 0; place < members.size(); ++place) {
    members_[place].node = members[place];
    places_[static_cast<std::size_t>(members[place])] = place;
  }
}

std::size_t AgentTree::place_of(int node) const {
  const auto at = static_cast<std::size_t>(node);
  return at < places_.size() ? places_[at] : members_.size();
}

// ---- who joins

void AgentTree::ready(int node, const NodeFacts& facts, const InterfaceFilter& filter) {
  if (!has(node)) return;
  Member& member = members_[place_of(node)];
  if (member.step != Step::kAway) return;
  member.addresses = addresses_of(facts, filter);
  member.step = Step::kReady;
  join(place_of(node));
}

void AgentTree::join(std::size_t place) {
  Member& member = members_[place];
  if (member.step != Step::kReady) return;
  JoinTree order;
  order.node = static_cast<std::uint32_t>(member.node);
  for (const std::size_t above : shape_.candidates(place)) {
    Member& parent = members_[above];
    if (parent.step != Step::kListens && parent.step != Step::kAlone) {
      parent.waiting.push_back(place);
      return;
    }
    if (parent.step != Step::kListens || parent.addresses.empty()) continue;
    order.parents.push_back({static_cast<std::uint32_t>(parent.node), parent.addresses, parent.port,
                             edge_key(parent.relay_key, order.node)});
  }
  if (!shape_.is_top(place) && order.parents.empty()) {
    hooks_.remark(member.node, "stays on its login: no other agent listens");
    return settle(place, Step::kAlone);
  }
  member.branch_key = random_bytes(kSecretBytes, "draw a branch's key");
  order.branch_key = member.branch_key;
  if (shape_.relays(place)) {
    member.relay_key = random_bytes(kSecretBytes, "draw a relay's key");
    order.relay_key = member.relay_key;
    order.lowest_port = static_cast<std::uint32_t>(ports_.low);
    order.highest_port = static_cast<std::uint32_t>(ports_.high);
  }
  member.step = Step::kAsked;
  hooks_.connection(member.node)->send(std::move(order));
}

void AgentTree::settle(std::size_t place, Step step) {
  members_[place].step = step;
  for (const std::size_t other : std::exchange(members_[place].waiting, {})) join(other);
}

void AgentTree::lost(int node) {
  if (!has(node)) return;
  const std::size_t place = place_of(node);
  for (const std::size_t below : branches_.lose_top(node)) members_[below].branch->end();
  settle(place, Step::kAlone);
}

// ---- parcels

bool AgentTree::hear(int node, const Message& message) {
  if (const auto* joined = std::get_if<TreeJoined>(&message)) {
    if (!has(node)) refuse("its agent was not told to join");
    Member& member = members_[place_of(node)];
    if (member.step != Step::kAsked) refuse("its agent has joined already");
    member.port = joined->port;
    if (!joined->problem.empty()) {
      hooks_.remark(node, "no other agent can connect to it: " + joined->problem);
    }
    settle(place_of(node), joined->port == 0 ? Step::kAlone : Step::kListens);
    return true;
  }
  if (const auto* wanted = std::get_if<PieceWanted>(&message)) {
    give(node, *wanted);
    return true;
  }
  const auto* relayed = std::get_if<Relayed>(&message);
  if (relayed == nullptr) return false;
  if (!is_top(node)) refuse("only agents without parents send Relayed");
  ParcelReader reader;
  reader.feed(relayed->bytes);
  while (std::optional<Parcel> parcel = reader.next()) take(node, std::move(*parcel));
  if (!reader.is_empty()) refuse("half a parcel");
  return true;
}

// What an honest top passes on may come from another agent, so a wrong node is not the top's fault.
void AgentTree::take(int top, Parcel parcel) {
  if (parcel.kind == ParcelKind::kAlive) {
    std::vector<int> nodes;
    const auto most = static_cast<std::uint32_t>(places_.size());
    for (const std::uint32_t node : decode_nodes(parcel.bytes, most)) {
      if (branches_.way(places_[node])) nodes.push_back(static_cast<int>(node));
    }
    return hooks_.alive(std::move(nodes));
  }
  if (parcel.kind == ParcelKind::kPulse || parcel.kind == ParcelKind::kPiece) {
    refuse("a parcel from an agent whose kind goes downward only");
  }
  if (parcel.node >= places_.size()) return;
  const std::size_t place = places_[parcel.node];
  if (place >= members_.size() || shape_.is_top(place)) return;
  const BranchWay way{top, parcel.stream};
  Member& member = members_[place];
  switch (parcel.kind) {
    case ParcelKind::kArrived:
      if (!member.branch_key.empty() && branches_.arrive(place, way)) begin_branch(place, way);
      break;
    case ParcelKind::kLeft:
      if (branches_.leave(place, way)) member.branch->end();
      break;
    case ParcelKind::kBytes:
      if (branches_.is_current(place, way)) member.branch->feed(std::move(parcel.bytes));
      break;
    case ParcelKind::kPulse:
    case ParcelKind::kAlive:
    case ParcelKind::kPiece:
      break;
  }
}

void AgentTree::begin_branch(std::size_t place, const BranchWay& way) {
  Member& member = members_[place];
  if (member.branch) member.branch->end();
  member.branch = std::make_shared<BranchStream>(
      context_,
      [this, place, way](std::string bytes) { return send_bytes(place, way, std::move(bytes)); },
      [this, place, way] {
        if (!branches_.leave(place, way)) return;
        const auto node = static_cast<std::uint32_t>(members_[place].node);
        put(way.top, {ParcelKind::kLeft, node, way.stream, {}});
      });
  hooks_.arrived(member.node, std::make_shared<BranchLink>(member.branch, member.branch_key));
}

void AgentTree::put(int top, const Parcel& parcel) {
  Relayed relayed;
  encode_parcel(parcel, relayed.bytes);
  hooks_.connection(top)->send(std::move(relayed));
}

// A top that takes nothing holds up what is for the agents below it, but not longer than they are
// reached through it: the wait looks at the branch, which may end before the top goes on.
awaitable<void> AgentTree::send_bytes(std::size_t place, BranchWay way, std::string bytes) {
  const std::shared_ptr<Connection> connection = hooks_.connection(way.top);
  asio::steady_timer pause(context_);
  while (branches_.is_current(place, way) && !connection->closed() &&
         connection->queued_bytes() >= kMostWaitingBytes) {
    pause.expires_after(kCongestedPause);
    co_await pause.async_wait(asio::use_awaitable);
  }
  if (!branches_.is_current(place, way) || connection->closed()) {
    throw Error(Exit::kIo, "cannot write", "the branch has ended");
  }
  const auto node = static_cast<std::uint32_t>(members_[place].node);
  put(way.top, {ParcelKind::kBytes, node, way.stream, std::move(bytes)});
}

// ---- one message for many nodes

// Everybody below a top that is in use gets the pieces, so they must concern most nodes.
std::optional<SharedFrame> AgentTree::share(const std::vector<int>& nodes, const Message& message) {
  std::set<int> tops;
  std::size_t behind = 0;
  for (const int node : nodes) {
    const auto way = has(node) ? branches_.way(place_of(node)) : std::nullopt;
    if (!way) continue;
    tops.insert(way->top);
    ++behind;
  }
  if (behind * 2 < members_.size() - shape_.tops()) return std::nullopt;
  Frame frame = encode_frame(message, 0);
  const std::string bytes = std::move(frame.head) + frame.tail;
  if (bytes.size() < kLeastShared) return std::nullopt;
  SharedFrame shared;
  for (std::size_t at = 0; at < bytes.size(); at += kMaxPieceBytes) {
    std::string piece = bytes.substr(at, kMaxPieceBytes);
    Sha256 sum;
    sum.add(piece);
    const Sha256::Digest digest = sum.digest();
    shared.digests.emplace_back(digest.begin(), digest.end());
    for (const int top : tops) put(top, {ParcelKind::kPiece, 0, 0, piece});
    piece_bytes_ += piece.size();
    pieces_.emplace_back(shared.digests.back(), std::move(piece));
  }
  log_debug(fmt::format("{} goes down the tree for {} nodes, {} bytes to each of {} tops",
                        message_name(message), behind, bytes.size(), tops.size()));
  while (piece_bytes_ > kMostPieceBytes) {
    piece_bytes_ -= pieces_.front().second.size();
    pieces_.pop_front();
  }
  return shared;
}

void AgentTree::give(int node, const PieceWanted& wanted) {
  const auto found = std::find_if(pieces_.rbegin(), pieces_.rend(),
                                  [&](const auto& piece) { return piece.first == wanted.digest; });
  if (found == pieces_.rend()) refuse("it asks for a piece of no frame");
  hooks_.connection(node)->send(PieceGiven{found->second});
}

// Not while a top is searched for: old pulses are useless to it.
awaitable<void> AgentTree::pulse() {
  asio::steady_timer timer(context_);
  for (;;) {
    for (std::size_t place = 0; place < shape_.tops(); ++place) {
      if (members_[place].step != Step::kListens) continue;
      const std::shared_ptr<Connection> connection = hooks_.connection(members_[place].node);
      if (connection && connection->is_attached()) put(members_[place].node, Parcel{});
    }
    timer.expires_after(kHeartbeat);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace dtl
