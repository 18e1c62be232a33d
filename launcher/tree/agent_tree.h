#pragma once
// AgentTree: dtlaunch's end of a tree of agents. It tells each agent that has said Hello where it
// belongs, and turns parcels from the tops into branches of the other nodes. It does not know what
// the conversations over these branches are about. Belongs to the session's thread. Only garbage
// from a top is an Error; a branch that is lost is the end of its stream.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/network/interface_filter.h"
#include "launcher/tree/branch_link.h"
#include "launcher/tree/branches.h"
#include "launcher/tree/tree_shape.h"
#include "plan/pinning/topology.h"
#include "plan/request/job_parts.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/messages.h"
#include "wire/tree/parcel.h"

namespace dtl {

struct TreeHooks {
  std::function<std::shared_ptr<Connection>(int node)> connection;  // of a node that is ready
  // A new branch of the node; the conversation may go on over it.
  std::function<void(int node, std::shared_ptr<BranchLink> branch)> arrived;
  std::function<void(std::vector<int> nodes)> alive;              // they were heard of
  std::function<void(int node, const std::string& text)> remark;  // for -v
};

// Where other nodes may connect to this one, the address of its login first.
std::vector<std::string> addresses_of(const NodeFacts& facts, const InterfaceFilter& filter);

class AgentTree {
 public:
  // nodes: of the job. members: the nodes of the tree, in order; as many as the shape has places.
  AgentTree(asio::io_context& context, std::size_t nodes, std::vector<int> members, TreeShape shape,
            PortRange ports, TreeHooks hooks);

  bool has(int node) const { return place_of(node) < members_.size(); }
  bool is_top(int node) const { return has(node) && shape_.is_top(place_of(node)); }

  // The node has said Hello, and Reconnect was sent to it.
  void ready(int node, const NodeFacts& facts, const InterfaceFilter& filter);
  // It does not start, or is lost for good.
  void lost(int node);
  // True if the message was for the tree. Throws Error(kVersion) for garbage.
  bool hear(int node, const Message& message);
  // Sends the message's bytes down the tree, to everybody. What tells these nodes of it, in their
  // conversations; nullopt: it is not worth it, and nothing was sent.
  std::optional<SharedFrame> share(const std::vector<int>& nodes, const Message& message);
  awaitable<void> pulse();  // does not end

 private:
  // kReady: waits for its candidates. kListens: other nodes may connect to it. kAlone: none may.
  enum class Step { kAway, kReady, kAsked, kListens, kAlone };
  struct Member {
    int node = 0;
    Step step = Step::kAway;
    std::vector<std::string> addresses;
    std::uint32_t port = 0;
    std::string relay_key, branch_key;
    std::shared_ptr<BranchStream> branch;  // the newest one; shared with its conversation
    std::vector<std::size_t> waiting;      // members that need to know whether this one listens
  };

  std::size_t place_of(int node) const;
  void join(std::size_t place);
  void settle(std::size_t place, Step step);
  void take(int top, Parcel parcel);
  void give(int node, const PieceWanted& wanted);
  void begin_branch(std::size_t place, const BranchWay& way);
  void put(int top, const Parcel& parcel);
  awaitable<void> send_bytes(std::size_t place, BranchWay way, std::string bytes);

  asio::io_context& context_;
  const TreeShape shape_;
  const PortRange ports_;
  const TreeHooks hooks_;
  std::vector<Member> members_;
  std::vector<std::size_t> places_;  // of each node; others: members_.size()
  Branches branches_;
  std::deque<std::pair<std::string, std::string>> pieces_;  // digest and bytes; the newest last
  std::size_t piece_bytes_ = 0;
};

}  // namespace dtl
