#include "launcher/ssh/login_queue.h"

#include <deque>
#include <utility>

#include "base/limits.h"

namespace dtl {

struct LoginQueue::State {
  // A turn is handed on by cancelling the timer of the host that has waited longest.
  std::deque<std::shared_ptr<asio::steady_timer>> waiting;  // shared with the host's coroutine
  std::size_t turns = 0;                                    // that are held or handed on

  void release() {
    if (waiting.empty()) {
      --turns;
      return;
    }
    const auto next = std::move(waiting.front());
    waiting.pop_front();
    next->cancel();
  }
};

asio::execution_context::id LoginQueue::id;

LoginQueue::LoginQueue(asio::execution_context& context)
    : asio::execution_context::service(context), state_(std::make_shared<State>()) {}
LoginQueue::~LoginQueue() = default;

LoginQueue::Turn::~Turn() {
  if (state_) state_->release();
}

awaitable<LoginQueue::Turn> LoginQueue::turn() {
  if (state_->turns < kMostLogins) {
    ++state_->turns;
    co_return Turn(state_);
  }
  auto& owner = static_cast<asio::io_context&>(context());
  auto timer = std::make_shared<asio::steady_timer>(owner, asio::steady_timer::time_point::max());
  state_->waiting.push_back(timer);
  boost::system::error_code woken;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, woken));
  co_return Turn(state_);
}

// The timers belong to the context.
void LoginQueue::shutdown() {
  state_->waiting.clear();
}

LoginQueue& logins_of(asio::io_context& context) {
  return asio::use_service<LoginQueue>(context);
}

}  // namespace dtl
