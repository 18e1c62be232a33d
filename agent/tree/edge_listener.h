#pragma once
// EdgeListener: the port of an agent that is a parent in a tree of agents, and its unauthenticated
// callers. A caller has 3 s and 4,096 bytes to say its number and to prove that it is that node; 64
// may try at a time. Other connections are closed without an answer. Belongs to the io_context's
// thread.

#include <cstdint>
#include <functional>
#include <string>

#include "agent/node/ports.h"
#include "agent/tree/edge_call.h"
#include "base/fd.h"
#include "wire/asio.h"
#include "wire/task_group.h"

namespace dtl {

class EdgeListener {
 public:
  using Taken = std::function<void(std::uint32_t node, ProvedEdge edge)>;
  // Listens at once, on all addresses. relay_key: see JoinTree. Context and tasks outlive it.
  // Throws Error(kConfig) if no port within low..high (0: any) is free.
  EdgeListener(asio::io_context& context, TaskGroup& tasks, std::uint32_t low, std::uint32_t high,
               std::string relay_key, Taken taken);

  std::uint16_t port() const { return port_; }
  void close();

 private:
  struct Socket {
    explicit Socket(asio::io_context& context) : accepts(context), shortage(context) {}
    asio::posix::stream_descriptor accepts;
    asio::steady_timer shortage;
  };
  void start(Socket& socket, Fd listening);
  void wait(Socket& socket);
  bool take_all(Socket& socket);
  awaitable<void> meet(std::shared_ptr<Fd> caller);

  asio::io_context& context_;
  TaskGroup& tasks_;
  const std::string relay_key_;
  const Taken taken_;
  Socket v4_, v6_;
  std::uint16_t port_ = 0;
  int strangers_ = 0;
  bool closed_ = false;
};

}  // namespace dtl
