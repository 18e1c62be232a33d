#pragma once
// TreeSeat: an agent's place in a tree of agents: its listener and the edges of its children, its
// uplink, and its branch, over which dtlaunch continues the conversation. The shell around relay.h.
// Owned by the session, from JoinTree on; one io_context thread. A lost edge is never an error: the
// relay calls the next parent, and dtlaunch resumes on the next branch.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/tree/edge_call.h"
#include "agent/tree/edge_listener.h"
#include "agent/tree/relay.h"
#include "wire/asio.h"
#include "wire/byte_stream.h"
#include "wire/connection.h"
#include "wire/deadline.h"
#include "wire/messages.h"
#include "wire/task_group.h"
#include "wire/tree/branch_stream.h"
#include "wire/tree/parcel.h"

namespace dtl {

class TreeSeat {
 public:
  struct Talk {
    // dtlaunch offers to continue on this stream. received: bytes after the offer. False: refused.
    std::function<bool(const Resume& offer, std::unique_ptr<ByteStream> stream,
                       std::string received)>
        offered;
    // A pulse of dtlaunch, while the conversation goes over a branch. Other pulses do not count: an
    // agent that dtlaunch has given up must not live by them.
    std::function<void()> heard;
    // A piece of a SharedFrame; anything, if an agent above is not honest.
    std::function<void(std::string bytes)> piece;
  };
  // Listens at once, if the order says so, and calls the parents. All references outlive this.
  TreeSeat(asio::io_context& context, TaskGroup& tasks, Connection& connection, JoinTree order,
           Talk talk);

  const TreeJoined& joined() const { return joined_; }
  // Throws Error(kVersion) for parcels that must not come, or if this agent has parents.
  void take(const Relayed& relayed);
  bool is_on_branch() const { return branch_ && branch_->taken && !branch_->bytes->has_ended(); }

  // The two steps of leaving, in this order. wait_for_children() takes no new children. It returns
  // when the last one has left and its bytes were passed on, or after kChildrenPatience. flush()
  // returns when the parent's kernel has what was written on the branch, or the uplink is lost.
  awaitable<void> wait_for_children();
  awaitable<void> flush();

 private:
  struct Edge {
    Edge(asio::io_context& context, std::shared_ptr<ByteStream> tls)
        : stream(std::move(tls)), wake(context, asio::steady_timer::time_point::max()) {}
    void close();
    const std::shared_ptr<ByteStream> stream;  // shared by its reader and its writer
    asio::steady_timer wake;                   // of its writer
    bool closed = false;
  };
  struct Branch {
    std::uint32_t stream = 0;
    std::shared_ptr<BranchStream> bytes;       // shared with the conversation
    std::unique_ptr<StreamDeadline> deadline;  // from its first bytes to the offer
    bool taken = false;                        // the conversation goes over it
  };

  void listen(const JoinTree& order);
  void act();
  void perform(RelayEffect& effect);
  void begin_branch(std::uint32_t stream);
  void feed_branch(std::string bytes);
  void wake_writers();
  void set_clock();
  void add_child(std::uint32_t node, ProvedEdge edge);
  awaitable<void> read_child(EdgeId id, std::shared_ptr<Edge> edge);
  awaitable<void> write_child(EdgeId id, std::shared_ptr<Edge> edge);
  awaitable<void> climb(TreeParent parent);
  awaitable<void> read_uplink(std::shared_ptr<Edge> edge);
  awaitable<void> write_uplink(std::shared_ptr<Edge> edge, int socket);
  awaitable<void> write_to_launcher();
  awaitable<void> wait_for_up(asio::steady_timer& wake);
  awaitable<void> serve_branch(std::shared_ptr<Branch> branch);
  awaitable<void> send_on_branch(std::uint32_t stream, std::string bytes);
  bool is_drained() const { return !relay_.has_up() && !is_writing_up_; }

  asio::io_context& context_;
  TaskGroup& tasks_;
  Connection& connection_;
  const JoinTree order_;
  const Talk talk_;
  TreeJoined joined_;
  Relay relay_;
  std::optional<EdgeListener> listener_;
  std::map<EdgeId, std::shared_ptr<Edge>> children_;
  EdgeId next_edge_ = 1;
  std::shared_ptr<Edge> uplink_;
  ParcelReader from_launcher_;
  std::shared_ptr<Branch> branch_;  // the newest; shared with the task that serves it
  asio::steady_timer clock_;
  RelayTime clock_at_ = RelayTime::max();
  // These never expire, but for the first while bytes gather. The writer to dtlaunch; those who
  // wait for room upward; leaving.
  asio::steady_timer to_launcher_, room_, progress_;
  bool is_acting_ = false, is_gathering_ = false, is_writing_up_ = false;
  bool ends_ = false;  // calls no parent any more
};

}  // namespace dtl
