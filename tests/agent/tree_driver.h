#pragma once
// TreeDriver: plays dtlaunch for several real dtagents that form a tree: it logs in to each over a
// socket pair, makes them join, sends pulses, and continues each conversation on the newest branch
// of its node. One io_context, run by run_until() alone.

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/messages.h"
#include "wire/task_group.h"
#include "wire/tree/branch_stream.h"
#include "wire/tree/parcel.h"

namespace dtl {

class TreeDriver {
 public:
  static constexpr std::chrono::milliseconds kPatience{20000};  // far longer than waits here take
  struct Node {
    std::uint32_t number = 0;
    pid_t keeper = -1;
    std::unique_ptr<Connection> connection;
    std::string link, token, branch_key, relay_key;
    std::uint32_t port = 0;
    bool is_top = false;
    std::shared_ptr<BranchStream> branch;  // shared with the conversation
    std::uint32_t stream = 0, attempt = 0, branches = 0;
    int resumed = 0;
    std::chrono::steady_clock::time_point alive_at{};
    std::deque<Message> inbox;
    std::map<std::uint32_t, std::string> outputs;  // stdout of each rank
    ParcelReader parcels;
    bool ended = false;  // its login's stream has ended
  };

  TreeDriver();
  ~TreeDriver();  // kills the agents

  Node& add_agent();  // up to Hello, and Reconnect
  // parents: numbers, of nodes that have joined. Waits for TreeJoined, and until the conversation
  // goes over the tree.
  void join(Node& node, const std::vector<std::uint32_t>& parents, bool relays = true);
  void send_join(Node& node, const std::vector<std::uint32_t>& parents, bool relays = true);
  TreeParent parent_of(std::uint32_t parent, std::uint32_t child) const;
  void start_script(Node& node, std::uint32_t rank, const std::string& script);
  bool run_until(const std::function<bool()>& done, std::chrono::milliseconds patience = kPatience);
  Node& node(std::uint32_t number) { return *nodes_.at(number); }
  pid_t agent_of(const Node& node) const;
  // Sends Finish to all at once; the exit status of each, or -1 if it did not exit.
  std::vector<int> finish();
  int await_exit(Node& node);
  void hang_up();  // like a launcher that dies

  template <class M>
  std::optional<M> find(const Node& node) const {
    for (const Message& message : node.inbox) {
      if (const auto* found = std::get_if<M>(&message)) return *found;
    }
    return std::nullopt;
  }
  bool pulses = true;

 private:
  awaitable<void> read(Node& node);
  awaitable<void> write(Node& node);
  awaitable<void> beat();
  void take(Node& node, Message message);
  void take_parcel(Node& top, Parcel parcel);
  awaitable<void> resume(Node& node, std::shared_ptr<BranchStream> branch);
  awaitable<void> send_down(std::uint32_t top, Parcel parcel);

  asio::io_context context_;
  TaskGroup tasks_;
  std::vector<std::unique_ptr<Node>> nodes_;
  bool hung_up_ = false;
};

}  // namespace dtl
