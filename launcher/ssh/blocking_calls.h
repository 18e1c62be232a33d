#pragma once
// BlockingCalls: a few threads for calls that can only block: getaddrinfo, ssh's configuration and
// key files, ssh-agent. They belong to an io_context (asio keeps one BlockingCalls per context) and
// return their results to its thread. One host with a dead name server must not delay the others.
//
// A worker may still hang in getaddrinfo, which cannot be interrupted, when the program ends. So
// workers are never joined, and own everything that they use.

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

  // Runs `work` in a worker. Resumes with true when it is done, with false at the deadline; the
  // work may then continue, so it must own what it uses. Rethrows its exceptions. Do not write the
  // lambda inside a co_await expression: g++ 12 destroys its captures twice there.
  awaitable<bool> run(std::function<void()> work, std::chrono::steady_clock::time_point deadline);

 private:
  struct Queue;
  void shutdown() override;

  std::shared_ptr<Queue> queue_;  // shared with the threads, which may outlive the context
};

// Created at the first call.
BlockingCalls& workers_of(asio::io_context& context);

}  // namespace dtl
