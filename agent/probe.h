#pragma once
// The connect matrix: which of rank 0's addresses can this node reach, and from which of its own?
// Listener writes one line to whoever connects and closes; reach_all() wants to read that line, so
// that another program, or this node itself under a shared address, is not taken for the listener.

#include <memory>
#include <string>
#include <vector>

#include "agent/ports.h"
#include "wire/asio.h"
#include "wire/messages.h"
#include "wire/task_group.h"

namespace dtl {

class Listener {
 public:
  Listener(asio::io_context& context, std::string job_id);

  // Opens the probe port, holds a free MASTER_PORT, and starts answering as tasks of the group.
  Listening open(TaskGroup& tasks);
  void close();

 private:
  awaitable<void> answer(std::shared_ptr<asio::ip::tcp::acceptor> acceptor);

  asio::io_context& context_;
  std::string line_;
  std::vector<std::shared_ptr<asio::ip::tcp::acceptor>> acceptors_;  // shared with answer()
  BoundPort master_;
};

// All at once, each within kConnectDeadline; attempts in the order of the endpoints.
awaitable<Reached> reach_all(asio::io_context& context, std::vector<Endpoint> endpoints,
                             std::string job_id);

}  // namespace dtl
