#pragma once
// BlockingCalls: a few threads for calls that block and cannot be made otherwise: getaddrinfo,
// ssh's configuration and key files, ssh-agent. They belong to an io_context (asio keeps one
// BlockingCalls per context) and hand their results back to its thread. One host whose name server
// is dead must not hold up the others.
//
// getaddrinfo cannot be interrupted, so a worker may still hang when the program wants to end:
// workers are never joined, and own whatever they touch.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "wire/asio.h"

namespace dtl {

class BlockingCalls : public asio::execution_context::service {
 public:
  using key_type = BlockingCalls;
  static asio::execution_context::id id;

  explicit BlockingCalls(asio::execution_context& context);
  ~BlockingCalls() override;

  // Runs `work` in a worker. Resumes with true when it is done, with false at the deadline (the
  // work may go on: it must own what it uses). Rethrows what it threw. Not in one expression with
  // co_await: g++ 12 destroys the lambda's captures twice there.
  awaitable<bool> run(std::function<void()> work, std::chrono::steady_clock::time_point deadline);

 private:
  struct Queue;
  void shutdown() override;

  std::shared_ptr<Queue> queue_;  // shared with the threads, which may outlive the context
};

// Made at the first call.
BlockingCalls& workers_of(asio::io_context& context);

}  // namespace dtl
