#pragma once
// NodeQuestions: what the launcher wants to know of the node itself: whom it reaches, what it has,
// whether its cloud takes it away, what dead jobs have left on it. Owned by the session; one
// io_context thread, and threads of its own for what takes its time. Knows nothing of ranks.

#include <string>
#include <thread>
#include <vector>

#include "agent/node/probe.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/task_group.h"

namespace dtl {

class NodeQuestions {
 public:
  // own_folder: where dtagent lies. addresses: at which others may try to reach this node. All
  // references outlive this. Answers and notices go to the connection by themselves.
  NodeQuestions(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                std::string own_folder, std::string job_id, std::vector<std::string> addresses);

  void sweep();  // once
  void listen(const Listen& how);
  void stop_listening() { listener_.close(); }
  void reach(const Reach& wanted);
  void examine(const Examine& question);
  void watch_for_notices(Cloud cloud);

 private:
  awaitable<void> tell_reached(Reach wanted);

  asio::io_context& context_;
  TaskGroup& tasks_;
  Connection& connection_;
  const std::string own_folder_, job_id_;
  Listener listener_;
  bool watches_cloud_ = false;
  std::jthread sweeper_;
  std::jthread examiner_;  // last: joined while all that it uses is there
};

}  // namespace dtl
