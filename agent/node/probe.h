#pragma once
// The connect matrix: which addresses of the other nodes this node can reach, and from which of its
// own. Listener writes one line, with the job and this node's number, to each connection.
// reach_all() checks that line, so another program, or another node with a shared address, does not
// count. A payload shows whether large packets pass too.

#include <memory>
#include <string>
#include <vector>

#include "agent/node/ports.h"
#include "wire/asio.h"
#include "wire/messages.h"
#include "wire/task_group.h"

namespace dtl {

class Listener {
 public:
  // addresses: where others may try to reach this node; only passed on in Listening. The context
  // outlives the listener.
  Listener(asio::io_context& context, std::string job_id, std::vector<std::string> addresses);

  // Opens the probe port, reserves a free MASTER_PORT until close(), and answers in tasks of the
  // group, which outlives the listener. Throws Error(kConfig) if no port is free.
  Listening open(TaskGroup& tasks, const Listen& how);
  void close();

 private:
  awaitable<void> answer(std::shared_ptr<asio::ip::tcp::acceptor> acceptor, TaskGroup& tasks,
                         std::string line);

  asio::io_context& context_;
  std::string job_id_;
  std::vector<std::string> addresses_;
  std::vector<std::shared_ptr<asio::ip::tcp::acceptor>> acceptors_;  // shared with answer()
  BoundPort master_;
};

// Tries all at once, each within kConnectDeadline; results are in the order of the endpoints.
awaitable<Reached> reach_all(asio::io_context& context, Reach wanted, std::string job_id);

}  // namespace dtl
