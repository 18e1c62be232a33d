#pragma once
// LoginQueue: how many logins run at once. A login costs the launcher 3 ms and, where a hundred
// hosts share cores or a name server, everybody's turn comes late; the deadline of a host must not
// pass while others are served. One per io_context, on its thread.

#include <memory>

#include "wire/asio.h"

namespace dtl {

class LoginQueue : public asio::execution_context::service {
 public:
  using key_type = LoginQueue;
  static asio::execution_context::id id;

  explicit LoginQueue(asio::execution_context& context);
  ~LoginQueue() override;

  struct State;
  // The right to log in. Its destruction lets the next host begin.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<State> state) : state_(std::move(state)) {}
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    std::shared_ptr<State> state_;  // shared with the queue; empty after a move
  };
  // Waits until fewer than kMostLogins have a turn, first come, first served.
  awaitable<Turn> turn();

 private:
  void shutdown() override;

  std::shared_ptr<State> state_;  // shared with the turns, which may outlive the context
};

// Made at the first call.
LoginQueue& logins_of(asio::io_context& context);

}  // namespace dtl
