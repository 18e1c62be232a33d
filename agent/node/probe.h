#pragma once
// The connect matrix: which addresses of the other nodes can this node reach, and from which of its
// own? Listener writes one line, with the job and this node's number, to whoever connects;
// reach_all() wants to read that line, so that another program, or another node under a shared
// address, is not taken for the one that was meant. A payload shows whether large packets pass,
// too.

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
  // addresses: those of this node at which others may try to reach it; only passed on in Listening.
  // The context outlives the listener.
  Listener(asio::io_context& context, std::string job_id, std::vector<std::string> addresses);

  // Opens the probe port, holds a free MASTER_PORT until close(), and starts answering as tasks of
  // the group, which outlives the listener. Throws Error(kConfig) when no port is free.
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

// All at once, each within kConnectDeadline; attempts in the order of the endpoints.
awaitable<Reached> reach_all(asio::io_context& context, Reach wanted, std::string job_id);

}  // namespace dtl
