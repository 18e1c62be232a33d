// Two steps: every rank tries and tells rank 0 (kShare), rank 0 tells everybody what counts
// (kNodes).
#include "ring/meeting/node_sharing.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "ring/common/comm_error.h"
#include "ring/common/descriptors.h"

namespace dtl::ring {

NodeSharing::NodeSharing(Members& members, MeetingLines& lines, ShmNode* memory)
    : members_(members),
      lines_(lines),
      memory_(memory),
      answered_(members.infos.size()),
      refused_(members.infos.size()) {}

NodeMap NodeSharing::agree() {
  const std::string refusal = open();
  const std::string shares = members_.leads() ? decide(refusal) : ask(refusal);
  if (shares.size() != members_.infos.size()) {
    throw CommError(DT_E_SYS, "cannot join the ring", "the table of nodes is garbled");
  }
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    keys.push_back(shares[i] == '1' ? members_.infos[i].node : "");
  }
  return NodeMap::from_keys(members_.identity.rank, keys);
}

// Opens the memory of the ranks that seem to be on this node. Empty, or why it does not work.
std::string NodeSharing::open() {
  const std::string& node = members_.own().node;
  std::vector<std::string> addresses;
  for (int rank = 0; rank < members_.identity.world; ++rank) {
    const PeerInfo& member = members_.of(rank);
    if (rank == members_.identity.rank) local_ = static_cast<int>(addresses.size());
    if (member.node == node) addresses.push_back(member.share);
  }
  // Not a refusal: without neighbours there is nothing to share, and nothing to warn of.
  if (memory_ == nullptr || node.empty() || addresses.size() < 2) return {};
  provide_descriptors(addresses.size(),
                      fmt::format("{}: cannot share memory with {} ranks",
                                  members_.name(members_.identity.rank), addresses.size() - 1));
  return memory_->open(local_, addresses);
}

NodeMemory NodeSharing::memory_here() const {
  const bool is_crowded = memory_ != nullptr && memory_->is_crowded();
  return is_crowded ? NodeMemory::kCrowded : NodeMemory::kShared;
}

std::string NodeSharing::ask(const std::string& refusal) {
  const NodeMemory memory = refusal.empty() ? memory_here() : NodeMemory::kRefused;
  lines_.send_up(
      {FrameKind::kShare, static_cast<std::int32_t>(memory), members_.identity.rank, 0, refusal});
  while (nodes_.empty()) {
    lines_.check_deadline("did not say which ranks share a node", {0});
    lines_.turn();
  }
  return nodes_;
}

// All ranks of a node share memory or none, so that links within it are of one kind.
std::string NodeSharing::decide(const std::string& refusal) {
  answered_[0] = true;
  refused_[0] = !refusal.empty();
  if (!refusal.empty()) warning_ = refusal;
  is_crowded_ |= refusal.empty() && memory_here() == NodeMemory::kCrowded;
  for (auto missing = Members::without(answered_); !missing.empty();
       missing = Members::without(answered_)) {
    lines_.check_deadline("did not open the memory of their nodes", missing);
    lines_.turn();
  }
  // Ranks without a node's name count as refusing, since nobody knows who their neighbours are.
  std::set<std::string_view> refusing{""};  // nodes
  for (std::size_t i = 0; i < refused_.size(); ++i) {
    if (refused_[i]) refusing.insert(members_.infos[i].node);
  }
  std::string shares;
  for (const PeerInfo& member : members_.infos) {
    shares += refusing.contains(member.node) ? '0' : '1';
  }
  lines_.publish({FrameKind::kNodes, is_crowded_ ? 1 : 0, 0, 0, shares});
  return shares;
}

void NodeSharing::hear(int rank, const Frame& frame) {
  if (frame.kind == FrameKind::kNodes) {
    if (members_.leads()) return;
    nodes_ = frame.text;
    is_crowded_ = frame.status != 0;
    return;
  }
  const auto index = static_cast<std::size_t>(rank);
  answered_[index] = true;
  refused_[index] = frame.status == static_cast<std::int32_t>(NodeMemory::kRefused);
  is_crowded_ |= frame.status == static_cast<std::int32_t>(NodeMemory::kCrowded);
  // The first cause is the one that the user sees.
  if (refused_[index] && warning_.empty()) {
    warning_ = fmt::format("{}: {}", members_.name(rank), frame.text);
  }
}

}  // namespace dtl::ring
